//! Content that is too large for an event.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use r1_event::Digest;

use super::Fixture;
use super::prune::prune_record;
use super::sample::{Writer, batch, completed, message, read_all, run, seq};
use crate::blob::{BlobContent, BlobInfo};
use crate::error::BlobError;
use crate::store::SharedStore;

pub(super) fn content(bytes: &[u8]) -> BlobContent {
    let pieces: Vec<_> = bytes.chunks(10_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    stream::iter(pieces).boxed()
}

pub(super) async fn put(store: &SharedStore, bytes: &[u8]) -> BlobInfo {
    let info = store.blobs().put(content(bytes)).await.unwrap();
    assert_eq!(info, BlobInfo { hash: Digest::blake3(bytes), size: bytes.len() as u64 });
    info
}

async fn get(store: &SharedStore, hash: Digest) -> Result<Vec<u8>, io::Error> {
    let mut stream = store.blobs().get(hash).await.expect("the blob is there");
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

async fn is_there(store: &SharedStore, hash: Digest) -> bool {
    let stat = store.blobs().stat(hash).await.unwrap();
    let get = store.blobs().get(hash).await;
    assert_eq!(stat.is_some(), get.is_ok(), "stat and get agree");
    if let Err(err) = get {
        assert!(matches!(err, BlobError::NotFound { hash: missing } if missing == hash));
    }
    stat.is_some()
}

pub async fn log_16_the_same_content_is_kept_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let empty = put(&store, b"").await;
    assert_eq!(get(&store, empty.hash).await.unwrap(), b"");
    let one = put(&store, b"some content").await;
    assert_eq!(put(&store, b"some content").await, one);
    let (left, right) = tokio::join!(put(&store, b"at the same time"), put(&store, b"at the same time"));
    assert_eq!(left, right);
    for store in [store.clone(), fixture.open().await] {
        assert_eq!(store.blobs().stat(one.hash).await.unwrap(), Some(one));
        assert_eq!(get(&store, one.hash).await.unwrap(), b"some content");
        assert_eq!(get(&store, left.hash).await.unwrap(), b"at the same time");
        assert!(!is_there(&store, Digest::blake3(b"another")).await);
    }
    let mut collected = store.collect_blobs(Duration::ZERO).await.unwrap();
    collected.sort();
    let mut all = vec![empty.hash, one.hash, left.hash];
    all.sort();
    assert_eq!(collected, all, "each is there once");
}

pub async fn log_16_a_large_blob_comes_back_in_pieces(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[(n % 3) as usize]).collect();
    let info = put(&store, &large).await;
    let mut stream = store.blobs().get(info.hash).await.unwrap();
    let mut read = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.unwrap();
        assert!(piece.len() <= 1 << 20, "a piece of {} bytes", piece.len());
        read.extend_from_slice(&piece);
    }
    assert!(read == large);
}

pub async fn log_16_a_damaged_blob_is_found_on_reading(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let sound = put(&store, &[1; 200_000]).await;
    let damaged = put(&store, &[2; 200_000]).await;
    if fixture.damage_blob(damaged.hash).await {
        let err = get(&store, damaged.hash).await.unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::InvalidData, "{err}");
        // Storing the content again mends it.
        put(&store, &[2; 200_000]).await;
        assert_eq!(get(&store, damaged.hash).await.unwrap(), [2; 200_000]);
    }
    assert_eq!(get(&store, sound.hash).await.unwrap(), [1; 200_000]);
}

pub async fn log_16_unreferenced_blobs_are_collected_referenced_never(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (kept, unused) = (put(&store, b"kept").await.hash, put(&store, b"unused").await.hash);
    let mut writer = Writer::started(&store, &run(1)).await;
    let mut named = batch(&writer.chain, [message("see the blob"), message("and again")]);
    for n in [2, 2, 3] {
        named.reference_blob(seq(n), kept);
    }
    writer.append(named).await.unwrap();

    assert_eq!(store.collect_blobs(Duration::from_secs(3600)).await.unwrap(), [], "too young");
    assert!(is_there(&store, unused).await);
    assert_eq!(store.collect_blobs(Duration::ZERO).await.unwrap(), [unused]);
    assert!(!is_there(&store, unused).await);
    assert!(is_there(&store, kept).await);
    assert_eq!(get(&store, kept).await.unwrap(), b"kept");
    assert_eq!(store.collect_blobs(Duration::ZERO).await.unwrap(), []);
    // What was collected can come back.
    put(&store, b"unused").await;
    assert_eq!(get(&store, unused).await.unwrap(), b"unused");
}

pub async fn log_16_a_blob_is_freed_when_its_events_are_pruned(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (early, late) = (put(&store, b"named early").await.hash, put(&store, b"named late").await.hash);
    let mut writer = Writer::started(&store, &run(1)).await;
    let mut named = batch(&writer.chain, [message("early"), message("late"), completed()]);
    named.reference_blob(seq(2), early);
    named.reference_blob(seq(2), late);
    named.reference_blob(seq(3), late);
    writer.append(named).await.unwrap();
    store.prune(prune_record(&read_all(&store, &run(1)).await, 2)).await.unwrap();
    assert_eq!(store.collect_blobs(Duration::ZERO).await.unwrap(), [early]);
    assert!(is_there(&store, late).await);
}

pub async fn log_16_storing_again_makes_a_blob_young(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let grace = Duration::from_millis(300);
    for _ in 0..20 {
        put(&store, b"soon to be named").await;
        tokio::time::sleep(grace * 2).await;
        // Older than the grace by now, and young again.
        let stored_again = Instant::now();
        put(&store, b"soon to be named").await;
        let collected = store.collect_blobs(grace).await.unwrap();
        // Says nothing if the machine took longer than the grace.
        if stored_again.elapsed() < grace {
            assert_eq!(collected, []);
            return;
        }
    }
    panic!("the machine is too slow to tell");
}

pub async fn log_16_content_that_cannot_be_read_leaves_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let pieces = [Ok(Bytes::from_static(b"half")), Err(io::Error::other("the line went dead"))];
    let err = store.blobs().put(stream::iter(pieces).boxed()).await.unwrap_err();
    assert!(matches!(err, BlobError::Input(_)));
    assert!(!is_there(&store, Digest::blake3(b"half")).await);
    assert_eq!(store.collect_blobs(Duration::ZERO).await.unwrap(), []);
}
