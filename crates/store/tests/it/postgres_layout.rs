//! Opening: new, old, newer, foreign and unreachable stores.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures_util::future::join_all;
use r1_event::Version;
use r1_store::conformance::sample::{LONG, Writer, batch, follow, message, read_all, run};
use r1_store::{
    Command, Document, DocumentChange, DocumentQuery, Expect, OpenError, PostgresOptions, PostgresStore, SharedStore,
    Store as _,
};

use crate::postgres::{Schema, options};

async fn refusal(url: &str) -> OpenError {
    PostgresStore::open(url, options()).await.unwrap_err()
}

#[tokio::test]
async fn log_17_a_newer_store_is_refused_and_left_as_it_is() {
    let schema = Schema::new();
    let known = schema.open().await.describe().await.unwrap().layout_version;
    schema.execute("UPDATE @layout SET version = version + 1; ALTER TABLE @runs RENAME TO renamed_by_a_newer_r1").await;
    let err = refusal(&schema.url()).await;
    assert!(
        matches!(err, OpenError::Newer { found, supported, .. } if (found, supported) == (known + 1, known)),
        "{err:?}"
    );
    schema.execute("SELECT 1 FROM @renamed_by_a_newer_r1").await;
    let left = schema.connect().await.query_one(&format!("SELECT version FROM \"{}\".layout", schema.name), &[]).await;
    assert_eq!(left.unwrap().get::<_, i32>(0).cast_unsigned(), known + 1);
}

/// A finished run and an open one as layout 1 has them.
const LAYOUT_1: &str = include_str!("fixtures/postgres-layout-1.sql");

#[tokio::test]
async fn log_17_a_store_of_every_released_layout_opens_and_goes_on() {
    let schema = Schema::new();
    schema.execute(&format!("CREATE SCHEMA \"{}\"; {LAYOUT_1}", schema.name)).await;
    let store: SharedStore = Arc::new(schema.open().await);
    assert_eq!(store.describe().await.unwrap().layout_version, 4);
    let log = read_all(&store, &run(1)).await;
    let chain = follow(&run(1), Version::V2, &log);
    assert_eq!((log.len(), chain.terminal().is_some()), (4, true));
    assert_eq!(store.chain(&run(1)).await.unwrap(), Some(chain));
    let command = Command { id: "new".into(), body: "continue".into() };
    store.leave_command(&run(2), command.clone()).await.unwrap();
    assert_eq!(store.commands(&run(2)).await.unwrap(), [command]);
    let document = Document { facets: vec![("status".into(), "open".into())], ..Document::new("new", "") };
    let query = DocumentQuery { facets: document.facets.clone(), ..DocumentQuery::default() };
    let put = DocumentChange::Put { collection: "kept".into(), document, expect: Expect::Absent };
    assert!(store.change_documents(vec![put]).await.unwrap());
    assert_eq!(store.documents("kept", query).await.unwrap().len(), 1);
    let open = store.open_runs(None, 10).await.unwrap();
    assert_eq!(open.iter().map(|open| &open.summary.run_id).collect::<Vec<_>>(), [&run(2)]);
    let taken = store.acquire(&run(2), "another", LONG).await.unwrap();
    assert_eq!(taken.previous, open[0].lease);
    let chain = store.chain(&run(2)).await.unwrap().unwrap();
    let mut writer = Writer { store: store.clone(), lease: taken.lease, chain };
    let mut answer = batch(&writer.chain, [message("continue")]);
    answer.settle("new");
    writer.append(answer).await.unwrap();
    assert_eq!(read_all(&store, &run(2)).await.len(), 3);
}

#[tokio::test]
async fn log_17_a_schema_of_another_program_is_refused_and_left_as_it_is() {
    let schema = Schema::new();
    schema.execute(&format!("CREATE SCHEMA \"{}\"; CREATE TABLE @events (theirs INT)", schema.name)).await;
    assert!(matches!(refusal(&schema.url()).await, OpenError::Foreign { .. }));
    schema.execute("SELECT theirs FROM @events").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_may_open_a_new_store_at_once() {
    let schema = Schema::new();
    let url = schema.url();
    for opened in join_all((0..8).map(|_| PostgresStore::open(&url, options()))).await {
        assert_eq!(opened.unwrap().describe().await.unwrap().runs, 0);
    }
}

#[tokio::test]
async fn an_existing_empty_schema_is_used() {
    let schema = Schema::new();
    schema.execute(&format!("CREATE SCHEMA \"{}\"", schema.name)).await;
    schema.open().await;
}

#[tokio::test]
async fn a_store_that_is_only_to_be_opened_is_not_made() {
    let schema = Schema::new();
    let existing = || PostgresOptions { create: false, ..options() };
    let open = async || PostgresStore::open(&schema.url(), existing()).await;
    assert!(matches!(open().await, Err(OpenError::Missing { .. })));
    let schemas = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    assert!(schema.connect().await.query(schemas, &[&schema.name]).await.unwrap().is_empty(), "nothing was made");
    schema.execute(&format!("CREATE SCHEMA \"{}\"", schema.name)).await;
    assert!(matches!(open().await, Err(OpenError::Missing { .. })));
    schema.open().await;
    open().await.unwrap();
}

#[tokio::test]
async fn nothing_that_is_shown_holds_the_password() {
    let schema = Schema::new();
    let url = schema.url().replacen("postgres@", "postgres:hunter2@", 1);
    let store = PostgresStore::open(&url, PostgresOptions::default()).await.unwrap();
    let shown = format!("{store:?} {:?}", store.describe().await.unwrap());
    assert!(shown.contains(&schema.name) && !shown.contains("hunter2"), "{shown}");
    let err = refusal("postgres://ann:hunter2@127.0.0.1:1/nothing").await;
    let shown = format!("{err} {err:?}");
    assert!(shown.contains("ann@127.0.0.1:1/nothing") && !shown.contains("hunter2"), "{shown}");
}
