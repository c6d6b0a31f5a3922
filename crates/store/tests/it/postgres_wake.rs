//! Hearing of what other processes write, also when nobody tells.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use r1_event::Seq;
use r1_store::conformance::sample::{Writer, batch, messages, read_all, run};
use r1_store::{
    Command, FeedCursor, PageLimit, PostgresOptions, PostgresStore, SharedStore, Store as _, StoreError, tail,
    tail_feed,
};
use tokio::time::timeout;

use crate::pg_proxy::Proxy;
use crate::postgres::{Schema, options};

const NEVER: Duration = Duration::from_secs(24 * 3600);
const SOON: Duration = Duration::from_millis(50);

async fn take<T>(stream: &mut (impl Stream<Item = Result<T, StoreError>> + Unpin), count: usize) -> Vec<T> {
    let mut items = Vec::new();
    while items.len() < count {
        let item = timeout(Duration::from_secs(60), stream.next()).await.expect("the tail hangs");
        items.push(item.expect("the tail goes on").unwrap());
    }
    items
}

async fn open(url: &str, poll_interval: Duration, notifications: bool) -> SharedStore {
    let options = PostgresOptions { poll_interval, notifications, ..options() };
    let store: SharedStore = Arc::new(PostgresStore::open(url, options).await.unwrap());
    while notifications && !hears(&store).await {
        tokio::task::yield_now().await;
    }
    store
}

/// What the store says of notifications.
async fn hears(store: &SharedStore) -> bool {
    let notes = store.describe().await.unwrap().notes;
    let note = notes.iter().find_map(|note| note.strip_prefix("notifications: ")).unwrap();
    assert!(note == "listening" || note.contains("found by polling"), "{note}");
    note == "listening"
}

/// Whether tails of `reading` keep up with what is written elsewhere.
async fn follows(schema: &Schema, reading: SharedStore) {
    let mut one = Box::pin(tail(reading.clone(), run(1), Seq::FIRST));
    let mut all = Box::pin(tail_feed(reading, FeedCursor::START));
    assert!(futures_util::poll!(one.next()).is_pending());
    let store: SharedStore = Arc::new(schema.open().await);
    let mut writer = Writer::started(&store, &run(1)).await;
    take(&mut one, 1).await;
    take(&mut all, 1).await;
    for _ in 0..5 {
        let written = writer.write(messages(3)).await;
        assert_eq!(take(&mut one, 3).await, written);
        let fed: Vec<_> = take(&mut all, 3).await.into_iter().map(|item| item.record).collect();
        assert_eq!(fed, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_13_notifications_alone_wake_other_stores() {
    let schema = Schema::new();
    follows(&schema, open(&schema.url(), NEVER, true).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_13_polling_alone_wakes_other_stores() {
    let schema = Schema::new();
    follows(&schema, open(&schema.url(), SOON, false).await).await;
}

/// Whether a holder that watches `holding` hears of commands that are left elsewhere.
async fn is_woken(schema: &Schema, holding: SharedStore) {
    let mut writer = Writer::started(&holding, &run(1)).await;
    let mut watch = holding.watch_commands(&run(1));
    let elsewhere = schema.open().await;
    for n in 0..5 {
        let command = Command { id: format!("{n}"), body: "continue".into() };
        elsewhere.leave_command(&run(1), command.clone()).await.unwrap();
        loop {
            assert!(timeout(Duration::from_secs(60), watch.arrived()).await.expect("nobody wakes the holder"));
            if holding.commands(&run(1)).await.unwrap() == std::slice::from_ref(&command) {
                break;
            }
        }
        let mut answer = batch(&writer.chain, messages(1));
        answer.settle(command.id);
        writer.append(answer).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_alone_wake_the_holder_of_a_run() {
    let schema = Schema::new();
    is_woken(&schema, open(&schema.url(), NEVER, true).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_alone_wakes_the_holder_of_a_run() {
    let schema = Schema::new();
    is_woken(&schema, open(&schema.url(), SOON, false).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_13_a_pooler_that_drops_notifications_loses_nothing() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let options = PostgresOptions { poll_interval: SOON, notifications: true, ..options() };
    let reading: SharedStore = Arc::new(PostgresStore::open(&proxy.through(&schema.url()), options).await.unwrap());
    assert!(!hears(&reading).await, "that it listens is no sign that it hears");
    let told = proxy.dropped();
    follows(&schema, reading).await;
    assert!(proxy.dropped() > told, "there was nothing to drop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_13_what_was_notified_while_nobody_listened_is_found_on_reconnecting() {
    let schema = Schema::new();
    let url = format!("{}&application_name={}", schema.url(), schema.name);
    let reading = open(&url, NEVER, true).await;
    let mut one = Box::pin(tail(reading.clone(), run(1), Seq::FIRST));
    assert!(futures_util::poll!(one.next()).is_pending());
    let client = schema.connect().await;
    let store: SharedStore = Arc::new(schema.open().await);
    let mut writer = Writer::started(&store, &run(1)).await;
    take(&mut one, 1).await;
    for _ in 0..3 {
        let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1";
        let ended = client.query(sql, &[&schema.name]).await.unwrap();
        assert!(!ended.is_empty());
        let written = writer.write(messages(2)).await;
        assert_eq!(take(&mut one, 2).await, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_waits_for_older_transactions_and_then_goes_on() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let older = schema.connect().await;
    older.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    let mut writer = Writer::started(&store, &run(1)).await;
    let page = store.read_feed(FeedCursor::START, PageLimit::default()).await.unwrap();
    assert_eq!(page.items, [], "something older could still come before it");
    let mut all = Box::pin(tail_feed(store.clone(), FeedCursor::START));
    assert!(futures_util::poll!(all.next()).is_pending());
    let written = writer.write(messages(2)).await;
    older.batch_execute("COMMIT").await.unwrap();
    let fed: Vec<_> = take(&mut all, 3).await.into_iter().map(|item| item.record).collect();
    assert_eq!(fed[1..], written);
}

// On one thread, so that both appends are handed over before the committer looks.
#[tokio::test]
async fn a_run_is_in_order_in_the_feed_also_when_its_writer_had_to_wait() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open_with(PostgresOptions { committers: 1, ..options() }).await);
    let (mut first, mut second) = (Writer::started(&store, &run(1)).await, Writer::started(&store, &run(2)).await);
    // Another store, which has not written to these runs and has to ask how they stand.
    let store: SharedStore = Arc::new(schema.open_with(PostgresOptions { committers: 1, ..options() }).await);
    (first.store, second.store) = (store.clone(), store.clone());
    let (holder, writer) = (schema.connect().await, schema.connect().await);
    let table = |name| format!("\"{}\".{name}", schema.name);
    let key = run(2).as_str().as_bytes().to_vec();

    // The store's transaction gets its id with the lease on run 1, then waits for the one on run 2.
    holder.batch_execute("BEGIN").await.unwrap();
    let lock = format!("SELECT pg_backend_pid() FROM {} WHERE run_id = $1 FOR UPDATE", table("leases"));
    let holding: i32 = holder.query_one(&lock, &[&key]).await.unwrap().get(0);
    let both = async { tokio::join!(first.write(messages(1)), second.write(messages(1))) };
    let meanwhile = async {
        let blocked = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_blocking_pids(pid) @> ARRAY[$1::int]";
        while writer.query(blocked, &[&holding]).await.unwrap().is_empty() {}
        // Someone with a later id writes to run 2 first.
        let file = format!(
            "UPDATE {} SET xid = pg_current_xact_id()::text::bigint WHERE run = (SELECT id FROM {} WHERE run_id = $1)",
            table("events"),
            table("runs")
        );
        assert_eq!(writer.execute(&file, &[&key]).await.unwrap(), 1);
        holder.batch_execute("COMMIT").await.unwrap();
    };
    tokio::join!(both, meanwhile);
    let page = store.read_feed(FeedCursor::START, PageLimit::default()).await.unwrap();
    let fed: Vec<_> = page.items.into_iter().filter(|item| item.run == run(2)).map(|item| item.record).collect();
    assert_eq!(fed, read_all(&store, &run(2)).await);
}
