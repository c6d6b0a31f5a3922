//! What is no longer in the logs is not in the index either.

use r1_event::{Payload, RunId, Seq, UnixNanos};
use r1_protocol::data::{By, EventData, RedactionApplied};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::prune::{plan, prune};
use r1_runtime::control::redact::{Request, redact};
use r1_runtime::index::Index;
use r1_runtime::keys::Keyring;
use r1_runtime::writer::RunWriter;
use r1_store::SharedStore;

use super::together::assert_same_from_nothing;
use super::{documents, on_each_store};
use crate::engine::stage::{Stage, type_of};

on_each_store! {
    an_erased_text_is_gone_from_all_documents,
    a_crash_before_the_erasure_leaves_no_text_either,
    a_pruned_run_keeps_its_end,
}

const SECRET: &str = "the-colour-of-the-safe";
const AT: UnixNanos = UnixNanos(1_900_000_000_000_000_000);

/// A run whose prompt, title and question hold the secret.
async fn secretive(stage: &Stage) -> RunId {
    let mut new = stage.new_run(&format!(
        "turns: [{{tool_calls: [{{tool: act, input: {{x: {SECRET}}}}}], cost_micros_usd: 3}}, {{text: done}}]"
    ));
    new.prompt = format!("open it with {SECRET}");
    new.spec.approval = r1_runtime::policy::ApprovalMode::Ask;
    let run = stage.create(new).await;
    let work = stage.start(&run);
    stage.until(&run, "approval.requested").await;
    let cancel = r1_runtime::agent::command::Command::cancel("enough");
    r1_runtime::control::command::command(&stage.engine, &run, cancel, &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    run
}

async fn holds_the_secret(store: &SharedStore) -> bool {
    documents::all(store).await.values().any(|document| document.contains(SECRET))
}

/// The events whose text has the secret.
async fn secret_seqs(stage: &Stage, run: &RunId) -> Vec<Seq> {
    let records = stage.records(run).await;
    let has = |record: &&r1_event::Record| {
        let payload = record.payload.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        payload.is_some_and(|payload| payload.contains(SECRET)) && type_of(record) != "redaction.applied"
    };
    records.iter().filter(has).map(|record| record.header().unwrap().seq).collect()
}

async fn an_erased_text_is_gone_from_all_documents(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let run = secretive(&stage).await;
    let before = index.run(run.as_str()).await.unwrap().unwrap();
    assert!(before.title.contains(SECRET) && holds_the_secret(&store).await);
    let request = Request {
        run: run.clone(),
        seqs: secret_seqs(&stage, &run).await,
        by: "operator".into(),
        reason: "a slip".into(),
    };
    assert!(request.seqs.len() >= 4, "{:?}", request.seqs);
    redact(&store, &request, "r1-test", None, AT).await.unwrap();
    assert!(!holds_the_secret(&store).await);
    let after = index.run(run.as_str()).await.unwrap().unwrap();
    assert_eq!((after.status, after.cost_micros_usd), (before.status, before.cost_micros_usd));
    assert_eq!((&after.task_id, &after.session_id, &after.kind), (&before.task_id, &before.session_id, &before.kind));
    assert_same_from_nothing(&store).await;
    assert!(!holds_the_secret(&store).await);
}

async fn a_crash_before_the_erasure_leaves_no_text_either(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let run = stage.create(r1_runtime::control::create::NewRun { prompt: SECRET.into(), ..stage.new_run("turns: []") });
    let run = run.await;
    index.catch_up().await.unwrap();
    assert!(holds_the_secret(&store).await);
    let sequences = secret_seqs(&stage, &run).await.iter().map(|seq| seq.get() - 1).collect();
    let redaction = RedactionApplied {
        run_id: run.to_string(),
        sequences,
        by: By::Operator,
        reason: "a slip".into(),
        ..RedactionApplied::default()
    };
    let mut writer = RunWriter::open(store.clone(), run.clone(), "r1-test", None).await.unwrap();
    let payload: Payload = redaction.to_payload();
    writer.append([(AT, payload)]).await.unwrap();
    writer.close().await.unwrap();
    index.catch_up().await.unwrap();
    assert!(!holds_the_secret(&store).await);
    assert_same_from_nothing(&store).await;
    assert!(!holds_the_secret(&store).await);
}

async fn a_pruned_run_keeps_its_end(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let scenario = "turns: [{tool_calls: [{tool: echo}], cost_micros_usd: 5}, {text: done, cost_micros_usd: 2}]";
    let run = stage.play(stage.new_run(scenario)).await;
    let before = index.run(run.as_str()).await.unwrap().unwrap();
    let plan = plan(&store, &run, None).await.unwrap();
    prune(&store, &plan, &Keyring::default(), "age", AT, Default::default()).await.unwrap();
    let after = index.run(run.as_str()).await.unwrap().unwrap();
    assert_eq!(after.pruned_through, Some(plan.through.get() - 1));
    assert_eq!((after.status, after.turns, after.tool_calls), (before.status, before.turns, before.tool_calls));
    assert_eq!((after.cost_micros_usd, &after.created_at), (before.cost_micros_usd, &before.created_at));
    assert_eq!((after.task_id, after.session_id), (before.task_id, before.session_id));
    assert_same_from_nothing(&store).await;
}
