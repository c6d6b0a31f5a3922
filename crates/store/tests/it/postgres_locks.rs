//! Locks that others hold are waited for, but not for ever and not without a word.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use r1_store::conformance::sample::{Writer, batch, messages, read_all, run};
use r1_store::{
    AppendError, Document, DocumentChange, Expect, OpenError, PostgresOptions, PostgresStore, SharedStore, StoreError,
};

use crate::postgres::{Schema, options};

async fn impatient(schema: &Schema) -> SharedStore {
    let options = PostgresOptions { lock_wait: Duration::from_millis(300), ..options() };
    Arc::new(schema.open_with(options).await)
}

/// What the error says of whoever is in the way.
fn said(err: &dyn Error, pid: i32) -> String {
    let said = err.source().unwrap().to_string();
    assert!(said.contains(&format!("process {pid} (")) && said.contains("idle in transaction"), "{said}");
    assert!(said.contains(&format!("pg_terminate_backend({pid})")), "{said}");
    said
}

async fn pid(client: &tokio_postgres::Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_somebody_has_locked_gives_an_error_that_names_them_and_may_be_tried_again() {
    let schema = Schema::new();
    let store = impatient(&schema).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let mut others = Vec::new();
    for n in 2..8 {
        others.push(Writer::started(&store, &run(n)).await);
    }
    let holder = schema.hold("BEGIN; LOCK TABLE @events, @leases, @documents").await;
    let pid = pid(&holder).await;

    let err = store.head(&run(1)).await.unwrap_err();
    assert!(matches!(err, StoreError::Unavailable { .. }), "{err:?}");
    said(&err, pid);
    let err = store.release(&writer.lease).await.unwrap_err();
    assert!(matches!(err, r1_store::LeaseError::Store(StoreError::Unavailable { .. })), "{err:?}");
    let put = DocumentChange::Put {
        collection: "here".into(),
        document: Document::new("key", "value"),
        expect: Expect::Anything,
    };
    let err = store.change_documents(vec![put]).await.unwrap_err();
    assert!(matches!(err, StoreError::Unavailable { .. }), "{err:?}");
    // Of a run that was written to before, and of many at once.
    let err = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
    assert!(matches!(err, AppendError::Unavailable { .. }) && !err.may_have_written(), "{err:?}");
    said(&err, pid);
    let appends = others.iter_mut().map(|writer| async {
        let next = batch(&writer.chain, messages(1));
        writer.append(next).await
    });
    for appended in futures_util::future::join_all(appends).await {
        assert!(matches!(appended, Err(AppendError::Unavailable { .. })), "{appended:?}");
    }

    holder.batch_execute("ROLLBACK").await.unwrap();
    writer.write(messages(1)).await;
    for writer in &mut others {
        writer.write(messages(1)).await;
    }
    assert_eq!(read_all(&store, &run(1)).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_somebody_has_locked_costs_the_others_nothing() {
    let schema = Schema::new();
    let store = impatient(&schema).await;
    let (mut held, mut free) = (Writer::started(&store, &run(1)).await, Writer::started(&store, &run(2)).await);
    let sql = format!("BEGIN; SELECT 1 FROM @leases WHERE run_id = '{}'::bytea FOR UPDATE", run(1));
    let holder = schema.hold(&sql).await;
    let pid = pid(&holder).await;
    let (refused, stored) = {
        let (one, other) = (batch(&held.chain, messages(1)), batch(&free.chain, messages(1)));
        tokio::join!(held.append(one), free.append(other))
    };
    stored.unwrap();
    let err = refused.unwrap_err();
    assert!(matches!(err, AppendError::Unavailable { .. }), "{err:?}");
    said(&err, pid);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_locked_is_not_opened_without_a_word() {
    let schema = Schema::new();
    impatient(&schema).await.close().await.unwrap();
    let _holder = schema.hold("BEGIN; LOCK TABLE @layout").await;
    let options = PostgresOptions { lock_wait: Duration::from_millis(300), ..options() };
    let err = PostgresStore::open(&schema.url(), options).await.unwrap_err();
    assert!(matches!(err, OpenError::Unreachable { .. }), "{err:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_goes_away_in_the_midst_of_a_change_leaves_no_locks() {
    let schema = Schema::new();
    let options = PostgresOptions { connections: 1, ..options() };
    let store: SharedStore = Arc::new(schema.open_with(options).await);
    let put = |value: &str| {
        let document = Document::new("key", value.to_owned());
        vec![DocumentChange::Put { collection: "here".into(), document, expect: Expect::Anything }]
    };
    assert!(store.change_documents(put("first")).await.unwrap());
    // Begun, and dropped before it is committed.
    let mut change = store.change_documents(put("second"));
    while (&mut change).now_or_never().is_none() {
        let begun = "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%documents%'";
        if !schema.connect().await.query(begun, &[]).await.unwrap().is_empty() {
            break;
        }
    }
    drop(change);
    assert!(store.change_documents(put("third")).await.unwrap());
    let other: SharedStore = Arc::new(schema.open().await);
    assert!(other.change_documents(put("fourth")).await.unwrap(), "nobody holds a lock");
}
