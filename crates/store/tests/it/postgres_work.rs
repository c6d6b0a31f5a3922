//! Leases and commands when connections break, and what finding work costs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use r1_event::Batch;
use r1_store::conformance::sample::{Writer, batch, message, read_all, run};
use r1_store::{Acquired, AppendError, Command, CommandError, PostgresOptions, PostgresStore, SharedStore, Store as _};

use crate::pg_proxy::{Cut, Proxy};
use crate::postgres::{Schema, options};

const COMMIT: [Cut; 2] = [Cut::Before("COMMIT"), Cut::After("COMMIT")];

async fn through(proxy: &Proxy, schema: &Schema) -> SharedStore {
    let options = PostgresOptions { notifications: false, ..options() };
    Arc::new(PostgresStore::open(&proxy.through(&schema.url()), options).await.unwrap())
}

fn command(id: &str) -> Command {
    Command { id: id.into(), body: "continue".into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_held_a_lease_is_known_also_when_its_commit_was_not_confirmed() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let store = through(&proxy, &schema).await;
    let mut last = store.acquire(&run(1), "owner", Duration::ZERO).await.unwrap().lease;
    for cut in [Cut::Before("START"), Cut::Before(".leases")].into_iter().chain(COMMIT) {
        proxy.cut(cut);
        let Acquired { lease, previous } = store.acquire(&run(1), "owner", Duration::ZERO).await.unwrap();
        assert!(proxy.was_cut(), "{cut:?}");
        assert_eq!(previous, Some(last.clone()), "{cut:?}");
        assert_eq!(lease.token.0, last.token.0 + 1, "{cut:?}");
        last = lease;
    }
    assert_eq!(store.lease(&run(1)).await.unwrap(), Some(last));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settling_is_done_once_also_when_its_commit_was_not_confirmed() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let store = through(&proxy, &schema).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for cut in COMMIT {
        for id in ["spoken", "silent"] {
            store.leave_command(&run(1), command(id)).await.unwrap();
        }
        let mut spoken = batch(&writer.chain, [message("done")]);
        spoken.settle("spoken");
        proxy.cut(cut);
        writer.append(spoken).await.unwrap();
        let mut silent = Batch::new(&writer.chain);
        silent.settle("silent");
        proxy.cut(cut);
        writer.append(silent.clone()).await.unwrap();
        assert!(proxy.was_cut(), "{cut:?}");
        assert_eq!(store.commands(&run(1)).await.unwrap(), [], "{cut:?}");
        let again = writer.append(silent).await.unwrap_err();
        assert!(matches!(again, AppendError::CommandWithdrawn { .. }), "{cut:?}: {again:?}");
    }
    assert_eq!(read_all(&store, &run(1)).await.len(), 1 + COMMIT.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_may_have_been_left_is_not_left_again() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let store = through(&proxy, &schema).await;
    Writer::started(&store, &run(1)).await;
    for (cut, is_left) in COMMIT.into_iter().zip([false, true]) {
        proxy.cut(cut);
        let err = store.leave_command(&run(1), command("once")).await.unwrap_err();
        assert!(matches!(err, CommandError::Store(_)), "{err:?}");
        assert_eq!(store.withdraw_command(&run(1), "once").await.unwrap(), is_left, "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_finished_runs_cost_nothing() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let first = Writer::started(&store, &run(1)).await;
    schema
        .execute(
            "INSERT INTO @runs (run_id, version, started_at, terminal)
             SELECT ('finished ' || n)::bytea, 2, 0, 12 FROM generate_series(1, 10000) AS n;
             INSERT INTO @events (run, seq, xid, pos, ts, header)
             SELECT r.id, 1, 1, r.id, 0, '' FROM @runs r WHERE r.terminal IS NOT NULL;
             INSERT INTO @leases (run_id, owner, token, until, finished)
             SELECT r.run_id, 'writer', 1, 1, true FROM @runs r WHERE r.terminal IS NOT NULL;
             SELECT pg_stat_force_next_flush()",
        )
        .await;
    let last = Writer::started(&store, &run(2)).await;
    for writer in [first, last] {
        store.release(&writer.lease).await.unwrap();
    }
    store.close().await.unwrap();
    schema.execute("ANALYZE @runs; ANALYZE @events; ANALYZE @leases").await;

    let name = format!("{}_search", schema.name);
    let url = format!("{}&application_name={name}", schema.url());
    let searching = PostgresStore::open(&url, options()).await.unwrap();
    let before = rows_read(&schema).await;
    assert_eq!(searching.open_runs(None, 100).await.unwrap().len(), 2);
    searching.close().await.unwrap();
    drop(searching);
    // A connection tells what it has read when it ends.
    let client = schema.connect().await;
    let alive = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1";
    while !client.query(alive, &[&name]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let read = rows_read(&schema).await - before;
    assert!((2..50).contains(&read), "{read} rows read");
}

/// How many rows of the store's tables were read so far, by those who have told.
async fn rows_read(schema: &Schema) -> i64 {
    let sql = "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_all_tables
               WHERE schemaname = $1 AND relname IN ('runs', 'events', 'leases')";
    schema.connect().await.query_one(sql, &[&schema.name]).await.unwrap().get(0)
}
