//! Disks that are full or fail.

use std::sync::Arc;

use r1_event::Version;
use r1_store::conformance::sample::{LONG, Writer, batch, follow, message, read_all, run};
use r1_store::{AppendError, SharedStore, SqliteOptions, SqliteStore, StoreError};

use super::child::{Errand, RUNS, parse, spawn};
use super::{SqliteFixture, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_12_a_full_disk_poisons_the_writer_and_reading_goes_on() {
    let fixture = SqliteFixture::new();
    let options = SqliteOptions { max_bytes: Some(300_000), ..SqliteOptions::default() };
    let store: SharedStore = Arc::new(SqliteStore::open(fixture.path(), options).await.unwrap());
    let mut writer = Writer::started(&store, &run(1)).await;
    let err = loop {
        if let Err(err) = writer.append(batch(&writer.chain, [message("x".repeat(5_000))])).await {
            break err;
        }
    };
    assert!(matches!(err, AppendError::Failed { .. }) && !err.may_have_written(), "{err:?}");
    let cause = std::error::Error::source(&err).unwrap().to_string();
    assert!(cause.contains("full"), "the message says why: {cause}");

    // From now on every write is refused, also one that would fit.
    let err = writer.append(batch(&writer.chain, [message("small")])).await.unwrap_err();
    let AppendError::Poisoned { reason } = &err else { panic!("{err:?}") };
    assert!(reason.contains("full") && err.to_string().contains("open it again"), "{err}");
    assert!(matches!(
        store.acquire(&run(2), "x", LONG).await,
        Err(r1_store::LeaseError::Store(StoreError::Poisoned { .. }))
    ));
    assert!(matches!(store.collect_blobs(LONG).await, Err(StoreError::Poisoned { .. })));
    let log = read_all(&store, &run(1)).await;
    assert_eq!(follow(&run(1), Version::V2, &log), writer.chain, "all that was acknowledged, nothing else");
    let notes = store.describe().await.unwrap().faults.join("\n");
    assert!(notes.contains("writes are refused"), "{notes}");
    store.close().await.unwrap();

    writer.store = open(&fixture.path()).await;
    writer.write([message("there is room again")]).await;
    assert_eq!(follow(&run(1), Version::V2, &read_all(&writer.store, &run(1)).await), writer.chain);
}

#[test]
fn log_12_a_failing_write_poisons_the_writer_and_reopening_works() {
    let fixture = SqliteFixture::new();
    // No file may grow beyond 400 KiB, and the child is told by an error instead of a signal.
    let script = "trap '' XFSZ; ulimit -f 800; exec \"$@\"";
    let (mut child, mut lines) = spawn(&fixture.path(), Errand::FillTheDisk, Some(script));
    let (mut acks, mut refused, mut read) = (Vec::new(), Vec::new(), None);
    while let Some(line) = lines.next() {
        if let Some(ack) = parse(&line) {
            acks.push(ack);
        } else if let Some(reason) = line.strip_prefix("refused ") {
            refused.push(reason.to_owned());
        } else if let Some(events) = line.strip_prefix("read ") {
            read = events.parse::<usize>().ok();
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(refused.len(), RUNS as usize, "each writer is told");
    let told = |reason: &String| ["failed", "unknown", "poisoned"].contains(&reason.as_str());
    assert!(refused.iter().all(told), "{refused:?}");
    let read = read.expect("the child still reads");

    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = open(&fixture.path()).await;
        let mut stored = 0;
        for n in 0..RUNS {
            let log = read_all(&store, &run(n)).await;
            let chain = follow(&run(n), Version::V2, &log);
            let last = acks.iter().rfind(|ack| ack.run == run(n)).expect("each run got somewhere");
            assert!(chain.next_seq() >= last.next);
            stored += log.len();
            let lease = store.acquire(&run(n), "child", LONG).await.unwrap().lease;
            let mut writer = Writer { store: store.clone(), lease, chain };
            writer.write([message("the disk works again")]).await;
        }
        assert!(stored >= read, "what the child could read is there");
    });
}
