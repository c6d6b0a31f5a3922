//! A log in pages.
//!
//! Where a page goes on is told by the rows that were read, never by what stands in their headers: a header may
//! be damaged or forged, and whoever went on where it says could be sent back and read for ever.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use futures_util::poll;
use r1_event::{Record, RunId, Seq};

use crate::error::StoreError;
use crate::store::{PageLimit, Store};

/// Events of one log, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPage {
    /// The events; none at the end of the log.
    pub records: Vec<Record>,
    next: Seq,
}

impl LogPage {
    /// What was read from `from` on, the last of it in the row of `last`.
    pub(crate) fn new(from: Seq, records: Vec<Record>, last: Option<Seq>) -> Self {
        let next = if records.is_empty() { from } else { last.unwrap_or(from).max(from).next() };
        Self { records, next }
    }

    /// A page without events, at the end of a log.
    pub(crate) const fn empty(from: Seq) -> Self {
        Self { records: Vec::new(), next: from }
    }

    /// Where to go on: behind all that was read, and at the end of the log where this page begins.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.next
    }
}

/// How many pages are read while one is looked at.
const AHEAD: usize = 2;

/// A way through a log, from one place on to where it ends when that is reached.
///
/// Whoever has asked for a second page gets the next ones sooner: they are read ahead, side by side. Where a page
/// will end is a guess, that it has as many events as the one before; a page that was read from a wrong place is
/// read again from the right one.
pub struct Pages<'a> {
    store: &'a dyn Store,
    run: &'a RunId,
    next: Seq,
    limit: PageLimit,
    is_first: bool,
    ahead: VecDeque<Ahead<'a>>,
}

/// A page that is being read.
struct Ahead<'a> {
    from: Seq,
    page: MaybeDone<BoxFuture<'a, Result<LogPage, StoreError>>>,
}

impl<'a> Pages<'a> {
    /// Begins at `from`, or at the first event that is still there.
    pub fn new(store: &'a dyn Store, run: &'a RunId, from: Seq, limit: PageLimit) -> Self {
        Self { store, run, next: from, limit, is_first: true, ahead: VecDeque::new() }
    }

    /// Begins at the first event, with large pages: for whoever goes through the whole log.
    pub fn of_all(store: &'a dyn Store, run: &'a RunId) -> Self {
        Self::new(store, run, Seq::FIRST, PageLimit::BULK)
    }

    /// The next events; `None` at the end of the log.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        let page = match self.read_ahead().await {
            Some(page) => page?,
            None => self.store.read(self.run, self.next, self.limit).await?,
        };
        self.next = page.next();
        let events = page.records.len();
        if events == 0 {
            return Ok(None);
        }
        if !std::mem::take(&mut self.is_first) {
            self.look_ahead(events).await;
        }
        Ok(Some(page.records))
    }

    /// All that is left, for whoever has room for it.
    pub async fn to_end(mut self) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        while let Some(page) = self.next().await? {
            records.extend(page);
        }
        Ok(records)
    }

    /// The page at `next`, if it was read ahead. Not the end of the log, which may have grown since.
    async fn read_ahead(&mut self) -> Option<Result<LogPage, StoreError>> {
        let mut ahead = self.ahead.pop_front()?;
        if ahead.from != self.next {
            self.ahead.clear();
            return None;
        }
        (&mut ahead.page).await;
        let page = Pin::new(&mut ahead.page).take_output()?;
        (!page.as_ref().is_ok_and(|page| page.records.is_empty())).then_some(page)
    }

    /// Begins to read the pages behind `next`, if each has so many events.
    async fn look_ahead(&mut self, events: usize) {
        // Events differ in size; so that the guess may hold, a page may be somewhat larger.
        let limit = PageLimit { events, bytes: self.limit.bytes.saturating_mul(2) };
        while self.ahead.len() < AHEAD {
            let behind = |ahead: &Ahead<'_>| ahead.from.get().saturating_add(events as u64);
            let Some(from) = self.ahead.back().map_or(Some(self.next), |last| Seq::new(behind(last))) else { return };
            let mut page = maybe_done(self.store.read(self.run, from, limit));
            // Begins it; where there is something to wait for, it goes on by itself.
            let _: Poll<()> = poll!(&mut page);
            self.ahead.push_back(Ahead { from, page });
        }
    }
}
