//! Clients and servers that die in mid-sentence.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use r1_event::{Chain, Note, Record, RunId, Seq, Version};
use r1_store::conformance::sample::{
    LONG, Writer, batch, completed, follow, message, messages, read_all, run, started,
};
use r1_store::{Document, DocumentChange, Expect, PostgresStore, SharedStore, tail};

use crate::pg_server::Cluster;
use crate::postgres::{Schema, options};

const CHILD_URL: &str = "R1_TEST_CRASH_URL";
const RUNS: u64 = 6;
/// Where a child notes, in a document per run, how long the log is.
const NOTES: &str = "notes";

/// Goes on with a run where its log ends.
async fn resumed(store: &SharedStore, run: &RunId) -> Writer {
    let lease = store.acquire(run, "crash test", LONG).await.unwrap().lease;
    let chain = store.chain(run).await.unwrap();
    let mut writer = Writer { store: store.clone(), lease, chain: chain.unwrap_or_else(|| Chain::new(run.clone())) };
    if writer.chain.size() == 0 {
        writer.write([started("crash test")]).await;
    }
    writer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child process of log_11_killed_clients_lose_and_double_nothing"]
async fn child_that_is_killed() {
    let Ok(url) = std::env::var(CHILD_URL) else { return };
    let store: SharedStore = Arc::new(PostgresStore::open(&url, options()).await.unwrap());
    let writers = (0..RUNS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut writer = resumed(&store, &run(n)).await;
            let key = run(n).to_string();
            let document = Document::new(key.clone(), writer.chain.size().to_string());
            let put = DocumentChange::Put { collection: NOTES.into(), document, expect: Expect::Absent };
            store.change_documents(vec![put]).await.unwrap();
            let mut revision = store.document(NOTES, &key).await.unwrap().unwrap().revision;
            for size in (1..4).cycle() {
                let mut next = batch(&writer.chain, messages(size));
                let body = next.after().size().to_string().into();
                next.note(Note { collection: NOTES.into(), key: key.clone(), revision, body });
                writer.append(next).await.unwrap();
                revision += 1;
                let (size, head) = (writer.chain.size(), writer.chain.head().unwrap());
                writeln!(std::io::stdout(), "ack {n} {size} {head}").unwrap();
            }
        })
    });
    join_all(writers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_11_killed_clients_lose_and_double_nothing() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let mut acknowledged: HashMap<(u64, u64), String> = HashMap::new();
    for round in 0..20 {
        // After how many acknowledgements, the same in every run of this test.
        for line in killed_child(&schema.url(), 1 + round * 7 % 31) {
            let mut words = line.split_whitespace().skip(1);
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            let place = (number(), number());
            acknowledged.insert(place, words.next().unwrap().to_owned());
        }
        for n in 0..RUNS {
            let (log, noted) = settled(&store, &run(n)).await;
            follow(&run(n), Version::V2, &log);
            if let Some(noted) = noted {
                assert_eq!(noted.body, log.len().to_string(), "round {round}: events and note were stored together");
            }
            for ((_, size), hash) in acknowledged.iter().filter(|((of, _), _)| *of == n) {
                let stored = log.get(*size as usize - 1).map(|record| record.hash().to_string());
                assert_eq!(stored.as_ref(), Some(hash), "round {round}: event {size} of run {n} was acknowledged");
            }
        }
    }
    assert!(acknowledged.len() > 100, "only {} appends were acknowledged", acknowledged.len());
}

/// A run's log and note at one moment: the server may still be at the last commit of a child that is dead.
async fn settled(store: &SharedStore, run: &RunId) -> (Vec<Record>, Option<Document>) {
    let mut noted = store.document(NOTES, run.as_str()).await.unwrap();
    loop {
        let log = read_all(store, run).await;
        let again = store.document(NOTES, run.as_str()).await.unwrap();
        if again == noted {
            return (log, noted);
        }
        noted = again;
    }
}

/// What a child said until it was killed.
fn killed_child(url: &str, after: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres_crash::child_that_is_killed", "--ignored", "--nocapture"])
        .env(CHILD_URL, url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    for line in lines {
        // A line that the kill cut short is no acknowledgement.
        if line.starts_with("ack ") && line.len() > 64 {
            said.push(line);
        }
        if said.len() == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(said.len() >= after, "the child ended by itself");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_11_a_crashing_server_loses_and_doubles_nothing() {
    let cluster = Cluster::private();
    let schema = Schema::on(cluster.url());
    let (store, reading): (SharedStore, SharedStore) = (Arc::new(schema.open().await), Arc::new(schema.open().await));
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..RUNS)
        .map(|n| {
            let (store, enough) = (store.clone(), Arc::clone(&enough));
            tokio::spawn(async move {
                let mut writer = Writer::started(&store, &run(n)).await;
                while !enough.load(Ordering::Relaxed) {
                    // Each is acknowledged: the store waits for the server and finds out what became of it.
                    writer.write([message("x".repeat(2000))]).await;
                }
                writer.write([completed()]).await;
                writer.chain
            })
        })
        .collect();
    // Two hundred readers of very different speed see every event once, across every crash.
    let readers: Vec<_> = (0..200)
        .map(|reader| {
            let reading = reading.clone();
            tokio::spawn(async move {
                let mut tail = Box::pin(tail(reading, run(reader % RUNS), Seq::FIRST));
                let mut hashes = Vec::new();
                while let Some(record) = tail.next().await {
                    hashes.push(Record::hash(&record.unwrap()));
                    for _ in 0..reader / 20 {
                        tokio::task::yield_now().await;
                    }
                }
                (run(reader % RUNS), hashes)
            })
        })
        .collect();
    let restarts = tokio::task::spawn_blocking(move || {
        (0..4).for_each(|_| cluster.restart_immediately());
        cluster
    });
    // Kept until the end, for the cluster goes with it.
    let _cluster = restarts.await.unwrap();
    enough.store(true, Ordering::Relaxed);
    let mut logs = HashMap::new();
    for writer in join_all(writers).await {
        let chain = writer.unwrap();
        let log = read_all(&store, chain.run()).await;
        assert_eq!(follow(chain.run(), Version::V2, &log), chain);
        logs.insert(chain.run().clone(), log.iter().map(Record::hash).collect::<Vec<_>>());
    }
    for reader in join_all(readers).await {
        let (run, hashes) = reader.unwrap();
        assert!(hashes == logs[&run], "a tail of {run} differs from its log");
    }
}
