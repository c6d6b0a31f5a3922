//! History, then live: one path for both.
//!
//! A tail reads pages from the store and, at the end of the log, waits for a wake-up. There is no
//! second source of events, so there is no seam at which one could be lost or doubled, and a slow
//! reader costs nothing but its place in the log.

use std::collections::VecDeque;

use futures_util::Stream;
use futures_util::stream;
use r1_event::{Record, RunId, Seq};

use crate::error::StoreError;
use crate::feed::{FeedCursor, FeedItem};
use crate::store::{PageLimit, SharedStore};
use crate::watch::{FeedWatch, HeadWatch};

/// Every event of `run` from `from` on, as it comes; ends after the run's terminal event.
///
/// The run need not exist yet. If `from` was pruned, it begins at the first event still there.
pub fn tail(store: SharedStore, run: RunId, from: Seq) -> impl Stream<Item = Result<Record, StoreError>> + Send {
    // Watching begins before the first read: what is appended between the two is not missed.
    let watch = store.watch(&run);
    let state = Tail { store, run, next: from, watch, page: VecDeque::new(), ended: false };
    stream::unfold(state, |mut tail| async move { tail.next().await.map(|item| (item, tail)) })
}

struct Tail {
    store: SharedStore,
    run: RunId,
    /// Where the next page begins.
    next: Seq,
    watch: HeadWatch,
    page: VecDeque<Record>,
    ended: bool,
}

impl Tail {
    async fn next(&mut self) -> Option<Result<Record, StoreError>> {
        loop {
            if self.ended {
                return None;
            }
            if let Some(record) = self.page.pop_front() {
                let Some(place) = crate::place(&record) else {
                    let reason = format!("a header before seq {} cannot be read", self.next);
                    return self.fail(StoreError::Damaged { run: self.run.clone(), reason });
                };
                self.ended = place.kind.is_terminal();
                return Some(Ok(record));
            }
            match self.store.read(&self.run, self.next, PageLimit::default()).await {
                Ok(page) if !page.records.is_empty() => {
                    self.next = page.next();
                    self.page = page.records.into();
                }
                Ok(_) => match self.is_over().await {
                    Ok(false) if self.watch.grown(self.next).await => {}
                    Ok(_) => return None,
                    Err(err) => return self.fail(err),
                },
                Err(err) => return self.fail(err),
            }
        }
    }

    /// Whether a tail that starts behind the terminal event would wait for ever.
    async fn is_over(&self) -> Result<bool, StoreError> {
        let head = self.store.head(&self.run).await?;
        Ok(head.is_some_and(|head| head.terminal.is_some() && head.next <= self.next))
    }

    fn fail(&mut self, err: StoreError) -> Option<Result<Record, StoreError>> {
        self.ended = true;
        Some(Err(err))
    }
}

/// Every event of every run after `cursor`, as it comes. Ends only with the store.
pub fn tail_feed(store: SharedStore, cursor: FeedCursor) -> impl Stream<Item = Result<FeedItem, StoreError>> + Send {
    let watch = store.watch_feed();
    let state = FeedTail { store, cursor, watch, page: VecDeque::new(), failed: false };
    stream::unfold(state, |mut tail| async move { tail.next().await.map(|item| (item, tail)) })
}

struct FeedTail {
    store: SharedStore,
    cursor: FeedCursor,
    watch: FeedWatch,
    page: VecDeque<FeedItem>,
    failed: bool,
}

impl FeedTail {
    async fn next(&mut self) -> Option<Result<FeedItem, StoreError>> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Some(Ok(item));
            }
            if self.failed {
                return None;
            }
            match self.store.read_feed(self.cursor, PageLimit::default()).await {
                Ok(page) => {
                    let advanced = page.next > self.cursor;
                    self.cursor = page.next;
                    self.page.extend(page.items);
                    if !advanced && self.page.is_empty() && !self.watch.grown().await {
                        return None;
                    }
                }
                Err(err) => {
                    self.failed = true;
                    return Some(Err(err));
                }
            }
        }
    }
}
