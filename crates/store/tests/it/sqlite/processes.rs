//! Two real processes on one file.

use std::time::Duration;

use futures_util::StreamExt as _;
use r1_event::{Seq, Version};
use r1_store::conformance::sample::{Writer, completed, follow, messages, read_all, run};
use r1_store::tail;

use super::child::{Errand, RUNS, spawn};
use super::{SqliteFixture, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_14_two_processes_write_at_once_and_each_sees_the_others_events() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    let (mut child, mut lines) = spawn(&fixture.path(), Errand::FinishRuns, None);
    let reader = std::thread::spawn(move || std::iter::from_fn(|| lines.next_ack()).count());
    let tails: Vec<_> = (100..100 + RUNS)
        .map(|n| tokio::spawn(tail(store.clone(), run(n), Seq::FIRST).map(Result::unwrap).collect::<Vec<_>>()))
        .collect();
    let writers: Vec<_> = (0..RUNS)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut writer = Writer::started(&store, &run(n)).await;
                for size in 0..50 {
                    writer.write(messages(size % 4 + 1)).await;
                }
                writer.write([completed()]).await;
                writer.chain
            })
        })
        .collect();
    for (n, writer) in (0..).zip(writers) {
        let chain = writer.await.unwrap();
        assert_eq!(follow(&run(n), Version::V2, &read_all(&store, &run(n)).await), chain);
    }
    assert!(child.wait().unwrap().success());
    for (n, tail) in (100..).zip(tails) {
        let seen = tokio::time::timeout(Duration::from_secs(60), tail).await.expect("the tail hangs").unwrap();
        assert!(follow(&run(n), Version::V2, &seen).terminal().is_some());
        assert_eq!(seen, read_all(&store, &run(n)).await);
    }
    assert_eq!(reader.join().unwrap(), 50 * RUNS as usize, "everything the child wrote was acknowledged");
}
