//! All runs in one line.

use std::collections::HashMap;

use futures_util::future::join_all;
use r1_event::RunId;

use super::Fixture;
use super::sample::{Writer, messages, read_all, run};
use crate::feed::{FeedCursor, FeedItem};
use crate::store::{PageLimit, SharedStore};

async fn feed(store: &SharedStore, mut cursor: FeedCursor, events: usize) -> Vec<FeedItem> {
    let mut items = Vec::new();
    loop {
        let page = store.read_feed(cursor, PageLimit { events, ..PageLimit::default() }).await.unwrap();
        if page.next == cursor {
            assert_eq!(page.items, []);
            return items;
        }
        assert!(page.next > cursor, "a page moves forward");
        assert!(page.items.len() <= events);
        cursor = page.next;
        items.extend(page.items);
    }
}

pub async fn the_feed_has_every_event_once_in_run_order(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(feed(&store, FeedCursor::START, 10).await, []);
    let writers = (0..6).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut writer = Writer::started(&store, &run(n)).await;
            for size in [1, 4, 9] {
                writer.write(messages(size)).await;
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let items = feed(&store, FeedCursor::START, 1024).await;
    assert!(items.is_sorted_by(|one, next| one.cursor < next.cursor), "cursors grow");
    let mut by_run: HashMap<RunId, Vec<_>> = HashMap::new();
    for item in &items {
        by_run.entry(item.run.clone()).or_default().push(item.record.clone());
    }
    assert_eq!(by_run.len(), 6);
    for (run, records) in by_run {
        assert_eq!(records, read_all(&store, &run).await);
    }
    for events in [1, 7] {
        assert_eq!(feed(&store, FeedCursor::START, events).await, items, "in pages of {events}");
    }
    for middle in [0, 40, items.len() - 1] {
        assert_eq!(feed(&store, items[middle].cursor, 1024).await, items[middle + 1..], "after event {middle}");
    }
}

pub async fn a_feed_cursor_goes_on_across_openings(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(5)).await;
    let before = feed(&store, FeedCursor::START, 100).await;
    store.close().await.unwrap();
    drop(store);

    writer.store = fixture.open().await;
    let later = writer.write(messages(5)).await;
    let after = feed(&writer.store, before.last().unwrap().cursor, 100).await;
    assert_eq!(after.into_iter().map(|item| item.record).collect::<Vec<_>>(), later);
}

pub async fn the_end_of_the_feed_is_behind_what_is_committed_and_before_what_is_not(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.feed_end().await.unwrap(), FeedCursor::START);
    let mut writer = Writer::started(&store, &run(1)).await;
    for size in 1..5 {
        writer.write(messages(size)).await;
        let end = store.feed_end().await.unwrap();
        assert_eq!(feed(&store, end, 100).await, [], "all that was committed is before it");
        let later = writer.write(messages(size)).await;
        let read = feed(&store, end, 100).await.into_iter().map(|item| item.record).collect::<Vec<_>>();
        assert_eq!(read, later, "all that was committed later is behind it");
    }
    // Beside many writers nothing falls between the end and what comes after it.
    let writers = (2..6).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut writer = Writer::started(&store, &run(n)).await;
            for _ in 0..20 {
                writer.write(messages(2)).await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut ends = Vec::new();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        ends.push((store.feed_end().await.unwrap(), store.feed_end().await.unwrap()));
    }
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let whole = feed(&store, FeedCursor::START, 1024).await;
    for (end, next) in ends {
        assert!(end <= next, "it does not move back");
        let behind: Vec<_> = whole.iter().filter(|item| item.cursor > end).cloned().collect();
        assert_eq!(feed(&store, end, 1024).await, behind);
    }
}
