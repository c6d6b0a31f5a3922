//! Ends without warning: SIGKILL at any moment, and a power cut at any byte.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use r1_event::{Chain, Record, RunId, Seq, Version};
use r1_store::conformance::sample::{LONG, Writer, batch, follow, message, read_all, run, seq, started};
use r1_store::{PageLimit, SharedStore, SqliteStore};

use super::child::{Ack, Errand, NOTES, RUNS, spawn};
use super::{SqliteFixture, open};

const ROUNDS: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_11_nothing_acknowledged_is_lost_or_doubled_by_sigkill() {
    let fixture = SqliteFixture::new();
    let mut known: HashMap<RunId, Chain> = HashMap::new();
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let (mut child, mut lines) = spawn(&fixture.path(), Errand::AppendForEver, None);
        let mut last: HashMap<RunId, Ack> = HashMap::new();
        let mut note = |ack: Ack| last.insert(ack.run.clone(), ack);
        // At least one append each time, then the end at a moment that differs from round to round.
        note(lines.next_ack().expect("the child gets to work"));
        tokio::time::sleep(Duration::from_micros(round * 7919 % 25_000)).await;
        child.kill().unwrap();
        while let Some(ack) = lines.next_ack() {
            note(ack);
            acknowledged += 1;
        }
        child.wait().unwrap();
        let store: SharedStore = if round % 2 == 0 {
            open(&fixture.path()).await
        } else {
            Arc::new(SqliteStore::open_read_only(fixture.path()).await.expect("readable as it was left"))
        };
        for n in 0..RUNS {
            let chain = known.entry(run(n)).or_insert_with(|| Chain::new(run(n)));
            check_growth(&store, chain, last.get(&run(n))).await;
            let noted = store.document(NOTES, run(n).as_str()).await.unwrap().expect("noted before the first append");
            assert_eq!(noted.body, chain.next_seq().to_string(), "events and note were stored together");
        }
        store.close().await.unwrap();
    }
    assert!(acknowledged > ROUNDS, "the children hardly did anything");

    let store = open(&fixture.path()).await;
    for (run, chain) in known {
        assert_eq!(follow(&run, Version::V2, &read_all(&store, &run).await), chain, "nothing old has changed");
        let lease = store.acquire(&run, "child", LONG).await.unwrap().lease;
        let mut writer = Writer { store: store.clone(), lease, chain };
        writer.write([message("and it goes on")]).await;
    }
}

/// Steps over what is new in a log and checks that it holds what was acknowledged.
async fn check_growth(store: &SharedStore, chain: &mut Chain, ack: Option<&Ack>) {
    let run = chain.run().clone();
    loop {
        let page = store.read(&run, chain.next_seq(), PageLimit::default()).await.unwrap().records;
        if page.is_empty() {
            break;
        }
        for record in page {
            chain.follow(&record).expect("no gap, no duplicate, no broken link");
        }
    }
    assert_eq!(store.chain(&run).await.unwrap().as_ref(), (chain.size() > 0).then_some(&*chain));
    if let Some(Ack { next, hash, .. }) = ack {
        assert!(chain.next_seq() >= *next, "{run} was acknowledged up to {next} and goes on at {}", chain.next_seq());
        let last = next.previous().unwrap();
        let found = store.read(&run, last, PageLimit { events: 1, bytes: 0 }).await.unwrap().records;
        assert_eq!(found[0].hash(), *hash, "event {last} of {run} is another one");
    }
}

/// A store's files as they were after some acknowledged batch, and what the next one added.
struct Moment {
    database: Vec<u8>,
    log: Vec<u8>,
    /// How much of the write-ahead log was synced at the last acknowledgement.
    synced: usize,
    acknowledged: Vec<Record>,
    submitted: Vec<Record>,
}

/// Writes batches of these sizes and keeps the moment between the last two.
async fn moment(sizes: &[usize]) -> Moment {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let mut synced = 0;
    let mut acknowledged = Vec::new();
    for size in sizes {
        acknowledged = read_all(&store, &run(1)).await;
        synced = fs::read(fixture.beside("r1.db-wal")).unwrap().len();
        writer.write((0..3).map(|n| message(format!("{n}").repeat(*size)))).await;
    }
    let submitted = read_all(&store, &run(1)).await;
    let (database, log) = (fs::read(fixture.path()).unwrap(), fs::read(fixture.beside("r1.db-wal")).unwrap());
    Moment { database, log, synced, acknowledged, submitted }
}

/// What is found after a power cut that left `log`; with `told`, what was cut off is reported.
async fn after_power_cut(moment: &Moment, log: &[u8], told: bool) -> Result<Vec<Record>, TestCaseError> {
    let fixture = SqliteFixture::new();
    fs::write(fixture.path(), &moment.database).unwrap();
    fs::write(fixture.beside("r1.db-wal"), log).unwrap();
    let store = open(&fixture.path()).await;
    let found = read_all(&store, &run(1)).await;
    prop_assert!(found.starts_with(&moment.acknowledged), "an acknowledged event is gone");
    prop_assert!(moment.submitted.starts_with(&found), "an event was invented, doubled or moved");
    let whole = found.len() == moment.submitted.len() || found.len() == moment.acknowledged.len();
    prop_assert!(whole, "half a batch is there");
    go_on(&store, &found).await;
    if told && found.len() < moment.submitted.len() && log.len() > moment.synced {
        let notes = store.describe().await.unwrap().notes.join("\n");
        let torn = format!("{} bytes of an unfinished write", log.len() - moment.synced);
        prop_assert!(notes.contains(&torn), "the torn tail is not reported: {notes}");
    }
    Ok(found)
}

/// Where in its frame an offset of the log is: a header of 32 bytes, then frames of 24 bytes and a page.
const fn in_frame(at: usize) -> usize {
    (at - 32) % (24 + 4096)
}

async fn go_on(store: &SharedStore, found: &[Record]) {
    let chain = follow(&run(1), Version::V2, found);
    assert_eq!(store.chain(&run(1)).await.unwrap().as_ref(), Some(&chain));
    let lease = store.acquire(&run(1), "writer", LONG).await.unwrap().lease;
    let mut writer = Writer { store: store.clone(), lease, chain };
    writer.write([message("after the power came back")]).await;
    assert_eq!(read_all(store, &run(1)).await.len(), found.len() + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn log_11_a_write_torn_at_any_byte_loses_nothing_acknowledged(
        sizes in prop::collection::vec(1_usize..6_000, 1..5),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 6),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let moment = moment(&sizes).await;
            prop_assert_eq!(after_power_cut(&moment, &moment.log, true).await?.len(), moment.submitted.len());
            let cut = after_power_cut(&moment, &moment.log[..moment.synced], true).await?;
            prop_assert_eq!(cut.len(), moment.acknowledged.len());
            for (index, noise) in cuts {
                let at = moment.synced + index.index(moment.log.len() - moment.synced);
                // The file ends there.
                after_power_cut(&moment, &moment.log[..at], true).await?;
                // The disk wrote one byte wrong, or everything from there on. Wrong salts, bytes 8 to 16 of a
                // frame, look like what an earlier use of the log left, which is not told.
                let mut garbled = moment.log.clone();
                garbled[at] ^= noise | 1;
                after_power_cut(&moment, &garbled, !(8..16).contains(&in_frame(at))).await?;
                garbled[at..].fill(noise);
                after_power_cut(&moment, &garbled, in_frame(at) >= 16).await?;
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn an_unclean_end_is_told_and_a_clean_one_is_not() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    Writer::started(&store, &run(1)).await;
    copy(&fixture, "crashed.db");
    store.close().await.unwrap();

    let notes = |store: SharedStore| async move { store.describe().await.unwrap().notes.join("\n") };
    let clean = notes(open(&fixture.path()).await).await;
    assert!(!clean.contains("when it was opened"), "{clean}");
    let crashed = notes(open(&fixture.beside("crashed.db")).await).await;
    assert!(crashed.contains("2 commits were still in the write-ahead log"), "{crashed}");
    assert!(!crashed.contains("unfinished"), "{crashed}");
}

#[tokio::test]
async fn log_11_a_crash_while_the_log_is_copied_into_the_file_loses_nothing() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for _ in 0..40 {
        writer.write([message("x".repeat(3_000))]).await;
    }
    let submitted = read_all(&store, &run(1)).await;
    let log = fs::read(fixture.beside("r1.db-wal")).unwrap();
    let before = fs::read(fixture.path()).unwrap().len() / 4096;
    // Closing copies the log into the file.
    store.close().await.unwrap();
    let file = fs::read(fixture.path()).unwrap();

    // The power goes when the copy is half done: the file says how long it is to be, and is not.
    let after = file.len() / 4096;
    assert!(before + 2 < after, "the file has grown");
    for pages in [before, before + 1, (before + after) / 2, after - 1] {
        let crashed = SqliteFixture::new();
        fs::write(crashed.path(), &file[..pages * 4096]).unwrap();
        fs::write(crashed.beside("r1.db-wal"), &log).unwrap();
        let store = open(&crashed.path()).await;
        assert_eq!(read_all(&store, &run(1)).await, submitted, "{pages} pages were copied");
        go_on(&store, &submitted).await;
    }
    // Without the log it is damaged, and stays as it is.
    let alone = SqliteFixture::new();
    fs::write(alone.path(), &file[..file.len() / 4096 / 2 * 4096]).unwrap();
    let refused = r1_store::SqliteStore::open(alone.path(), r1_store::SqliteOptions::default()).await;
    assert!(matches!(refused, Err(r1_store::OpenError::Damaged { .. })), "{refused:?}");
}

/// The files of an open store as a crash would leave them, under another name.
fn copy(fixture: &SqliteFixture, name: &str) {
    let copy = |from: &Path, to: &Path| fs::copy(from, to).unwrap();
    copy(&fixture.path(), &fixture.beside(name));
    copy(&fixture.beside("r1.db-wal"), &fixture.beside(&format!("{name}-wal")));
}

#[tokio::test]
async fn what_an_interrupted_prune_left_is_removed_on_opening() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    Writer::finished(&store, &run(1), 1000).await;
    let lease = store.acquire(&run(2), "writer", LONG).await.unwrap().lease;
    store.append(&lease, batch(&Chain::new(run(2)), [started("a neighbour")])).await.unwrap();
    store.close().await.unwrap();

    // As the first transaction of a prune leaves it.
    let raw = rusqlite::Connection::open(fixture.path()).unwrap();
    raw.execute_batch("UPDATE runs SET pruned_through = 900, pruning = 1 WHERE id = 1").unwrap();
    let events = |raw: &rusqlite::Connection| raw.query_one("SELECT count(*) FROM events", [], |row| row.get(0));
    assert_eq!(events(&raw), Ok(1001));
    let store = open(&fixture.path()).await;
    assert_eq!(events(&raw), Ok(101));
    assert_eq!(store.read(&run(1), Seq::FIRST, PageLimit::default()).await.unwrap().records.len(), 100);
    assert_eq!(store.run(&run(1)).await.unwrap().unwrap().pruned_through, Some(seq(900)));
}
