//! Runs to test with: small, valid, the same every time.

pub use super::erase::erasure;
use std::time::Duration;

use bytes::Bytes;
use r1_event::cbor::Value;
use r1_event::payload::{Raw, RunCompleted, RunStarted, Typed, UserMessageAppended};
use r1_event::{Batch, Chain, Payload, Record, RunId, Seq, UnixNanos, Version, v1};

use crate::error::AppendError;
use crate::lease::Lease;
use crate::page::Pages;
use crate::run::Head;
use crate::store::{PageLimit, SharedStore};

/// Long enough that no lease runs out while a test runs.
pub const LONG: Duration = Duration::from_secs(3600);

/// A run id of R1's own form that ends in `n`.
pub fn run(n: u64) -> RunId {
    format!("run_01K0E8M9ZQ{n:016}").parse().expect("a run id")
}

pub fn seq(n: u64) -> Seq {
    Seq::new(n).expect("counted from 1")
}

pub fn started(goal: &str) -> Payload {
    Payload::RunStarted(Box::new(RunStarted { goal: goal.into(), ..RunStarted::default() }))
}

pub fn message(content: impl Into<String>) -> Payload {
    Payload::UserMessageAppended(UserMessageAppended { content: content.into(), ..UserMessageAppended::default() })
}

pub fn typed(r#type: &str) -> Payload {
    let data = Raw::from(&Value::object([("n", Value::Uint(1))]));
    Payload::Typed(Typed { r#type: r#type.into(), data, ..Typed::default() })
}

pub fn completed() -> Payload {
    Payload::RunCompleted(RunCompleted { final_text: "done".into(), ..RunCompleted::default() })
}

/// The events `payloads` after `chain`, one millisecond apart.
pub fn batch(chain: &Chain, payloads: impl IntoIterator<Item = Payload>) -> Batch {
    let mut batch = Batch::new(chain);
    for payload in payloads {
        let millis = i64::try_from(batch.after().size()).expect("a small log");
        batch.push(UnixNanos(1_750_000_000_000_000_000 + millis * 1_000_000), payload).expect("a valid event");
    }
    batch
}

/// Numbered messages.
pub fn messages(count: u64) -> impl Iterator<Item = Payload> {
    (0..count).map(|n| message(format!("message {n}")))
}

/// The three events of a whole v1 log.
pub fn v1_records(run: &RunId) -> Vec<Record> {
    let payload = |key: &str| Bytes::from(Value::object([(key, Value::Uint(1))]).encode());
    let mut previous: Option<Vec<u8>> = Some(Vec::new());
    let kinds = [(1, "schema_version"), (2, "content"), (12, "final_text")];
    kinds
        .iter()
        .zip(1..)
        .map(|((kind, key), seq)| {
            let prev_hash = previous.as_deref();
            let header =
                v1::Header { run_id: run.as_str(), seq, prev_hash, ts: 1_700_000_000_000_000_000, kind: *kind };
            let record = Record { header: header.encode().into(), payload: Some(payload(key)) };
            previous = Some(record.hash().as_bytes().to_vec());
            record
        })
        .collect()
}

/// A writer of one run: its lease and its chain.
pub struct Writer {
    pub store: SharedStore,
    pub lease: Lease,
    pub chain: Chain,
}

impl Writer {
    /// Takes the lease on a run that does not exist yet.
    pub async fn new(store: &SharedStore, run: &RunId) -> Self {
        let lease = store.acquire(run, "writer", LONG).await.expect("a lease").lease;
        Self { store: store.clone(), lease, chain: Chain::new(run.clone()) }
    }

    /// The same with the run's first event written.
    pub async fn started(store: &SharedStore, run: &RunId) -> Self {
        let mut writer = Self::new(store, run).await;
        writer.write([started("test")]).await;
        writer
    }

    /// A run of `size` events, the last of which ends it.
    pub async fn finished(store: &SharedStore, run: &RunId, size: u64) -> Self {
        let mut writer = Self::started(store, run).await;
        writer.write(messages(size - 2).chain([completed()])).await;
        writer
    }

    /// Appends the batch and steps forward.
    pub async fn append(&mut self, batch: Batch) -> Result<Head, AppendError> {
        let after = batch.after().clone();
        let head = self.store.append(&self.lease, batch).await?;
        assert_eq!(head, Head::from(&after), "the head that an append returns is the batch's end");
        self.chain = after;
        Ok(head)
    }

    pub async fn write(&mut self, payloads: impl IntoIterator<Item = Payload>) -> Vec<Record> {
        let batch = batch(&self.chain, payloads);
        let records = batch.records().to_vec();
        self.append(batch).await.expect("appended");
        records
    }
}

/// The whole log.
pub async fn read_all(store: &SharedStore, run: &RunId) -> Vec<Record> {
    Pages::new(&**store, run, Seq::FIRST, PageLimit::default()).to_end().await.expect("readable")
}

/// Checks that `records` are whole logs' events that follow one another from the first.
pub fn follow(run: &RunId, version: Version, records: &[Record]) -> Chain {
    let mut chain = Chain::empty(run.clone(), version);
    for record in records {
        chain.follow(record).expect("the chain holds");
    }
    chain
}
