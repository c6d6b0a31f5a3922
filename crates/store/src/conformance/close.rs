//! The end of a store, and what it says of itself.

use std::time::Duration;

use futures_util::StreamExt as _;
use r1_event::Seq;

use super::Fixture;
use super::blob::{content, put};
use super::sample::{LONG, Writer, batch, message, messages, read_all, run};
use crate::document::DocumentQuery;
use crate::error::{AppendError, BlobError, LeaseError, StoreError};
use crate::feed::FeedCursor;
use crate::run::RunFilter;
use crate::store::PageLimit;
use crate::{tail, tail_feed};

pub async fn closing_refuses_everything_and_ends_tails(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let blob = put(&store, b"content").await.hash;
    let mut live = Box::pin(tail(store.clone(), run(1), Seq::FIRST));
    let mut feed = Box::pin(tail_feed(store.clone(), FeedCursor::START));
    live.next().await.unwrap().unwrap();
    feed.next().await.unwrap().unwrap();
    let waiting = tokio::spawn(async move {
        while let Some(Ok(_)) = live.next().await {}
        while let Some(Ok(_)) = feed.next().await {}
    });
    // Appends that were handed over before the end are finished.
    let appended = store.append(&writer.lease, batch(&writer.chain, messages(3)));
    let (appended, closed) = tokio::join!(appended, store.close());
    appended.unwrap();
    closed.unwrap();
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("a closed store ends its tails").unwrap();

    let err = writer.append(batch(&writer.chain, [message("too late")])).await.unwrap_err();
    assert!(matches!(err, AppendError::Failed { .. }) && !err.may_have_written());
    let limit = PageLimit::default();
    assert!(matches!(store.head(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.chain(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.read(&run(1), Seq::FIRST, limit).await, Err(StoreError::Closed)));
    assert!(matches!(store.read_feed(FeedCursor::START, limit).await, Err(StoreError::Closed)));
    assert!(matches!(store.run(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.list(RunFilter::default()).await, Err(StoreError::Closed)));
    assert!(matches!(store.lease(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.open_runs(None, 10).await, Err(StoreError::Closed)));
    assert!(matches!(store.commands(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.withdraw_command(&run(1), "x").await, Err(StoreError::Closed)));
    assert!(matches!(store.renew_all(std::slice::from_ref(&writer.lease), LONG).await, Err(StoreError::Closed)));
    assert!(matches!(store.leases(std::slice::from_ref(&writer.lease.run)).await, Err(StoreError::Closed)));
    assert!(matches!(store.feed_end().await, Err(StoreError::Closed)));
    assert!(matches!(store.document("here", "key").await, Err(StoreError::Closed)));
    assert!(matches!(store.documents("here", DocumentQuery::default()).await, Err(StoreError::Closed)));
    assert!(matches!(store.change_documents(Vec::new()).await, Err(StoreError::Closed)));
    assert!(matches!(store.side_records(&run(1)).await, Err(StoreError::Closed)));
    assert!(matches!(store.collect_blobs(Duration::ZERO).await, Err(StoreError::Closed)));
    assert!(matches!(store.acquire(&run(1), "x", LONG).await, Err(LeaseError::Store(StoreError::Closed))));
    assert!(matches!(store.blobs().get(blob).await, Err(BlobError::Store(StoreError::Closed))));
    assert!(matches!(store.blobs().put(content(b"x")).await, Err(BlobError::Store(StoreError::Closed))));
    assert!(!store.watch(&run(1)).grown(Seq::FIRST).await);
    store.close().await.expect("closing twice is no error");

    assert_eq!(read_all(&fixture.open().await, &run(1)).await.len(), 4);
}

pub async fn a_store_tells_what_it_is(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 0..3 {
        Writer::started(&store, &run(n)).await;
    }
    let facts = store.describe().await.unwrap();
    assert_eq!(facts.runs, 3);
    assert!(!facts.backend.is_empty() && !facts.location.is_empty());
    assert!(facts.layout_version >= 1);
}
