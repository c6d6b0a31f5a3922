//! Prefixes that may go.

use std::time::Duration;

use r1_event::merkle::{Blake3, Frontier};
use r1_event::side_record::{Prune, RunContext, Trees};
use r1_event::{Batch, Chain, Digest, Record, Seq, SideRecord, UnixNanos, Version};

use super::Fixture;
use super::erase::{erasure, run_of};
use super::sample::{Writer, follow, messages, read_all, run, seq};
use crate::error::{AppendError, StoreError};
use crate::feed::FeedCursor;
use crate::run::Head;
use crate::store::PageLimit;

/// The record of pruning a whole v2 log through event `through`.
pub(super) fn prune_record(log: &[Record], through: usize) -> Prune {
    let run_id = run_of(log);
    let gone = &log[..through];
    Prune {
        run_id,
        last_hash: gone.last().unwrap().hash(),
        trees: Trees::over(gone).unwrap(),
        pruned_at: UnixNanos(1_760_000_000_000_000_000),
        reason: "older than 30 days".into(),
        context: RunContext::default(),
        open_turn: None,
        open_calls: Vec::new(),
        graph: None,
    }
}

/// Follows what is left of a log from its prune record.
fn follow_rest(prune: &Prune, rest: &[Record]) -> (Frontier<Blake3>, Digest) {
    let mut tree = prune.trees.blake3().clone();
    let mut head = prune.last_hash;
    for record in rest {
        assert_eq!(record.header().unwrap().prev_hash, Some(head), "the chain goes on");
        tree.push(record.leaf());
        head = record.hash();
    }
    (tree, head)
}

pub async fn log_15_pruning_keeps_chain_and_rest(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let Writer { chain, .. } = Writer::finished(&store, &run(1), 2500).await;
    let mut neighbour = Writer::started(&store, &run(2)).await;
    let log = read_all(&store, &run(1)).await;
    let prune = prune_record(&log, 2400);
    store.prune(prune.clone()).await.unwrap();

    for (store, is_compacted) in [(store.clone(), false), (fixture.open().await, true)] {
        if is_compacted {
            drop(store.compact().await.unwrap());
        }
        let rest = store.read(&run(1), Seq::FIRST, PageLimit::default()).await.unwrap().records;
        assert_eq!(rest, log[2400..], "reading begins at what is still there");
        assert_eq!(store.read(&run(1), seq(2450), PageLimit::default()).await.unwrap().records, log[2449..]);
        let (tree, head) = follow_rest(&prune, &rest);
        assert_eq!((tree.root(), Some(head)), (chain.root(), chain.head()));
        assert_eq!(store.chain(&run(1)).await.unwrap(), Some(chain.clone()));
        let summary = store.run(&run(1)).await.unwrap().unwrap();
        assert_eq!((summary.head, summary.pruned_through), (Head::from(&chain), Some(seq(2400))));
        assert_eq!(summary.started_at, log[0].header().unwrap().ts, "when it began is still known");
        assert_eq!(store.side_records(&run(1)).await.unwrap(), [SideRecord::Prune(Box::new(prune.clone()))]);
        assert_eq!(feed_after_start(&store).await, 101);
    }
    let err = store.erase(vec![erasure(&log, 2400)]).await.unwrap_err();
    assert!(matches!(err, StoreError::NoEvent { .. }));
    // Nothing else was touched, and new events still come last in the feed.
    neighbour.write(messages(3)).await;
    assert_eq!(read_all(&store, &run(2)).await.len(), 4);
    assert_eq!(feed_after_start(&store).await, 104);
}

async fn feed_after_start(store: &crate::SharedStore) -> usize {
    let (mut cursor, mut events) = (FeedCursor::START, 0);
    loop {
        let page = store.read_feed(cursor, PageLimit::default()).await.unwrap();
        if page.next == cursor {
            return events;
        }
        events += page.items.len();
        cursor = page.next;
    }
}

pub async fn log_15_pruning_again_goes_on_or_is_the_same(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 50).await;
    let log = read_all(&store, &run(1)).await;
    let (first, second) = (prune_record(&log, 10), prune_record(&log, 49));
    for prune in [&first, &first, &second, &first] {
        store.prune(prune.clone()).await.unwrap();
    }
    assert_eq!(read_all(&store, &run(1)).await, log[49..], "the terminal event stays");
    let records = [first, second].map(|prune| SideRecord::Prune(Box::new(prune)));
    assert_eq!(store.side_records(&run(1)).await.unwrap(), records);
    let err = store.prune(prune_record(&log, 20)).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }), "what is gone is not pruned again");
}

pub async fn log_15_pruning_is_refused_unless_it_fits_the_log(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut open = Writer::started(&store, &run(1)).await;
    open.write(messages(10)).await;
    Writer::finished(&store, &run(2), 10).await;
    let log = read_all(&store, &run(2)).await;
    let good = prune_record(&log, 5);

    let err = store.prune(prune_record(&read_all(&store, &run(1)).await, 5)).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }), "an open run: {err}");
    let err = store.prune(prune_record(&log, 10)).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }), "the terminal event: {err}");
    let err = store.prune(Prune { last_hash: Digest::blake3(b"another"), ..good.clone() }).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }), "another hash: {err}");
    let err = store.prune(Prune { run_id: run(9), ..good }).await.unwrap_err();
    assert!(matches!(err, StoreError::NoRun { .. }), "no such run: {err}");
    assert_eq!(read_all(&store, &run(2)).await, log);
    let unchanged: Option<Chain> = store.chain(&run(2)).await.unwrap();
    assert_eq!(unchanged, Some(follow(&run(2), Version::V2, &log)));
    assert_eq!(store.side_records(&run(2)).await.unwrap(), []);
}

/// The first events of what a prune left, as a batch that begins the run elsewhere.
fn beginning(beside: &[SideRecord], rest: &[Record]) -> Batch {
    adopt(Batch::behind(beside).unwrap(), rest)
}

fn adopt(mut batch: Batch, records: &[Record]) -> Batch {
    for record in records {
        batch.adopt(record.clone()).unwrap();
    }
    batch
}

/// A finished run of 2,500 events whose first 2,000 were pruned in two steps.
async fn pruned_run(store: &crate::SharedStore) -> (Vec<Record>, Vec<SideRecord>, Chain) {
    let Writer { chain, .. } = Writer::finished(store, &run(1), 2500).await;
    let log = read_all(store, &run(1)).await;
    drop(store.erase(vec![erasure(&log, 2100)]).await.unwrap());
    store.prune(prune_record(&log, 100)).await.unwrap();
    store.prune(prune_record(&log, 2000)).await.unwrap();
    (read_all(store, &run(1)).await, store.side_records(&run(1)).await.unwrap(), chain)
}

pub async fn log_18_a_run_begins_behind_what_was_pruned_elsewhere(fixture: &dyn Fixture) {
    let elsewhere: crate::SharedStore = std::sync::Arc::new(crate::MemoryStore::new());
    let (rest, beside, chain) = pruned_run(&elsewhere).await;
    let store = fixture.open().await;
    let lease = store.acquire(&run(1), "importer", Duration::from_secs(60)).await.unwrap().lease;
    let first = beginning(&beside, &rest[..300]);
    let second = adopt(Batch::new(first.after()), &rest[300..]);
    let half = first.after().clone();
    store.append(&lease, first).await.unwrap();
    assert_eq!(fixture.open().await.chain(&run(1)).await.unwrap(), Some(half), "it goes on from any opening");
    store.append(&lease, second).await.unwrap();

    for store in [store.clone(), fixture.open().await] {
        assert_eq!(read_all(&store, &run(1)).await, rest);
        assert_eq!(store.side_records(&run(1)).await.unwrap(), beside, "in their order");
        assert_eq!(store.chain(&run(1)).await.unwrap(), Some(chain.clone()));
        let summary = store.run(&run(1)).await.unwrap().unwrap();
        assert_eq!((summary.head, summary.pruned_through), (Head::from(&chain), Some(seq(2000))));
        assert_eq!(summary.started_at, rest[0].header().unwrap().ts, "the earliest that is known");
        assert_eq!(feed_after_start(&store).await, rest.len());
    }
}

pub async fn log_18_a_pruned_beginning_is_refused_where_it_does_not_fit(fixture: &dyn Fixture) {
    let elsewhere: crate::SharedStore = std::sync::Arc::new(crate::MemoryStore::new());
    let (rest, beside, _) = pruned_run(&elsewhere).await;
    let store = fixture.open().await;
    let mut there = Writer::started(&store, &run(1)).await;
    let err = store.append(&there.lease, beginning(&beside, &rest)).await.unwrap_err();
    assert!(matches!(err, AppendError::Conflict { .. }), "the store has events of the run: {err}");
    there.write(messages(2)).await;
    assert_eq!(store.side_records(&run(1)).await.unwrap(), []);
    assert_eq!(read_all(&store, &run(1)).await.len(), 3);

    let Some(SideRecord::Prune(prune)) = beside.last() else { panic!("{beside:?}") };
    assert!(Batch::behind(&[]).is_none() && Batch::behind(&beside[..1]).is_none(), "nothing was pruned");
    let other = Prune { last_hash: Digest::blake3(b"another"), ..(**prune).clone() };
    let mut batch = Batch::behind(&[SideRecord::Prune(Box::new(other))]).unwrap();
    assert!(batch.adopt(rest[0].clone()).is_err(), "what follows names another event");
}
