//! Somebody who writes runs, event by event.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use r1_event::payload::{ReasoningEmitted, RunCompleted, RunStarted, TurnStarted, UserMessageAppended};
use r1_event::{Batch, Chain, Payload, RunId, UnixNanos};
use r1_protocol::data::{self, EventData as _};
use r1_store::{Lease, SharedStore};
use serde_json::json;

pub(crate) const TASK: &str = "task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C";

/// A run in the making.
pub(crate) struct Desk {
    store: SharedStore,
    pub(crate) run: RunId,
    lease: Lease,
    chain: Chain,
    count: u64,
}

/// A new run id; later ones are greater.
pub(crate) fn new_run_id() -> RunId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let id = ulid::Ulid::from_parts(1_777_000_000_000 + COUNT.fetch_add(1, Ordering::Relaxed), 7);
    format!("run_{id}").parse().unwrap()
}

impl Desk {
    /// A new run with its first event.
    pub(crate) async fn new(store: &SharedStore) -> Self {
        Self::with(store, RunStarted::default()).await
    }

    /// A new run that begins so.
    pub(crate) async fn with(store: &SharedStore, started: RunStarted) -> Self {
        let run = new_run_id();
        let lease = store.acquire(&run, "desk", Duration::from_secs(3600)).await.unwrap().lease;
        let mut desk = Self { store: store.clone(), chain: Chain::new(run.clone()), run, lease, count: 0 };
        let started = RunStarted {
            goal: "watch me".into(),
            provider_id: "scripted".into(),
            model_id: "m-1".into(),
            run_kind: started.run_kind.or_else(|| Some("agent_loop".into())),
            task_id: started.task_id.or_else(|| Some(TASK.into())),
            ..started
        };
        desk.write([Payload::RunStarted(Box::new(started))]).await;
        desk
    }

    /// Goes on with another opening of the store.
    pub(crate) async fn moved_to(mut self, store: &SharedStore) -> Self {
        self.store = store.clone();
        self.lease = store.acquire(&self.run, "desk", Duration::from_secs(3600)).await.unwrap().lease;
        self
    }

    /// Appends these in one batch.
    pub(crate) async fn write(&mut self, payloads: impl IntoIterator<Item = Payload>) {
        let mut batch = Batch::new(&self.chain);
        for payload in payloads {
            self.count += 1;
            let at = 1_777_000_000_000_000_000 + i64::try_from(self.count).unwrap() * 1_234_567;
            batch.push(UnixNanos(at), payload).unwrap();
        }
        let chain = batch.after().clone();
        self.store.append(&self.lease, batch).await.unwrap();
        self.chain = chain;
    }

    /// Appends `count` events of many types, one by one.
    pub(crate) async fn chatter(&mut self, count: usize) {
        for _ in 0..count {
            let payload = self.something();
            self.write([payload]).await;
        }
    }

    /// Appends `count` events of many types at once.
    pub(crate) async fn chatter_at_once(&mut self, count: usize) {
        let mut batch = Vec::new();
        for at in 0..count {
            batch.push(something(self.count + at as u64));
        }
        self.write(batch).await;
    }

    /// Appends `count` events that stand for themselves, as a log that is to be checked needs them.
    pub(crate) async fn plain(&mut self, count: usize) {
        for n in 0..count {
            self.write([Payload::Typed(data::typed("external.thing", &json!({ "n": n })))]).await;
        }
    }

    fn something(&self) -> Payload {
        something(self.count)
    }

    /// Appends the last event.
    pub(crate) async fn finish(&mut self) {
        let end = RunCompleted { final_text: "done".into(), turn_count: 1, ..RunCompleted::default() };
        self.write([Payload::RunCompleted(end)]).await;
    }

    /// How many events there are.
    pub(crate) const fn len(&self) -> u64 {
        self.count
    }

    /// The path of its events.
    pub(crate) fn path(&self) -> String {
        format!("/hecate/v1/runs/{}/events", self.run)
    }
}

/// The n-th event of any chatter.
fn something(n: u64) -> Payload {
    match n % 7 {
        0 => Payload::UserMessageAppended(UserMessageAppended {
            content: format!("message {n}: \"quoted\"\n\u{1f600} \u{2028} \u{7}"),
            turn_index: Some(n),
            by: Some("operator".into()),
            ..UserMessageAppended::default()
        }),
        1 => Payload::TurnStarted(TurnStarted { turn_index: Some(n), input_tokens: 12, ..TurnStarted::default() }),
        2 => Payload::ReasoningEmitted(ReasoningEmitted {
            content: format!("thought {n}"),
            turn_index: Some(n),
            block_index: Some(0),
            ..ReasoningEmitted::default()
        }),
        3 => data::AssistantTextDelta { turn_index: n, delta: format!("delta {n}\r\n"), ..Default::default() }
            .to_payload(),
        4 => Payload::Typed(data::typed("external.thing", &json!({ "z": 1.5, "a": [n, null, { "\u{e9}": -1 }] }))),
        5 => data::ToolShellExited { tool_call_id: format!("call_{n}"), exit_code: -1, ..Default::default() }
            .to_payload(),
        _ => Payload::Typed(data::typed("future.unheard_of", &json!({ "n": n }))),
    }
}
