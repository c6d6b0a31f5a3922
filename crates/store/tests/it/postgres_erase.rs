//! Content that was erased is gone from the server's tables on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use r1_store::conformance::sample::{Writer, erasure, message, messages, read_all, run, typed};
use r1_store::{Document, DocumentChange, Expect, PostgresOptions, PostgresStore, SharedStore, Traces};

use crate::pg_server::Cluster;
use crate::postgres::{Schema, options, with_schema};

const SECRET: &str = "correct horse battery staple";

/// Files below `dir` that hold the secret.
fn holding(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holding(&path, found);
        } else if fs::read(&path).unwrap().windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_erased_content_is_gone_from_the_tables_on_disk() {
    // Of its own, so that no other test's transaction keeps dead rows alive.
    let cluster = Cluster::private();
    let schema = Schema::on(cluster.url());
    let store: SharedStore = Arc::new(schema.open().await);
    let mut writer = Writer::started(&store, &run(1)).await;
    // One within its row, one as the last row of its page perhaps, one too large for a row.
    let secrets = [message(SECRET), message(format!("{SECRET} {}", "x".repeat(100_000)))];
    writer.write(messages(5).chain(secrets).chain([typed("redaction.applied"), message(SECRET)])).await;
    let say = |key: &str, text: &str| {
        let document = Document::new(key, text.repeat(1_000));
        DocumentChange::Put { collection: "here".into(), document, expect: Expect::Anything }
    };
    assert!(store.change_documents(vec![say("replaced", SECRET), say("removed", SECRET)]).await.unwrap());
    let log = read_all(&store, &run(1)).await;
    let on_disk = || {
        let mut found = Vec::new();
        holding(&cluster.data().join("base"), &mut found);
        found
    };
    schema.execute("CHECKPOINT").await;
    assert_ne!(on_disk(), [] as [String; 0], "it was there");
    let remove = DocumentChange::Remove { collection: "here".into(), key: "removed".into() };
    assert!(store.change_documents(vec![say("replaced", "nothing"), remove]).await.unwrap());
    assert_eq!(store.erase([7, 8, 10].map(|n| erasure(&log, n)).to_vec()).await.unwrap(), Traces::Gone);
    schema.execute("CHECKPOINT").await;
    assert_eq!(on_disk(), [] as [String; 0]);
    assert_eq!(read_all(&store, &run(1)).await.len(), log.len());
}

/// A store with the secret in event 2, on a server of its own, where no other test keeps dead rows alive.
struct Leak {
    cluster: Cluster,
    schema: Schema,
    store: SharedStore,
}

impl Leak {
    async fn new() -> Self {
        let cluster = Cluster::private();
        let schema = Schema::on(cluster.url());
        let options = PostgresOptions { lock_wait: Duration::from_millis(300), ..options() };
        let store: SharedStore = Arc::new(schema.open_with(options).await);
        Writer::started(&store, &run(1)).await.write([message(SECRET), typed("redaction.applied")]).await;
        Self { cluster, schema, store }
    }

    /// Erases it, through this store, and tells why it is not gone from the files.
    async fn erase_through(&self, store: &SharedStore) -> Option<(String, String)> {
        let log = read_all(store, &run(1)).await;
        let traces = store.erase(vec![erasure(&log, 2)]).await.unwrap();
        assert_eq!(read_all(store, &run(1)).await[1].payload, None, "the erasure stands");
        self.schema.execute("CHECKPOINT").await;
        let mut found = Vec::new();
        holding(&self.cluster.data().join("base"), &mut found);
        assert_eq!(traces == Traces::Gone, found.is_empty(), "{traces:?} {found:?}");
        match traces {
            Traces::Gone => None,
            Traces::Left { reason, remedy } => Some((reason, remedy)),
        }
    }

    async fn erase(&self) -> Option<(String, String)> {
        self.erase_through(&self.store).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_a_role_that_may_not_vacuum_is_told_what_it_leaves_behind() {
    let leak = Leak::new().await;
    let grant = format!(
        "CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA \"{0}\" TO app; GRANT ALL ON ALL TABLES IN SCHEMA \"{0}\" TO app;
         GRANT EXECUTE ON ALL ROUTINES IN SCHEMA \"{0}\" TO app",
        leak.schema.name
    );
    leak.schema.execute(&grant).await;
    let url = with_schema(&leak.cluster.url_of("app", "postgres"), &leak.schema.name);
    let app: SharedStore = Arc::new(PostgresStore::open(&url, options()).await.unwrap());
    let (reason, remedy) = leak.erase_through(&app).await.expect("it owns nothing");
    assert!(reason.contains("`app`") && reason.contains("belong to `postgres`"), "{reason}");
    assert!(remedy.contains("VACUUM FULL") && remedy.contains(".events"), "{remedy}");
    assert_eq!(leak.erase().await, None, "the owner clears it away");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_whoever_can_still_see_erased_content_is_named_and_erasing_again_clears_it_away() {
    let leak = Leak::new().await;
    leak.schema.execute("CREATE DATABASE other").await;
    let elsewhere = Schema::on(leak.cluster.url_of("postgres", "other"));
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()";
    // One that reads, and one that has written something in another database.
    for older in
        [leak.schema.hold("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").await, elsewhere.hold(begin).await]
    {
        let pid: i32 = older.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let (reason, remedy) = leak.erase().await.expect("it is older than the erasure");
        assert!(reason.contains(&format!("process {pid}")) && reason.contains("idle in transaction"), "{reason}");
        assert!(remedy.contains(&format!("pg_terminate_backend({pid})")), "{remedy}");
        older.batch_execute("ROLLBACK").await.unwrap();
    }
    assert_eq!(leak.erase().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_a_table_that_others_use_is_not_waited_for_long() {
    let leak = Leak::new().await;
    let reader = leak.schema.hold("BEGIN; LOCK TABLE @events IN ACCESS SHARE MODE").await;
    let (reason, _) = leak.erase().await.expect("the table is in use");
    assert!(reason.contains("use the table `events`") && reason.contains("idle in transaction"), "{reason}");
    reader.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(leak.erase().await, None);
}
