//! A log in pages.
//!
//! Where a page goes on is told by the rows that were read, never by what stands in their headers: a header may
//! be damaged or forged, and whoever went on where it says could be sent back and read for ever.

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

/// A way through a log, from one place on to where it ends when that is reached.
pub struct Pages<'a> {
    store: &'a dyn Store,
    run: &'a RunId,
    next: Seq,
    limit: PageLimit,
}

impl<'a> Pages<'a> {
    /// Begins at `from`, or at the first event that is still there.
    pub fn new(store: &'a dyn Store, run: &'a RunId, from: Seq, limit: PageLimit) -> Self {
        Self { store, run, next: from, limit }
    }

    /// Begins at the first event, with large pages: for whoever goes through the whole log.
    pub fn of_all(store: &'a dyn Store, run: &'a RunId) -> Self {
        Self::new(store, run, Seq::FIRST, PageLimit::BULK)
    }

    /// The next events; `None` at the end of the log.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        let page = self.store.read(self.run, self.next, self.limit).await?;
        self.next = page.next();
        Ok((!page.records.is_empty()).then_some(page.records))
    }
}
