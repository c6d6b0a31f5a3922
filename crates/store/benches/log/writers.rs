//! Many writers, each with a run of its own, on any store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use r1_event::{Batch, Chain, Payload, UnixNanos};
use r1_store::{Lease, SharedStore};
use tokio::task::JoinSet;

use crate::fixture;

/// A run that is being written.
pub(crate) struct Writer {
    store: SharedStore,
    lease: Lease,
    chain: Chain,
}

impl Writer {
    /// Starts run number `number`.
    pub(crate) async fn start(store: &SharedStore, number: usize) -> Self {
        let run = fixture::run_id(number);
        let lease = store.acquire(&run, "bench", Duration::from_secs(3600)).await.expect("a lease").lease;
        let mut writer = Self { store: Arc::clone(store), lease, chain: Chain::new(run) };
        writer.append(fixture::started(), 1).await;
        writer
    }

    /// Appends `events` events in one batch.
    pub(crate) async fn append(&mut self, payload: Payload, events: usize) {
        let mut batch = Batch::new(&self.chain);
        for _ in 0..events {
            batch.push(UnixNanos(1_777_000_000_000_000_000), payload.clone()).expect("a sound event");
        }
        self.chain = batch.after().clone();
        self.store.append(&self.lease, batch).await.expect("appended");
    }
}

/// Runs `writers` writers at once, each appending `events` events of 1 KiB one by one; how long that takes.
pub(crate) async fn concurrently(store: &SharedStore, first: usize, writers: usize, events: usize) -> Duration {
    let payload = fixture::result(1024);
    let mut starting = JoinSet::new();
    for number in first..first + writers {
        let store = Arc::clone(store);
        starting.spawn(async move { Writer::start(&store, number).await });
    }
    let ready = starting.join_all().await;
    let start = Instant::now();
    let mut writing = JoinSet::new();
    for mut writer in ready {
        let payload = payload.clone();
        writing.spawn(async move {
            for _ in 0..events {
                writer.append(payload.clone(), 1).await;
            }
        });
    }
    writing.join_all().await;
    start.elapsed()
}
