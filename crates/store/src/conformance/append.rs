//! What an append takes, refuses and leaves behind.

use bytes::Bytes;
use futures_util::future::join_all;
use r1_event::payload::MAX_PAYLOAD;
use r1_event::{Batch, Chain, ChainError, Digest, Payload, UnixNanos, Version};

use super::Fixture;
use super::sample::{
    LONG, Writer, batch, completed, follow, message, messages, read_all, run, seq, started, v1_records,
};
use crate::error::AppendError;
use crate::lease::{FencingToken, Lease};
use crate::run::Head;

pub async fn log_10_append_is_all_or_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::started(&store, &run).await;
    let before = read_all(&store, &run).await;
    let head = store.head(&run).await.unwrap();

    // A batch that is refused for its last event leaves none of the earlier ones.
    let mut refused = batch(&writer.chain, messages(5));
    refused.reference_blob(seq(6), Digest::blake3(b"never stored"));
    writer.append(refused).await.unwrap_err();
    assert_eq!(read_all(&store, &run).await, before);
    assert_eq!(store.head(&run).await.unwrap(), head);

    let stored = writer.write(messages(5)).await;
    assert_eq!(read_all(&store, &run).await, [before, stored].concat());
    assert_eq!(store.head(&run).await.unwrap(), Some(Head::from(&writer.chain)));
}

pub async fn log_10_a_conflict_carries_the_head(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::started(&store, &run).await;
    let stale = writer.chain.clone();
    writer.write(messages(2)).await;
    let head = Head::from(&writer.chain);

    let err = store.append(&writer.lease, batch(&stale, [message("late")])).await.unwrap_err();
    assert!(!err.may_have_written());
    let AppendError::Conflict { run: of, expected, head: found } = err else { panic!("{err:?}") };
    assert_eq!((of, expected, found), (run.clone(), seq(2), head.clone()));

    // The same seq is not enough: the hash before it must be the log's too.
    let mut elsewhere = batch(&stale, messages(1)).after().clone();
    elsewhere = batch(&elsewhere, [message("another history")]).after().clone();
    let err = store.append(&writer.lease, batch(&elsewhere, [message("late")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Conflict { head: found, .. } if found == head));

    // A run cannot begin in the middle.
    let other = super::sample::run(2);
    let lease = store.acquire(&other, "writer", LONG).await.unwrap().lease;
    let begun = batch(&Chain::new(other.clone()), [started("test")]).after().clone();
    let err = store.append(&lease, batch(&begun, [message("no beginning")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Conflict { head: Head::EMPTY, .. }));
    assert_eq!(store.head(&other).await.unwrap(), None);
}

pub async fn log_10_of_two_batches_for_one_place_one_is_stored(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::started(&store, &run).await;
    for round in 0..10 {
        let attempts = (0..8).map(|n| batch(&writer.chain, [message(format!("round {round} attempt {n}"))]));
        let results = join_all(attempts.map(|attempt| {
            let after = attempt.after().clone();
            let appended = store.append(&writer.lease, attempt);
            async move { appended.await.map(|_| after) }
        }))
        .await;
        let mut winners = results.iter().filter_map(|result| result.as_ref().ok());
        let winner = winners.next().expect("one attempt is stored").clone();
        assert_eq!(winners.next(), None, "only one is");
        for refused in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(
                matches!(refused, AppendError::Conflict { head, .. } if *head == Head::from(&winner)),
                "{refused:?}"
            );
        }
        writer.chain = winner;
    }
    assert_eq!(follow(&run, Version::V2, &read_all(&store, &run).await), writer.chain);
}

pub async fn log_10_a_fenced_writer_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut first = Writer::started(&store, &run).await;
    store.release(&first.lease).await.unwrap();
    let lease = store.acquire(&run, "another", LONG).await.unwrap().lease;
    assert!(lease.token > first.lease.token);

    let err = first.append(batch(&first.chain, [message("too late")])).await.unwrap_err();
    assert!(!err.may_have_written());
    assert!(matches!(err, AppendError::Fenced { current, .. } if current == lease.token));

    // The newest token writes, and a token from nowhere does not.
    let mut second = Writer { store: store.clone(), lease, chain: first.chain.clone() };
    second.write([message("in time")]).await;
    let forged = Lease { token: FencingToken(second.lease.token.0 + 1), ..second.lease.clone() };
    let err = store.append(&forged, batch(&second.chain, [message("forged")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { .. }));
    assert_eq!(store.head(&run).await.unwrap(), Some(Head::from(&second.chain)));
}

pub async fn log_10_a_lease_on_another_run_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mine = Writer::started(&store, &run(1)).await;
    let mut other = Writer::started(&store, &run(2)).await;
    assert_eq!(mine.lease.token, other.lease.token, "so that only the run tells them apart");
    let err = store.append(&mine.lease, batch(&other.chain, [message("not mine")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { .. }));
    let unheld = Chain::new(run(3));
    let lease = Lease { run: run(3), ..mine.lease };
    let err = store.append(&lease, batch(&unheld, [started("never acquired")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { current: FencingToken::NONE, .. }));
    other.write([message("mine")]).await;
}

pub async fn log_10_nothing_follows_the_terminal_event(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::started(&store, &run).await;
    let open = writer.chain.clone();
    writer.write([message("last words"), completed()]).await;
    assert_eq!(store.head(&run).await.unwrap().unwrap().terminal, writer.chain.terminal());

    let mut after = Batch::new(&writer.chain);
    let refused = after.push(UnixNanos(1), message("after the end"));
    assert!(matches!(refused, Err(ChainError::Finished { .. })), "no batch can be made");
    let err = store.append(&writer.lease, batch(&open, [message("beside the end")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Finished { .. }), "{err:?}");
    let again = fixture.open().await;
    let err = again.append(&writer.lease, batch(&open, [message("beside the end")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Finished { .. }), "{err:?}");
    assert_eq!(read_all(&store, &run).await.len(), 3);
}

pub async fn log_10_a_malformed_or_oversized_payload_is_refused_before_anything_is_written(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::started(&store, &run).await;
    let mut attempt = batch(&writer.chain, [message("fine")]);
    let unfit = [
        Payload::Other(99, Bytes::from_static(&[0xa1, 0x61])),
        Payload::Other(99, Bytes::from_static(&[0xbf, 0xff])),
        Payload::Other(99, Bytes::from_static(&[0x01])),
        message("x".repeat(MAX_PAYLOAD)),
    ];
    for payload in unfit {
        assert!(matches!(attempt.push(UnixNanos(1), payload), Err(ChainError::Payload(_))));
    }
    assert_eq!(store.head(&run).await.unwrap(), Some(Head::from(&writer.chain)), "nothing was written");
    // The batch holds only what was good, and the largest payload there may be is good.
    let room = MAX_PAYLOAD - message("").encode().len() - 4;
    attempt.push(UnixNanos(1), message("y".repeat(room))).unwrap();
    writer.append(attempt).await.unwrap();
    assert_eq!(follow(&run, Version::V2, &read_all(&store, &run).await), writer.chain);
}

pub async fn log_10_a_missing_blob_refuses_the_whole_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run(1);
    let mut writer = Writer::new(&store, &run).await;
    let missing = Digest::blake3(b"not there yet");
    let named = |chain: &Chain| {
        let mut named = batch(chain, [started("test"), message("see the blob")]);
        named.reference_blob(seq(2), missing);
        named
    };
    let err = writer.append(named(&writer.chain)).await.unwrap_err();
    assert!(matches!(err, AppendError::BlobMissing { blob, .. } if blob == missing));
    assert_eq!(store.head(&run).await.unwrap(), None, "the run did not come into being");

    super::blob::put(&store, b"not there yet").await;
    writer.append(named(&writer.chain)).await.unwrap();
}

pub async fn an_empty_batch_changes_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::new(&store, &run(1)).await;
    assert_eq!(writer.append(Batch::new(&writer.chain)).await.unwrap(), Head::EMPTY);
    assert_eq!(store.head(&run(1)).await.unwrap(), None);
    writer.write([started("test")]).await;
    assert_eq!(writer.append(Batch::new(&writer.chain)).await.unwrap(), Head::from(&writer.chain));
}

pub async fn many_writers_at_once_each_keep_their_order(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let writers = (0..24).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut writer = Writer::started(&store, &run(n)).await;
            for size in 1..=12 {
                writer.write(messages(size)).await;
            }
            writer.chain
        })
    });
    for chain in join_all(writers).await {
        let chain = chain.unwrap();
        assert_eq!(follow(chain.run(), Version::V2, &read_all(&store, chain.run()).await), chain);
    }
}

pub async fn a_v1_log_is_kept_as_it_is(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = "starling/01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap();
    let lease = store.acquire(&run, "import", LONG).await.unwrap().lease;
    let records = v1_records(&run);
    let mut batch = Batch::new(&Chain::empty(run.clone(), Version::V1));
    for record in &records {
        batch.adopt(record.clone()).unwrap();
    }
    let chain = batch.after().clone();
    store.append(&lease, batch).await.unwrap();
    let again = fixture.open().await;
    assert_eq!(read_all(&again, &run).await, records);
    assert_eq!(again.chain(&run).await.unwrap(), Some(chain.clone()));
    assert_eq!(again.head(&run).await.unwrap(), Some(Head::from(&chain)));
    assert_eq!(again.run(&run).await.unwrap().unwrap().version, Version::V1);
}
