//! Logs of Starling.

use std::time::Duration;

use r1_event::payload::{AssistantMessageCompleted, RunCompleted, RunStarted, TurnStarted, UserMessageAppended};
use r1_event::{Batch, Chain, Payload, RunId, UnixNanos, Version};
use r1_protocol::api::RunStatus;
use r1_protocol::id;
use r1_runtime::index::{Index, RunQuery};
use r1_store::SharedStore;

use super::on_each_store;
use super::together::assert_same_from_nothing;

on_each_store! {
    a_v1_run_is_shown_under_its_served_id_and_found_by_every_form,
}

const STORED: &str = "nightly build";
const START: UnixNanos = UnixNanos(1_700_000_000_000_000_000);

fn events() -> Vec<Payload> {
    vec![
        Payload::RunStarted(Box::new(RunStarted {
            schema_version: 1,
            goal: "say hi".into(),
            provider_id: "p".into(),
            model_id: "m".into(),
            ..RunStarted::default()
        })),
        Payload::UserMessageAppended(UserMessageAppended { content: "say hi".into(), ..Default::default() }),
        Payload::TurnStarted(TurnStarted { turn_id: "t".into(), ..TurnStarted::default() }),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "t".into(),
            text: "hi".into(),
            stop_reason: "end_turn".into(),
            input_tokens: 3,
            output_tokens: 1,
            cost_usd: 0.000_001_5,
            ..AssistantMessageCompleted::default()
        })),
    ]
}

async fn append(store: &SharedStore, run: &RunId, payloads: Vec<Payload>) {
    let chain = store.chain(run).await.unwrap().unwrap_or_else(|| Chain::empty(run.clone(), Version::V1));
    let mut batch = Batch::new(&chain);
    for payload in payloads {
        batch.push_v1(START, payload).unwrap();
    }
    let lease = store.acquire(run, "a test", Duration::from_secs(60)).await.unwrap().lease;
    store.append(&lease, batch).await.unwrap();
    store.release(&lease).await.unwrap();
}

async fn a_v1_run_is_shown_under_its_served_id_and_found_by_every_form(store: SharedStore) {
    let run: RunId = STORED.parse().unwrap();
    append(&store, &run, events()).await;
    let index = Index::new(store.clone());
    let served = id::run_id(STORED, START);
    let ulid = served.strip_prefix("run_").unwrap().to_owned();
    for form in [STORED.to_owned(), served.clone(), ulid.to_lowercase(), format!("chat_{ulid}")] {
        assert_eq!(index.find(&form).await.unwrap(), Some(run.clone()), "{form}");
    }
    let shown = index.run(&served).await.unwrap().unwrap();
    assert_eq!((shown.id.as_str(), shown.session_id.as_deref(), shown.task_id.as_deref()), (&*served, None, None));
    assert_eq!((shown.kind.as_str(), shown.title.as_str(), shown.status), ("recorded", "say hi", RunStatus::Idle));
    assert_eq!((shown.turns, shown.input_tokens, shown.cost_micros_usd), (1, 3, 2));

    let listed = |status| RunQuery { status: Some(status), ..RunQuery::default() };
    assert_eq!(index.runs(listed(RunStatus::Idle)).await.unwrap().data.len(), 1);
    let lease = store.acquire(&run, "a recorder", Duration::from_secs(60)).await.unwrap().lease;
    assert_eq!(index.run(&served).await.unwrap().unwrap().status, RunStatus::Running);
    assert_eq!(index.runs(listed(RunStatus::Running)).await.unwrap().data.len(), 1);
    assert_eq!(index.runs(listed(RunStatus::Idle)).await.unwrap().data.len(), 0);
    store.release(&lease).await.unwrap();

    let done = RunCompleted { final_text: "hi".into(), turn_count: 1, ..RunCompleted::default() };
    append(&store, &run, vec![Payload::RunCompleted(done)]).await;
    let shown = index.run(STORED).await.unwrap().unwrap();
    assert_eq!((shown.status, shown.turns, shown.cost_micros_usd), (RunStatus::Completed, 1, 2));
    assert!(shown.finished_at.is_some());
    assert_same_from_nothing(&store).await;
}
