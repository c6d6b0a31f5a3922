//! Content that was erased is gone from the server's tables on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use r1_store::conformance::sample::{Writer, erasure, message, messages, read_all, run, typed};
use r1_store::{Document, DocumentChange, Expect, SharedStore};

use crate::pg_server::Cluster;
use crate::postgres::Schema;

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
    store.erase([7, 8, 10].map(|n| erasure(&log, n)).to_vec()).await.unwrap();
    schema.execute("CHECKPOINT").await;
    assert_eq!(on_disk(), [] as [String; 0]);
    assert_eq!(read_all(&store, &run(1)).await.len(), log.len());
}
