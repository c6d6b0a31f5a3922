//! Many readers of very different speed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use r1_event::{Record, Seq};
use r1_store::conformance::sample::{LONG, Writer, completed, message, read_all, run};
use r1_store::{SharedStore, tail};
use tokio::sync::watch;

use super::{SqliteFixture, open};

const RUNS: u64 = 4;
const READERS: u64 = 200;
const BATCHES: u64 = 150;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_13_two_hundred_readers_of_different_speed_see_everything_once_across_reopening() {
    let fixture = SqliteFixture::new();
    // The opening that is used now; readers go on in the next one when theirs is closed.
    let (opened, _) = watch::channel(open(&fixture.path()).await);
    let opened = Arc::new(opened);
    let written = watch::Sender::new(false);
    let readers: Vec<_> =
        (0..READERS).map(|n| tokio::spawn(read_at_own_speed(n, opened.subscribe(), written.subscribe()))).collect();

    for half in 0..2 {
        let store = opened.borrow().clone();
        join_all((0..RUNS).map(|n| write_half(store.clone(), n, half))).await;
        if half == 0 {
            store.close().await.unwrap();
            opened.send_replace(open(&fixture.path()).await);
        }
    }
    written.send_replace(true);
    let before = resident_peak();
    let store = opened.borrow().clone();
    let mut logs = Vec::new();
    for n in 0..RUNS {
        logs.push(read_all(&store, &run(n)).await);
    }
    for (n, reader) in (0_usize..).zip(readers) {
        let seen = tokio::time::timeout(Duration::from_secs(120), reader).await.expect("a reader hangs").unwrap();
        let log = &logs[n % RUNS as usize];
        assert_eq!(seen.len(), log.len(), "reader {n}");
        assert!(seen.iter().eq(log.iter().map(Record::hash).collect::<Vec<_>>().iter()), "reader {n}");
    }
    // 200 readers have each been given the whole of a log of 8 MB.
    let log: usize = logs[0].iter().map(Record::size).sum();
    assert!(log > 4_000_000);
    assert!(resident_peak() < 500 << 20, "{} MiB at the peak, {} before", resident_peak() >> 20, before >> 20);
}

async fn write_half(store: SharedStore, n: u64, half: u64) {
    let mut writer = if half == 0 {
        Writer::started(&store, &run(n)).await
    } else {
        let chain = store.chain(&run(n)).await.unwrap().unwrap();
        let lease = store.acquire(&run(n), "writer", LONG).await.unwrap().lease;
        Writer { store, lease, chain }
    };
    for size in 0..BATCHES / 2 {
        writer.write((0..size % 7 + 1).map(|_| message("m".repeat(10_000)))).await;
    }
    if half == 1 {
        writer.write([completed()]).await;
    }
}

/// Follows one run to its end, through as many openings as it takes; gives back the hashes it saw.
async fn read_at_own_speed(
    n: u64,
    mut opened: watch::Receiver<SharedStore>,
    mut written: watch::Receiver<bool>,
) -> Vec<r1_event::Digest> {
    let mut seen = Vec::new();
    loop {
        let store = opened.borrow_and_update().clone();
        let next = Seq::new(seen.len() as u64 + 1).unwrap();
        let mut events = Box::pin(tail(store, run(n % RUNS), next));
        while let Some(event) = events.next().await {
            // A store that was closed while it was read says so.
            let Ok(record) = event else { break };
            let is_last = record.header().unwrap().kind.is_terminal();
            seen.push(record.hash());
            if is_last {
                return seen;
            }
            match n % 10 {
                // As fast as it can.
                0..=4 => {}
                // Slower and slower.
                5..=8 => {
                    for _ in 0..n {
                        tokio::task::yield_now().await;
                    }
                }
                // Takes one event and looks again when everything is written.
                _ => {
                    written.wait_for(|written| *written).await.unwrap();
                }
            }
        }
        drop(events);
        opened.changed().await.unwrap();
    }
}

/// The most memory this process has had, in bytes.
fn resident_peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok()).unwrap_or_default() << 10
}
