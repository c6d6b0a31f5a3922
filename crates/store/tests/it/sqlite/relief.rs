//! The write-ahead log begins anew while writers go on.

use std::fs;
use std::sync::Arc;

use futures_util::future::join_all;
use r1_event::Version;
use r1_store::conformance::sample::{Writer, follow, message, read_all, run, seq};
use r1_store::{PageLimit, SharedStore, SqliteOptions, SqliteStore};
use rusqlite::Connection;

use super::SqliteFixture;

const LOG_PAGES: u32 = 100;
/// A page of the log with its header.
const PAGE: u64 = 4096 + 24;

async fn with_small_log(fixture: &SqliteFixture) -> SharedStore {
    let options = SqliteOptions { log_pages: LOG_PAGES, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(fixture.path(), options).await.expect("the store opens"))
}

/// Appends `count` events of about a page to each of four runs, all at once; where they stand then.
async fn write(store: &SharedStore, first: u64, count: usize) -> Vec<Writer> {
    let writers = (first..first + 4).map(|n| async move {
        let mut writer = Writer::started(store, &run(n)).await;
        for _ in 0..count {
            writer.write([message("x".repeat(4_000))]).await;
        }
        writer
    });
    join_all(writers).await
}

fn pages_of_log(fixture: &SqliteFixture) -> u64 {
    fs::metadata(fixture.beside("r1.db-wal")).expect("a log").len() / PAGE
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_small_while_many_write_and_nothing_is_lost() {
    let fixture = SqliteFixture::new();
    let store = with_small_log(&fixture).await;
    let writers = write(&store, 1, 300).await;
    // Some 3,000 pages were written. Each commit has a dozen, and while those that were copied are synced it grows.
    let pages = pages_of_log(&fixture);
    assert!((u64::from(LOG_PAGES)..8 * u64::from(LOG_PAGES)).contains(&pages), "the log has {pages} pages");
    for Writer { chain, .. } in &writers {
        let log = read_all(&store, chain.run()).await;
        assert_eq!(follow(chain.run(), Version::V2, &log), *chain);
    }
    store.close().await.unwrap();
    assert!(!fixture.beside("r1.db-wal").exists(), "who closes the store last leaves no log behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stays_holds_the_log_up_but_nobody_who_writes() {
    let fixture = SqliteFixture::new();
    let store = with_small_log(&fixture).await;
    Writer::started(&store, &run(1)).await;
    // Somebody else's program, in the middle of reading.
    let reader = Connection::open(fixture.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events;").unwrap();
    write(&store, 10, 100).await;
    let grown = pages_of_log(&fixture);
    assert!(grown > 4 * u64::from(LOG_PAGES), "what somebody reads stays: {grown} pages");
    reader.execute_batch("COMMIT").unwrap();
    // Now it begins anew, so the file, which has room for all of this already, grows no more.
    let writers = write(&store, 20, 300).await;
    assert!(pages_of_log(&fixture) < 2 * grown, "{} pages, {grown} before", pages_of_log(&fixture));
    let last = writers[0].chain.size();
    let page = store.read(&run(20), seq(last), PageLimit::ONE).await.unwrap();
    assert_eq!(Some(page.records[0].hash()), writers[0].chain.head());
}
