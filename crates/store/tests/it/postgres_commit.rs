//! What happens to a group of appends when something goes wrong on the way.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use r1_event::Version;
use r1_store::conformance::sample::{LONG, Writer, batch, completed, follow, message, messages, read_all, run};
use r1_store::{AppendError, Head, PostgresOptions, PostgresStore, SharedStore};

use crate::pg_proxy::{Cut, Proxy};
use crate::postgres::{Schema, options};

/// What a store sends for runs it has written to before; a store that was just opened asks first, and
/// so begins and commits by itself.
const APPEND: &str = ".append(";

async fn through(proxy: &Proxy, schema: &Schema, patience: Duration) -> SharedStore {
    let options = PostgresOptions { notifications: false, patience, ..options() };
    Arc::new(PostgresStore::open(&proxy.through(&schema.url()), options).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_11_a_lost_connection_neither_loses_nor_doubles_an_append() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let store = through(&proxy, &schema, options().patience).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for cut in [Cut::Before(APPEND), Cut::After(APPEND)] {
        proxy.cut(cut);
        writer.write(messages(3)).await;
        assert!(proxy.was_cut(), "{cut:?}");
        assert_eq!(follow(&run(1), Version::V2, &read_all(&store, &run(1)).await), writer.chain, "{cut:?}");
    }
    for cut in [Cut::Before("BEGIN"), Cut::Before("COMMIT"), Cut::After("COMMIT")] {
        writer.store = through(&proxy, &schema, options().patience).await;
        proxy.cut(cut);
        writer.write(messages(3)).await;
        assert!(proxy.was_cut(), "{cut:?}");
        assert_eq!(follow(&run(1), Version::V2, &read_all(&store, &run(1)).await), writer.chain, "{cut:?}");
    }
    // Two batches of one run on their way at once, and the commit of both unheard of.
    let first = batch(&writer.chain, messages(2));
    let second = batch(first.after(), messages(2));
    let end = second.after().clone();
    proxy.cut(Cut::After(APPEND));
    let store = writer.store;
    let (one, other) = tokio::join!(store.append(&writer.lease, first), store.append(&writer.lease, second));
    one.unwrap();
    assert_eq!(other.unwrap(), Head::from(&end));
    assert_eq!(follow(&run(1), Version::V2, &read_all(&store, &run(1)).await), end);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_11_without_patience_an_error_says_whether_it_may_have_been_written() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let store = through(&proxy, &schema, Duration::ZERO).await;
    let mut writer = Writer::started(&store, &run(1)).await;

    writer.store = through(&proxy, &schema, Duration::ZERO).await;
    proxy.cut(Cut::Before("BEGIN"));
    let err = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
    assert!(matches!(err, AppendError::Unavailable { .. }) && !err.may_have_written(), "{err:?}");

    for (word, is_new) in [(APPEND, false), ("COMMIT", true)] {
        let reopen = async || if is_new { through(&proxy, &schema, Duration::ZERO).await } else { store.clone() };
        writer.store = reopen().await;
        writer.write(messages(1)).await;

        writer.store = reopen().await;
        proxy.cut(Cut::Before(word));
        let err = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
        assert!(err.may_have_written(), "{word}: {err:?}");
        writer.write(messages(1)).await;

        writer.store = reopen().await;
        proxy.cut(Cut::After(word));
        let attempt = batch(&writer.chain, messages(1));
        let written = attempt.after().clone();
        let err = writer.append(attempt.clone()).await.unwrap_err();
        assert!(err.may_have_written(), "{word}: {err:?}");
        let err = writer.append(attempt).await.unwrap_err();
        assert!(matches!(err, AppendError::Conflict { head, .. } if head == Head::from(&written)), "{word}");
        writer.chain = written;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_batch_that_the_server_refuses_costs_the_others_nothing() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let writers = join_all((0..16).map(|n| {
        let store = store.clone();
        async move { Writer::started(&store, &run(n)).await }
    }))
    .await;
    schema
        .execute(
            "CREATE FUNCTION @refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON @events FOR EACH ROW
                 WHEN (position('poison'::bytea IN new.payload) > 0) EXECUTE FUNCTION @refuse()",
        )
        .await;
    let appended = writers.into_iter().enumerate().map(|(n, mut writer)| async move {
        let text = if n == 7 { "poison" } else { "wholesome" };
        (writer.append(batch(&writer.chain, [message(text)])).await, writer.chain)
    });
    for (n, (appended, chain)) in join_all(appended).await.into_iter().enumerate() {
        match appended {
            Ok(_) => assert_ne!(n, 7),
            Err(err) => assert!(n == 7 && matches!(err, AppendError::Failed { .. }), "{n}: {err:?}"),
        }
        assert_eq!(store.head(chain.run()).await.unwrap(), Some(Head::from(&chain)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_10_nothing_is_written_with_a_lease_once_it_was_taken_over() {
    let schema = Schema::new();
    let (one, other): (SharedStore, SharedStore) = (Arc::new(schema.open().await), Arc::new(schema.open().await));
    let mut writer = Writer::started(&one, &run(1)).await;
    for round in 0..25 {
        let writing =
            tokio::spawn(async move { while writer.append(batch(&writer.chain, messages(1))).await.is_ok() {} });
        // The same owner from another machine: no need to wait for the lease to run out.
        let lease = other.acquire(&run(1), "writer", LONG).await.unwrap().lease;
        let head = other.head(&run(1)).await.unwrap();
        writing.await.unwrap();
        assert_eq!(other.head(&run(1)).await.unwrap(), head, "round {round}: written after the takeover");
        let chain = other.chain(&run(1)).await.unwrap().unwrap();
        writer = Writer { store: if round % 2 == 0 { other.clone() } else { one.clone() }, lease, chain };
        writer.write(messages(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_are_durable_where_the_server_says_commits_need_not_be() {
    let schema = Schema::new();
    let client = schema.connect().await;
    let role = format!("{}_role", schema.name);
    client
        .batch_execute(&format!(
            "CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET synchronous_commit = off;
             CREATE SCHEMA {} AUTHORIZATION {role}",
            schema.name
        ))
        .await
        .unwrap();
    let url = schema.url().replacen("postgres@", &format!("{role}@"), 1);
    let store: SharedStore = Arc::new(PostgresStore::open(&url, options()).await.unwrap());
    // Whoever commits tells how.
    schema
        .execute(
            "CREATE TABLE @seen (setting TEXT); GRANT ALL ON @seen TO PUBLIC;
             CREATE FUNCTION @see() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN EXECUTE format('INSERT INTO %I.seen VALUES (current_setting(''synchronous_commit''))',
                                         TG_TABLE_SCHEMA); RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON @events EXECUTE FUNCTION @see();
             CREATE TRIGGER see AFTER INSERT OR UPDATE ON @leases EXECUTE FUNCTION @see()",
        )
        .await;
    Writer::started(&store, &run(1)).await;
    let seen = client.query(&format!("SELECT setting FROM {}.seen", schema.name), &[]).await.unwrap();
    let seen: Vec<String> = seen.iter().map(|row| row.get(0)).collect();
    assert!(seen.len() >= 2 && seen.iter().all(|setting| setting == "on"), "{seen:?}");
    store.close().await.unwrap();
    client.batch_execute(&format!("DROP SCHEMA {} CASCADE; DROP ROLE {role}", schema.name)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_10_what_a_store_remembers_of_a_run_never_outlives_the_truth() {
    let schema = Schema::new();
    let (one, other): (SharedStore, SharedStore) = (Arc::new(schema.open().await), Arc::new(schema.open().await));
    let mut writer = Writer::started(&one, &run(1)).await;
    let outdated = writer.chain.clone();
    // The same lease in another store, which writes, ends the run, and loses all but its last event.
    writer.store = other;
    writer.write(messages(3).chain([completed()])).await;
    schema.execute("DELETE FROM @events WHERE seq < 5").await;
    let err = one.append(&writer.lease, batch(&outdated, messages(1))).await.unwrap_err();
    assert!(matches!(err, AppendError::Finished { .. }), "{err:?}");
    assert_eq!(read_all(&one, &run(1)).await.len(), 1);
}

/// Longer than anything here takes, and no longer than a test that hangs may.
const AGES: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_from_a_server_whose_transactions_are_further_on_is_refused_and_says_why() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let mut restored = Writer::started(&store, &run(1)).await;
    let mut other = Writer::started(&store, &run(2)).await;
    schema.execute("UPDATE @events SET xid = xid + 1000000000 WHERE run = (SELECT min(id) FROM @runs)").await;
    // Another process, which does not know how the logs ended.
    let store: SharedStore = Arc::new(schema.open().await);
    (restored.store, other.store) = (store.clone(), store.clone());
    let appends = async {
        let (refused, stored) = (batch(&restored.chain, messages(1)), batch(&other.chain, messages(1)));
        tokio::join!(restored.append(refused), other.append(stored))
    };
    let (refused, stored) = tokio::time::timeout(AGES, appends).await.expect("it is not tried for ever");
    stored.unwrap();
    let err = refused.unwrap_err();
    assert!(!err.may_have_written(), "{err:?}");
    let cause = std::error::Error::source(&err).unwrap().to_string();
    assert!(cause.contains("restored from another server") && cause.contains("r1 log export"), "{cause}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_always_in_the_way_is_waited_for_only_so_long() {
    let schema = Schema::new();
    let options = PostgresOptions { patience: Duration::from_millis(200), ..options() };
    let store: SharedStore = Arc::new(schema.open_with(options).await);
    let mut writer = Writer::started(&store, &run(1)).await;
    schema
        .execute(
            "CREATE FUNCTION @collide() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '40001'; END $$;
             CREATE TRIGGER collide BEFORE INSERT ON @events FOR EACH ROW EXECUTE FUNCTION @collide()",
        )
        .await;
    let appended = tokio::time::timeout(AGES, writer.append(batch(&writer.chain, messages(1)))).await;
    let err = appended.expect("it is not tried for ever").unwrap_err();
    assert!(matches!(err, AppendError::Unavailable { .. }), "{err:?}");
    schema.execute("DROP TRIGGER collide ON @events").await;
    writer.write(messages(1)).await;
}
