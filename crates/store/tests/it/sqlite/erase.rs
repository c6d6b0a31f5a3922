//! What is erased or pruned is in no file any more.
//!
//! Every payload is filled with a secret of its own, so that any remainder of more than a few bytes
//! gives it away.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use r1_event::side_record::{Erase, EventRef, Prune, RunContext, Trees};
use r1_event::{Note, Payload, Version};
use r1_store::conformance::sample::{Writer, batch, completed, follow, message, read_all, run, seq};
use r1_store::{Command, Document, DocumentChange, Expect, PageLimit, SharedStore, Traces};

use super::{SqliteFixture, open};

/// Seeds of arrangements in which a file that is not rewritten keeps a trace.
const SEEDS: [u64; 4] = [29, 139, 222, 349];

/// The same for documents of up to so many bytes.
const DOCUMENT_SEEDS: [(u64, u64); 4] = [(1, 280), (3, 1_000), (46, 3_000), (44, 20_000)];

/// A message of about `size` bytes that is full of secret number `n`.
fn secret(n: u64, size: usize) -> Payload {
    message(format!("<secret{n:06}>").repeat(size.div_ceil(14).max(1)))
}

/// The numbers of all secrets that stand in any file of the folder.
fn secrets_in(folder: &Path) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(secrets_in(&path));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let mark = b"<secret";
        let places = bytes.windows(mark.len()).enumerate().filter(|(_, window)| window == mark);
        let number = |at: usize| std::str::from_utf8(bytes.get(at + 7..at + 13)?).ok()?.parse::<u64>().ok();
        found.extend(places.filter_map(|(at, _)| number(at)));
    }
    found
}

async fn erase(store: &SharedStore, run_number: u64, seqs: impl IntoIterator<Item = u64>) {
    let run = run(run_number);
    let head = store.head(&run).await.unwrap().unwrap();
    let last = store.read(&run, head.next.previous().unwrap(), PageLimit::default()).await.unwrap().records.remove(0);
    let header = last.header().unwrap();
    let redaction = EventRef { run_id: run.clone(), seq: header.seq, ts: header.ts, hash: last.hash() };
    let erasure = |n| Erase {
        run_id: run.clone(),
        seq: seq(n),
        type_name: "user.message".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction: redaction.clone(),
    };
    assert_eq!(store.erase(seqs.into_iter().map(erasure).collect()).await.unwrap(), Traces::Gone);
}

async fn prune(store: &SharedStore, run_number: u64, through: u64) {
    let run_id = run(run_number);
    let beside = store.side_records(&run_id).await.unwrap();
    let (mut blake3, mut sha256) = Prune::furthest(&beside)
        .map_or_else(Default::default, |last| (last.trees.blake3().clone(), last.trees.sha256().clone()));
    let events = usize::try_from(through - blake3.size()).unwrap();
    let limit = PageLimit { events, bytes: usize::MAX };
    let gone = store.read(&run_id, seq(blake3.size() + 1), limit).await.unwrap().records;
    for event in &gone {
        blake3.push(event.leaf());
        sha256.push(event.leaf_sha256());
    }
    let prune = Prune {
        run_id,
        last_hash: gone.last().unwrap().hash(),
        trees: Trees::new(blake3, sha256).unwrap(),
        pruned_at: r1_event::UnixNanos(1),
        reason: "a test".into(),
        context: RunContext::default(),
        open_turn: None,
        open_calls: Vec::new(),
        graph: None,
    };
    store.prune(prune).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_an_erased_payload_of_any_size_is_in_no_file() {
    for size in [20, 100, 400, 900, 1_000, 1_300, 2_000, 3_700, 3_900, 4_100, 9_000, 70_000] {
        let fixture = SqliteFixture::new();
        let folder = fixture.beside("");
        let store = open(&fixture.path()).await;
        let mut writer = Writer::started(&store, &run(1)).await;
        // In one batch and one by one: both ways pages fill differently.
        writer.write((2..30).map(|n| secret(n, size))).await;
        for n in 30..40 {
            writer.write([secret(n, size)]).await;
        }
        assert_eq!(secrets_in(&folder), (2..40).collect(), "the search finds them");
        // First and last, neighbours, and every third.
        let mut gone = BTreeSet::new();
        for seqs in [vec![2, 39], vec![10, 11, 12, 13], (2..40).filter(|n| n % 3 == 0).collect()] {
            erase(&store, 1, seqs.iter().copied()).await;
            gone.extend(seqs);
            let left = (2..40).filter(|n| !gone.contains(n)).collect();
            assert_eq!(secrets_in(&folder), left, "payloads of {size} bytes, erased {gone:?}");
        }
        writer.write((40..60).map(|n| secret(n, size))).await;
        store.close().await.unwrap();
        assert!(secrets_in(&folder).is_disjoint(&gone));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_what_was_erased_is_not_left_in_the_command_that_brought_it() {
    for size in [20, 400, 1_000, 3_900, 9_000, 70_000] {
        let fixture = SqliteFixture::new();
        let folder = fixture.beside("");
        let store = open(&fixture.path()).await;
        let mut writer = Writer::started(&store, &run(1)).await;
        for n in 2..40 {
            let body = format!("<secret{n:06}>").repeat(size / 14).into();
            store.leave_command(&run(1), Command { id: format!("command {n}"), body }).await.unwrap();
        }
        // Most are settled, in an order of their own; some are withdrawn, some stay.
        for n in (2..36).rev().filter(|n| n % 5 != 0).chain((2..36).filter(|n| n % 5 == 0)) {
            if n % 7 == 0 {
                assert!(store.withdraw_command(&run(1), &format!("command {n}")).await.unwrap());
            } else {
                let mut answer = batch(&writer.chain, [secret(n, size)]);
                answer.settle(format!("command {n}"));
                writer.append(answer).await.unwrap();
            }
        }
        erase(&store, 1, 2..=writer.chain.size()).await;
        assert_eq!(secrets_in(&folder), (36..40).collect(), "commands of {size} bytes that wait");
        writer.write([completed()]).await;
        erase(&store, 1, [2]).await;
        assert_eq!(secrets_in(&folder), BTreeSet::new(), "commands of {size} bytes that end with their run");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_erasing_waits_for_a_reader_that_is_in_the_way() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write([secret(2, 1_000)]).await;
    // Another process in the middle of a read.
    let reader = rusqlite::Connection::open(fixture.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_one("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    let erasing = tokio::spawn({
        let store = store.clone();
        async move { erase(&store, 1, [2]).await }
    });
    // The payload is gone for readers at once, from the files when the other one lets go.
    while store.read(&run(1), seq(2), PageLimit::default()).await.unwrap().records[0].payload.is_some() {
        tokio::task::yield_now().await;
    }
    assert!(!erasing.is_finished());
    reader.execute_batch("COMMIT").unwrap();
    erasing.await.unwrap();
    assert_eq!(secrets_in(&fixture.beside("")), BTreeSet::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_pruned_events_are_in_no_file_and_their_space_comes_back() {
    let fixture = SqliteFixture::new();
    let folder = fixture.beside("");
    let store = open(&fixture.path()).await;
    let mut writers = Vec::new();
    for n in 0..4 {
        writers.push(Writer::started(&store, &run(n)).await);
    }
    // Four runs whose events lie side by side: secret 1000 × run + seq.
    for n in 2..300 {
        for (run, writer) in (0..).zip(&mut writers) {
            writer.write([secret(1000 * run + n, 1_000)]).await;
        }
    }
    for writer in &mut writers {
        writer.write([completed()]).await;
    }
    prune(&store, 0, 299).await;
    assert!(secrets_in(&folder).iter().all(|n| *n >= 1000), "the first prune needs no more");
    prune(&store, 1, 200).await;
    prune(&store, 2, 299).await;
    // SQLite may have moved events of the later runs while it deleted those of the first.
    assert_eq!(store.compact().await.unwrap(), Traces::Gone);
    assert_eq!(secrets_in(&folder), (1201..1300).chain(3002..3300).collect());
    let size = fs::metadata(fixture.path()).unwrap().len();
    assert!(size < 900_000, "{size} bytes for 400 events of 1 KB");

    // After a prune, erasing leaves nothing either.
    prune(&store, 1, 250).await;
    erase(&store, 3, [50, 51, 299]).await;
    erase(&store, 1, [260]).await;
    let found = secrets_in(&folder);
    assert!(found.is_disjoint(&[3050, 3051, 3299, 1260].into()), "{found:?}");
    for n in 0..4 {
        let head = store.head(&run(n)).await.unwrap().unwrap();
        assert!(head.terminal.is_some());
        assert_eq!(store.chain(&run(n)).await.unwrap().unwrap().size() + 1, head.next.get());
    }
}

/// Numbers that look random and are the same every time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Deleting rows makes SQLite move others, and it can leave bytes of those behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_neighbours_of_pruned_events_leave_no_trace_when_they_are_erased() {
    for seed in SEEDS {
        let mut number = numbers(seed);
        let fixture = SqliteFixture::new();
        let store = open(&fixture.path()).await;
        let mut writers = Vec::new();
        for n in 0..3 {
            writers.push(Writer::started(&store, &run(n)).await);
        }
        for n in 2..120 {
            let mut appends = Vec::new();
            for (run, writer) in (0..).zip(&mut writers) {
                let size = usize::try_from(20 + number(280)).unwrap();
                let next = batch(&writer.chain, [secret(1000 * run + n, size)]);
                writer.chain = next.after().clone();
                appends.push(store.append(&writer.lease, next));
            }
            futures_util::future::try_join_all(appends).await.unwrap();
        }
        writers[0].write([completed()]).await;
        prune(&store, 0, 119).await;
        let mut erased = BTreeSet::new();
        for run in [1, 2] {
            let seqs: Vec<u64> = (2..120).filter(|_| number(2) == 0).collect();
            erase(&store, run, seqs.iter().copied()).await;
            erased.extend(seqs.into_iter().map(|n| 1000 * run + n));
        }
        let found = secrets_in(&fixture.beside(""));
        let trace: Vec<_> = found.intersection(&erased).collect();
        assert!(trace.is_empty(), "seed {seed}: erased and still there: {trace:?}");
        assert!(found.iter().all(|n| *n >= 1000), "seed {seed}: pruned and still there");
    }
}

/// What documents say comes from events, and replacing and removing them makes SQLite move others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_15_what_documents_no_longer_say_is_in_no_file_after_an_erasure() {
    for (seed, most) in DOCUMENT_SEEDS {
        let mut number = numbers(seed);
        let fixture = SqliteFixture::new();
        let folder = fixture.beside("");
        let store = open(&fixture.path()).await;
        let mut writer = Writer::started(&store, &run(1)).await;
        writer.write([message("something else")]).await;
        let mut said: HashMap<u64, u64> = HashMap::new();
        for first in (0..600).step_by(20) {
            let mut changes = Vec::new();
            for n in first..first + 20 {
                let key = number(120);
                changes.push(if number(4) == 0 {
                    said.remove(&key);
                    DocumentChange::Remove { collection: "here".into(), key: key.to_string() }
                } else {
                    said.insert(key, n);
                    let size = usize::try_from(20 + number(most)).unwrap();
                    let document = Document::new(key.to_string(), format!("<secret{n:06}>").repeat(size.div_ceil(14)));
                    DocumentChange::Put { collection: "here".into(), document, expect: Expect::Anything }
                });
            }
            assert!(store.change_documents(changes).await.unwrap());
        }
        // The last one is replaced by a note.
        let last = (0..120).find(|key| said.contains_key(key)).unwrap();
        let revision = store.document("here", &last.to_string()).await.unwrap().unwrap().revision;
        let mut noting = batch(&writer.chain, [message("noted")]);
        let note = Note { collection: "here".into(), key: last.to_string(), revision, body: "nothing".into() };
        noting.note(note);
        writer.append(noting).await.unwrap();
        said.remove(&last);
        erase(&store, 1, [2]).await;
        let said_now: BTreeSet<u64> = said.values().copied().collect();
        assert_eq!(secrets_in(&folder), said_now, "seed {seed}");
        for (key, n) in &said {
            let document = store.document("here", &key.to_string()).await.unwrap().unwrap();
            assert!(document.body.starts_with(format!("<secret{n:06}>").as_bytes()), "seed {seed}: {key} is kept");
        }
        let clear = DocumentChange::Clear { collection: "here".into() };
        assert!(store.change_documents(vec![clear]).await.unwrap());
        assert_eq!(store.compact().await.unwrap(), Traces::Gone);
        assert_eq!(secrets_in(&folder), BTreeSet::new(), "seed {seed}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append { run: u64, sizes: Vec<usize> },
    Erase { run: u64, at: prop::sample::Index },
    Prune { run: u64, at: prop::sample::Index },
}

fn step() -> impl Strategy<Value = Step> {
    let sizes = prop::collection::vec(prop_oneof![20_usize..500, 500_usize..4_500, 4_500_usize..30_000], 1..12);
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0..3_u64, sizes).prop_map(|(run, sizes)| Step::Append { run, sizes }),
        3 => (0..3_u64, at()).prop_map(|(run, at)| Step::Erase { run, at }),
        1 => (0..3_u64, at()).prop_map(|(run, at)| Step::Prune { run, at }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn log_15_no_order_of_appends_erasures_and_prunes_leaves_a_trace(steps in prop::collection::vec(step(), 10..30)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let fixture = SqliteFixture::new();
            let folder = fixture.beside("");
            let store = open(&fixture.path()).await;
            let mut writers = Vec::new();
            for n in 0..3 {
                writers.push(Writer::started(&store, &run(n)).await);
            }
            let (mut erased, mut pruned) = (BTreeSet::new(), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Append { run, sizes } => {
                        let writer = &mut writers[run as usize];
                        if writer.chain.terminal().is_none() {
                            let first = writer.chain.next_seq().get();
                            let payloads = (first..).zip(sizes).map(|(n, size)| secret(1000 * run + n, size));
                            writer.write(payloads.collect::<Vec<_>>()).await;
                        }
                    }
                    Step::Erase { run, at } => {
                        let size = writers[run as usize].chain.size();
                        let first = first_left(&store, run).await;
                        if size > 1 && first < size {
                            let n = first + at.index((size - first) as usize) as u64;
                            erase(&store, run, [n]).await;
                            erased.insert(1000 * run + n);
                        }
                    }
                    Step::Prune { run, at } => {
                        let writer = &mut writers[run as usize];
                        if writer.chain.terminal().is_none() {
                            writer.write([completed()]).await;
                        }
                        let (first, last) = (first_left(&store, run).await, writer.chain.size());
                        if first < last {
                            let through = first + at.index((last - first) as usize) as u64;
                            prune(&store, run, through).await;
                            pruned.extend((first..=through).map(|n| 1000 * run + n));
                        }
                    }
                }
                let found = secrets_in(&folder);
                let trace: Vec<_> = found.intersection(&erased).filter(|n| !pruned.contains(n)).collect();
                prop_assert!(trace.is_empty(), "erased and still there: {trace:?}");
            }
            assert_eq!(store.compact().await.unwrap(), Traces::Gone);
            let found = secrets_in(&folder);
            prop_assert!(found.is_disjoint(&erased) && found.is_disjoint(&pruned));
            for writer in &writers {
                let log = read_all(&store, writer.chain.run()).await;
                if first_left(&store, 0).await == 1 && log.len() as u64 == writer.chain.size() {
                    prop_assert_eq!(&follow(writer.chain.run(), Version::V2, &log), &writer.chain);
                }
            }
            Ok(())
        })?;
    }
}

async fn first_left(store: &SharedStore, n: u64) -> u64 {
    let gone = store.run(&run(n)).await.unwrap().unwrap().pruned_through;
    gone.map_or(1, |gone| gone.get() + 1)
}
