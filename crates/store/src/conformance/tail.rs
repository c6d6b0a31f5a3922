//! History, then live.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{Stream, StreamExt as _};
use r1_event::{Record, RunId, Seq};
use tokio::time::timeout;

use super::Fixture;
use super::prune::prune_record;
use super::sample::{Writer, completed, messages, read_all, run, seq};
use crate::error::StoreError;
use crate::feed::FeedCursor;
use crate::store::SharedStore;
use crate::{tail, tail_feed};

/// What comes next; a tail that hangs fails instead of stopping the suite.
async fn next<T>(stream: &mut (impl Stream<Item = Result<T, StoreError>> + Unpin)) -> Option<T> {
    let item = timeout(Duration::from_secs(60), stream.next()).await.expect("the tail hangs");
    item.map(|item| item.expect("the tail reads"))
}

async fn take<T>(stream: &mut (impl Stream<Item = Result<T, StoreError>> + Unpin), count: usize) -> Vec<T> {
    let mut items = Vec::new();
    while items.len() < count {
        items.push(next(stream).await.expect("the tail goes on"));
    }
    items
}

async fn rest<T>(stream: &mut (impl Stream<Item = Result<T, StoreError>> + Unpin)) -> Vec<T> {
    let mut items = Vec::new();
    while let Some(item) = next(stream).await {
        items.push(item);
    }
    items
}

pub async fn log_13_a_tail_is_history_then_live(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(4)).await;
    let mut whole = Box::pin(tail(store.clone(), run(1), Seq::FIRST));
    let mut late = Box::pin(tail(store.clone(), run(1), seq(4)));
    assert_eq!(take(&mut whole, 5).await, read_all(&store, &run(1)).await);
    let written = writer.write(messages(2)).await;
    assert_eq!(take(&mut whole, 2).await, written);
    writer.write([completed()]).await;
    let log = read_all(&store, &run(1)).await;
    assert_eq!(rest(&mut whole).await, log[7..], "it ends with the run");
    assert_eq!(rest(&mut late).await, log[3..]);
}

pub async fn log_13_a_tail_waits_for_a_run_to_begin(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut early = Box::pin(tail(store.clone(), run(1), Seq::FIRST));
    let mut far = Box::pin(tail(store.clone(), run(1), seq(3)));
    // Both wait by now.
    assert!(futures_util::poll!(early.next()).is_pending());
    assert!(futures_util::poll!(far.next()).is_pending());
    let store = store.clone();
    Writer::finished(&store, &run(1), 5).await;
    let log = read_all(&store, &run(1)).await;
    assert_eq!(rest(&mut early).await, log);
    assert_eq!(rest(&mut far).await, log[2..]);
}

pub async fn log_13_many_tails_beside_many_writers_miss_nothing(fixture: &dyn Fixture) {
    const RUNS: u64 = 4;
    let store = fixture.open().await;
    let readers: Vec<_> = (0..24)
        .map(|reader| {
            let store = store.clone();
            tokio::spawn(async move {
                let run = run(reader % RUNS);
                let mut tail = Box::pin(tail(store, run.clone(), Seq::FIRST));
                let mut records = Vec::new();
                while let Some(record) = next(&mut tail).await {
                    records.push(record);
                    // Readers of very different speed.
                    for _ in 0..reader * 3 {
                        tokio::task::yield_now().await;
                    }
                }
                (run, records)
            })
        })
        .collect();
    let writers = (0..RUNS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut writer = Writer::started(&store, &run(n)).await;
            for size in 1..40 {
                writer.write(messages(size % 5 + 1)).await;
            }
            writer.write([completed()]).await;
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let mut logs: HashMap<RunId, Vec<Record>> = HashMap::new();
    for n in 0..RUNS {
        logs.insert(run(n), read_all(&store, &run(n)).await);
    }
    for reader in join_all(readers).await {
        let (run, records) = reader.unwrap();
        assert!(records == logs[&run], "a tail of {run} differs from its log");
    }
}

pub async fn log_13_a_tail_begins_behind_what_was_pruned(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 20).await;
    let log = read_all(&store, &run(1)).await;
    store.prune(prune_record(&log, 15)).await.unwrap();
    let mut tail = Box::pin(tail(store, run(1), Seq::FIRST));
    assert_eq!(rest(&mut tail).await, log[15..]);
}

pub async fn log_13_a_tail_behind_the_end_is_over(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 5).await;
    for from in [6, 7, 1000] {
        assert_eq!(rest(&mut Box::pin(tail(store.clone(), run(1), seq(from)))).await, []);
    }
}

pub async fn log_13_the_feed_tail_sees_every_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(0), 5).await;
    let mut feed = Box::pin(tail_feed(store.clone(), FeedCursor::START));
    assert_eq!(take(&mut feed, 5).await.len(), 5);
    let write = |n| {
        let store = store.clone();
        tokio::spawn(async move { Writer::finished(&store, &run(n), 10).await })
    };
    let writers: Vec<_> = (1..=5).map(write).collect();
    let live = take(&mut feed, 50).await;
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let cursor = live[19].cursor;
    for n in 1..=5 {
        let records: Vec<_> = live.iter().filter(|item| item.run == run(n)).map(|item| item.record.clone()).collect();
        assert_eq!(records, read_all(&store, &run(n)).await);
    }
    let mut again = Box::pin(tail_feed(fixture.open().await, cursor));
    assert_eq!(take(&mut again, 30).await, live[20..], "a cursor goes on in another opening");
}

pub async fn log_13_a_tail_goes_on_in_another_opening(fixture: &dyn Fixture) {
    let writing = fixture.open().await;
    let reading: SharedStore = fixture.open().await;
    let mut writer = Writer::started(&writing, &run(1)).await;
    let mut tail_there = Box::pin(tail(reading.clone(), run(1), Seq::FIRST));
    let mut feed_there = Box::pin(tail_feed(reading.clone(), FeedCursor::START));
    let mut seen = take(&mut tail_there, 1).await;
    take(&mut feed_there, 1).await;
    for _ in 0..3 {
        writer.write(messages(2)).await;
        seen.extend(take(&mut tail_there, 2).await);
        take(&mut feed_there, 2).await;
    }
    drop((tail_there, feed_there));
    reading.close().await.unwrap();
    writer.write(messages(2)).await;

    let mut tail_again = Box::pin(tail(fixture.open().await, run(1), seq(seen.len() as u64 + 1)));
    seen.extend(take(&mut tail_again, 2).await);
    writer.write([completed()]).await;
    seen.extend(rest(&mut tail_again).await);
    assert_eq!(seen, read_all(&writing, &run(1)).await);
}
