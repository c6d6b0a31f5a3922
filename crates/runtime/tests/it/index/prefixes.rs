//! After every event of every run the index says of it what the loop knew of it.

use std::time::Duration;

use r1_event::{Batch, Chain, Record, RunId, Seq};
use r1_runtime::history;
use r1_runtime::index::Index;
use r1_store::{Listed, PageLimit, RunFilter, SharedStore};

const TTL: Duration = Duration::from_secs(60);

/// Plays the log of `run` again, event by event, beside all other runs of the store.
pub(crate) async fn agree(store: &SharedStore, run: &RunId) {
    let copy = super::memory();
    let others = store.list(RunFilter { limit: 1000, ..RunFilter::default() }).await.unwrap();
    for other in others.entries.into_iter().filter_map(Listed::sound).filter(|other| other.run_id != *run) {
        append(&copy, &other.run_id, log(store, &other.run_id).await).await;
    }
    let index = Index::new(copy.clone());
    for record in log(store, run).await {
        append(&copy, run, vec![record]).await;
        let shown = index.run(run.as_str()).await.unwrap().unwrap();
        let known = history::load(&copy, run).await.unwrap();
        let at = known.last;
        assert_eq!(shown.status, known.status(), "status after event {at}");
        assert_eq!(shown.last_sequence, at.get() - 1);
        assert_eq!(shown.pending_approvals, known.approvals().count() as u64, "approvals after event {at}");
        let spent = known.spent;
        let counted = (shown.turns, shown.tool_calls, shown.input_tokens, shown.output_tokens, shown.cost_micros_usd);
        let expected = (spent.turns, spent.tool_calls, spent.input_tokens, spent.output_tokens, spent.cost_micros_usd);
        assert_eq!(counted, expected, "what was used after event {at}");
        assert_eq!(shown.prior_cost_micros_usd, spent.prior_cost_micros_usd);
        assert_eq!((&shown.model, &shown.provider), (&known.model, &known.provider));
        assert_eq!(shown.worker_id, known.lease.map(|lease| lease.worker_id));
        assert_eq!(shown.finished_at.is_some(), known.terminal.is_some());
    }
}

pub(super) async fn log(store: &SharedStore, run: &RunId) -> Vec<Record> {
    store.read(run, Seq::FIRST, PageLimit { events: usize::MAX, bytes: usize::MAX }).await.unwrap().records
}

/// Appends records as they are, and without the blobs that they name.
pub(super) async fn append(store: &SharedStore, run: &RunId, records: Vec<Record>) {
    let version = records[0].version().unwrap();
    let chain = store.chain(run).await.unwrap().unwrap_or_else(|| Chain::empty(run.clone(), version));
    let mut batch = Batch::new(&chain);
    for record in records {
        batch.adopt(record).unwrap();
    }
    let lease = store.acquire(run, "a test", TTL).await.unwrap().lease;
    store.append(&lease, batch).await.unwrap();
    store.release(&lease).await.unwrap();
}
