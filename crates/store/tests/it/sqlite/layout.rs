//! Files of other versions and other programs, and files that may not be touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use r1_event::{SideRecord, Version};
use r1_store::conformance::sample::{LONG, Writer, follow, message, messages, read_all, run};
use r1_store::{
    AppendError, Command, Document, DocumentChange, DocumentQuery, Expect, OpenError, SharedStore, SqliteOptions,
    SqliteStore,
};
use rusqlite::Connection;

use super::{SqliteFixture, open};

/// A store of each released layout as SQL: a finished run with a checkpoint beside it, and an open one,
/// since layout 2 with a command; since layout 3 also a document.
const LAYOUTS: [&str; 3] = [
    include_str!("../fixtures/layout-1.sql"),
    include_str!("../fixtures/layout-2.sql"),
    include_str!("../fixtures/layout-3.sql"),
];

/// The document of a store of layout 3.
fn old_document() -> Document {
    let facets = vec![("status".into(), "open".into())];
    Document { rank: 7, facets, revision: 3, ..Document::new("old", "the body") }
}

/// Every file of a folder with its content.
fn files(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

async fn refused(path: &Path) -> OpenError {
    let before = files(path.parent().unwrap());
    let read_only = SqliteStore::open_read_only(path).await.expect_err("not even for reading");
    let err = SqliteStore::open(path, SqliteOptions::default()).await.expect_err("not ours to open");
    assert_eq!(read_only.to_string(), err.to_string());
    assert!(files(path.parent().unwrap()) == before, "a refused file was changed");
    err
}

#[tokio::test]
async fn log_17_a_store_of_every_released_layout_opens_and_goes_on() {
    for (number, sql) in (1_u32..).zip(LAYOUTS) {
        let fixture = SqliteFixture::new();
        Connection::open(fixture.path()).unwrap().execute_batch(sql).unwrap();
        let store = open(&fixture.path()).await;
        let log = read_all(&store, &run(1)).await;
        let chain = follow(&run(1), Version::V2, &log);
        assert_eq!((log.len(), chain.terminal().is_some()), (4, true), "layout {number}");
        assert_eq!(store.chain(&run(1)).await.unwrap(), Some(chain));
        let records = store.side_records(&run(1)).await.unwrap();
        assert!(matches!(&records[..], [SideRecord::Checkpoint(_)]), "{records:?}");
        let chain = store.chain(&run(2)).await.unwrap().unwrap();
        let left: Vec<_> = store.commands(&run(2)).await.unwrap().into_iter().map(|command| command.id).collect();
        assert_eq!(left, if number < 2 { vec![] } else { vec!["pending"] }, "layout {number}");
        let command = Command { id: "new".into(), body: "continue".into() };
        store.leave_command(&run(2), command.clone()).await.unwrap();
        assert_eq!(store.commands(&run(2)).await.unwrap().pop(), Some(command));
        let facets = vec![("status".into(), "open".into())];
        let by_status = DocumentQuery { facets: facets.clone(), ..DocumentQuery::default() };
        let kept: Vec<_> = (number >= 3).then(old_document).into_iter().collect();
        assert_eq!(store.documents("kept", by_status.clone()).await.unwrap(), kept, "layout {number}");
        let document = Document { facets, ..Document::new("new", "") };
        let put = DocumentChange::Put { collection: "kept".into(), document, expect: Expect::Absent };
        assert!(store.change_documents(vec![put]).await.unwrap());
        assert_eq!(store.documents("kept", by_status).await.unwrap().len(), kept.len() + 1);
        let old = store.lease(&run(2)).await.unwrap().unwrap();
        let stale = store.renew(&old, Duration::ZERO).await.unwrap();
        let open = store.open_runs(None, 10).await.unwrap();
        assert_eq!(open.iter().map(|open| open.lease.as_ref()).collect::<Vec<_>>(), [Some(&stale)]);
        let lease = store.acquire(&run(2), "writer", LONG).await.unwrap().lease;
        assert!(lease.token > old.token);
        Writer { store: store.clone(), lease, chain }.write(messages(3)).await;
        assert_eq!(read_all(&store, &run(2)).await.len(), 5);
        assert_eq!(store.describe().await.unwrap().layout_version, LAYOUTS.len() as u32);
    }
}

#[tokio::test]
async fn log_17_an_empty_file_becomes_a_store() {
    let fixture = SqliteFixture::new();
    fs::write(fixture.path(), "").unwrap();
    Writer::started(&open(&fixture.path()).await, &run(1)).await;
    assert_eq!(read_all(&open(&fixture.path()).await, &run(1)).await.len(), 1);
}

#[tokio::test]
async fn log_17_a_newer_store_is_refused_untouched() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    Writer::started(&store, &run(1)).await;
    store.close().await.unwrap();
    // The number may still be in the write-ahead log, where a glance at the file does not show it.
    let newer = Connection::open(fixture.path()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    fs::create_dir(fixture.beside("unmerged")).unwrap();
    fs::create_dir(fixture.beside("merged")).unwrap();
    for name in ["r1.db", "r1.db-wal"] {
        fs::copy(fixture.beside(name), fixture.beside("unmerged").join(name)).unwrap();
    }
    newer.close().unwrap();
    fs::rename(fixture.path(), fixture.beside("merged/r1.db")).unwrap();
    let (merged, unmerged) = (fixture.beside("merged/r1.db"), fixture.beside("unmerged/r1.db"));
    for path in [merged, unmerged] {
        let err = refused(&path).await;
        assert!(matches!(err, OpenError::Newer { found: 99, .. }), "{err:?}");
        assert!(err.to_string().contains("use a newer r1"), "{err}");
    }
}

#[tokio::test]
async fn log_17_files_of_others_are_refused_untouched() {
    let fixture = SqliteFixture::new();
    let other = |name: &str, sql: &str| {
        let path = fixture.beside(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    };
    let text = fixture.beside("notes.txt");
    fs::write(&text, "not a database, but long enough to be taken for one ".repeat(100)).unwrap();
    let starling =
        other("starling.db", "CREATE TABLE events (run_id TEXT, seq INTEGER); INSERT INTO events VALUES ('x', 1)");
    let marked = other("marked.db", "PRAGMA application_id = 77; CREATE TABLE t (x)");
    let wal = other("wal.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
    for path in [text, starling, marked, wal] {
        let err = refused(&path).await;
        assert!(matches!(err, OpenError::Foreign { .. }), "{err:?}");
        assert!(err.to_string().contains("is not an R1 store"), "{err}");
    }
}

#[tokio::test]
async fn log_17_a_damaged_store_is_refused_untouched() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    Writer::finished(&store, &run(1), 100).await;
    store.close().await.unwrap();
    let whole = fs::read(fixture.path()).unwrap();
    let mut torn = whole.clone();
    torn[100..4096].fill(0xee);
    fs::write(fixture.path(), torn).unwrap();
    let err = refused(&fixture.path()).await;
    assert!(matches!(err, OpenError::Damaged { .. }), "{err:?}");
    fs::write(fixture.path(), whole).unwrap();
    assert_eq!(read_all(&open(&fixture.path()).await, &run(1)).await.len(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_17_reading_only_changes_no_byte() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let writer = Writer::finished(&store, &run(1), 50).await;
    // As a crash would leave it: with and without the shared memory file.
    for (folder, names) in
        [("crashed", &["r1.db", "r1.db-wal", "r1.db-shm"][..]), ("restored", &["r1.db", "r1.db-wal"])]
    {
        fs::create_dir(fixture.beside(folder)).unwrap();
        for name in names {
            fs::copy(fixture.beside(name), fixture.beside(folder).join(name)).unwrap();
        }
    }
    store.close().await.unwrap();
    fs::create_dir(fixture.beside("closed")).unwrap();
    fs::rename(fixture.path(), fixture.beside("closed").join("r1.db")).unwrap();

    for folder in ["closed", "crashed", "restored"].map(|name| fixture.beside(name)) {
        let before = files(&folder);
        let store = SqliteStore::open_read_only(folder.join("r1.db")).await.unwrap();
        let store: SharedStore = Arc::new(store);
        let log = read_all(&store, &run(1)).await;
        assert_eq!(follow(&run(1), Version::V2, &log), writer.chain, "{}", folder.display());
        assert_eq!(store.list(Default::default()).await.unwrap().entries.len(), 1);
        store.describe().await.unwrap();
        let err = store.append(&writer.lease, r1_event::Batch::new(&writer.chain)).await.unwrap_err();
        let AppendError::Failed { source, .. } = err else { panic!("{err:?}") };
        assert!(source.to_string().contains("reading only"), "{source}");
        assert!(store.acquire(&run(2), "x", LONG).await.is_err());
        store.close().await.unwrap();
        assert!(files(&folder) == before, "{} was changed", folder.display());
    }
    let err = SqliteStore::open_read_only(fixture.beside("nowhere.db")).await.unwrap_err();
    assert!(matches!(err, OpenError::Unavailable { .. }), "{err:?}");
    assert!(!fixture.beside("nowhere.db").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_what_a_live_writer_appends() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let reading: SharedStore = Arc::new(SqliteStore::open_read_only(fixture.path()).await.unwrap());
    for size in 1..5 {
        writer.write([message("more")]).await;
        assert_eq!(read_all(&reading, &run(1)).await.len(), size + 1);
    }
}

#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    let fixture = SqliteFixture::new();
    let path = fixture.beside("new/folder/with a ?#% name/r1.db");
    let store = open(&path).await;
    Writer::started(&store, &run(1)).await;
    let content = futures_util::stream::iter([Ok(bytes::Bytes::from_static(b"content"))]);
    let blob = store.blobs().put(Box::pin(content)).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let name = blob.hash.to_string();
    let folder = path.parent().unwrap();
    assert_eq!(mode(folder), 0o700);
    for file in ["r1.db", "r1.db-wal", "r1.db-shm"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    let shelf = folder.join("r1.db-blobs").join(&name[..2]);
    assert_eq!((mode(&shelf), mode(&shelf.join(&name))), (0o700, 0o600));
    store.close().await.unwrap();
    let mut left: Vec<_> = files_in(folder);
    left.sort();
    assert_eq!(left, ["r1.db", "r1.db-blobs"], "a closed store is one file and its blobs");
}

fn files_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
