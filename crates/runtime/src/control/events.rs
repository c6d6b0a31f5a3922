//! The one door to a run's events as they are served: every surface reads here, live and after the fact.
//!
//! - [`Cursor`]: what a client says it has, as the first event that it gets.
//! - [`Filter`]: which types it wants; [`View`]: with which names, and whether with the model's reasoning.
//! - [`RunEvents`]: a run whose events are read: in [pages](RunEvents::page), in [chunks](RunEvents::chunk) for
//!   streams, with [waiting](RunEvents::wait) in between.
//!
//! Nothing is kept here but what a run's first event and the records beside its log say. The same question
//! gives the same bytes, on every node and after every restart, unless something was erased or pruned since.

mod beside;
mod cursor;
mod export;
mod filter;
mod sheet;

use std::sync::Arc;
use std::time::Duration;

use r1_event::{Record, RunId, Seq};
use r1_protocol::{EnvelopeWriter, RunFacts, View};
use r1_store::watch::HeadWatch;
use r1_store::{PageLimit, SharedStore, StoreError};

pub use beside::Beside;
pub use cursor::{Cursor, CursorError};
pub use filter::{Filter, FilterError};
pub use sheet::{Rendered, Sheet};

use super::view::place;

/// The most events on a page, and how many there are if nobody says.
pub const MAX_LIMIT: usize = 2_000;
/// See [`MAX_LIMIT`].
pub const DEFAULT_LIMIT: usize = 500;
/// The most bytes of events on a page.
pub const MAX_PAGE_BYTES: usize = 8 << 20;
/// The longest that a question for new events waits.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
/// How many events one question looks at before it answers with what it has, if a filter lets few pass.
const MAX_SCAN: u64 = 100_000;

/// A run whose events are read.
#[derive(Clone)]
pub struct RunEvents {
    store: SharedStore,
    run: RunId,
    writer: Arc<EnvelopeWriter>,
    beside: Beside,
}

/// A part of a run's events.
#[derive(Clone, Debug)]
pub struct Page {
    /// The events.
    pub sheet: Sheet,
    /// What to give as `after_sequence` to go on.
    pub next_after_sequence: Option<u64>,
    /// Whether more was stored when the page was read.
    pub has_more: bool,
    /// Where the log stands.
    pub end: End,
}

/// Where a run's log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Place of its last event.
    pub last_sequence: Option<u64>,
    /// Whether the run has ended.
    pub terminal: bool,
}

impl End {
    /// Whether nothing is to come from `sequence` on.
    #[must_use]
    pub fn is_before(self, sequence: u64) -> bool {
        self.terminal && self.last_sequence.is_none_or(|last| last < sequence)
    }
}

/// What came of one look into a log.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The events that the filter lets pass.
    pub sheet: Sheet,
    /// The first event that was not looked at.
    pub next: u64,
    /// Whether the last event that was looked at ends the run.
    pub ended: bool,
}

/// What is wanted of a run's events.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Which.
    pub filter: Filter,
    /// How.
    pub view: View,
}

impl RunEvents {
    /// Opens the events of a run, by its id in the store.
    pub async fn open(store: SharedStore, run: RunId) -> Result<Self, EventsError> {
        let mut beside = Beside::default();
        let facts = beside.facts(&store, &run).await?;
        Ok(Self { store, run, writer: Arc::new(EnvelopeWriter::new(facts)), beside })
    }

    /// What all events of the run share.
    #[must_use]
    pub fn facts(&self) -> &RunFacts {
        self.writer.facts()
    }

    /// The run's id in the store.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// Where the log stands now.
    pub async fn end(&self) -> Result<End, EventsError> {
        let head = self.store.head(&self.run).await?.ok_or_else(|| EventsError::NoRun { run: self.run.clone() })?;
        Ok(End { last_sequence: head.next.get().checked_sub(2), terminal: head.terminal.is_some() })
    }

    /// A watch for [`Self::wait`]; made before the first look, so that nothing falls between the two.
    #[must_use]
    pub fn watch(&self) -> HeadWatch {
        self.store.watch(&self.run)
    }

    /// Waits until there may be an event at `next`; false if the store was closed. Cancel-safe.
    pub async fn wait(watch: &mut HeadWatch, next: u64) -> bool {
        watch.grown(seq(next)).await
    }

    /// Up to `limit` events from the cursor on, of those that are wanted.
    pub async fn page(&mut self, cursor: Cursor, limit: usize, wanted: &Wanted) -> Result<Page, EventsError> {
        let (first, mut next) = (cursor.first(), cursor.first());
        let mut sheet = Sheet::new(limit.clamp(1, MAX_LIMIT), MAX_PAGE_BYTES);
        if cursor.gives_the_first_again() {
            sheet.do_not_count_the_first();
        }
        loop {
            let before = next;
            next = self.fill(&mut sheet, next, wanted).await?.next;
            let end = self.end().await?;
            let has_more = end.last_sequence.is_some_and(|last| next <= last);
            if sheet.is_full() || !has_more || next == before || next - first >= MAX_SCAN {
                let next_after_sequence = match sheet.items().last() {
                    Some(item) => Some(item.sequence),
                    // Else whoever asks with this cursor would be told the same for ever.
                    None if has_more => next.checked_sub(1),
                    None => cursor.as_after_sequence(),
                };
                return Ok(Page { sheet, next_after_sequence, has_more, end });
            }
        }
    }

    /// As [`Self::page`], but waits up to `wait` for the first event if there is none yet.
    pub async fn page_within(
        &mut self,
        cursor: Cursor,
        limit: usize,
        wanted: &Wanted,
        wait: Duration,
    ) -> Result<Page, EventsError> {
        let mut watch = self.watch();
        let deadline = tokio::time::Instant::now() + wait.min(MAX_WAIT);
        let mut looked = cursor;
        loop {
            let mut page = self.page(looked, limit, wanted).await?;
            if !page.sheet.items().is_empty() || page.has_more || page.end.terminal || wait.is_zero() {
                return Ok(page);
            }
            let next = page.end.last_sequence.map_or(0, |last| last + 1).max(looked.first());
            match tokio::time::timeout_at(deadline, Self::wait(&mut watch, next)).await {
                // What was looked at and not wanted need not be looked at again.
                Ok(true) => looked = cursor.moved_to(next),
                Ok(false) | Err(_) => {
                    page.next_after_sequence = cursor.as_after_sequence();
                    return Ok(page);
                }
            }
        }
    }

    /// One look into the log from `next` on, as large as `limit`: what a stream is made of.
    pub async fn chunk(&mut self, next: u64, limit: PageLimit, wanted: &Wanted) -> Result<Chunk, EventsError> {
        let mut sheet = Sheet::new(limit.events, limit.bytes);
        let Filled { next, ended } = self.fill(&mut sheet, next, wanted).await?;
        Ok(Chunk { sheet, next, ended })
    }

    /// Reads once and puts onto the sheet what is wanted and has room.
    async fn fill(&mut self, sheet: &mut Sheet, from: u64, wanted: &Wanted) -> Result<Filled, EventsError> {
        let page = self.store.read(&self.run, seq(from), sheet.room(&wanted.filter)).await?;
        self.render(sheet, from, &page.records, wanted).await
    }

    /// Puts of these events onto the sheet what is wanted and has room. `from` is the place that was asked for.
    async fn render(
        &mut self,
        sheet: &mut Sheet,
        from: u64,
        records: &[Record],
        wanted: &Wanted,
    ) -> Result<Filled, EventsError> {
        let mut filled = Filled { next: from, ended: false };
        let Some(first) = records.first() else { return Ok(filled) };
        let begins_behind = sequence_of(first).is_some_and(|sequence| sequence > from);
        if begins_behind && !self.fill_gap(sheet, &mut filled, wanted).await? {
            return Ok(filled);
        }
        for (record, hash) in records.iter().zip(Record::hashes(records)) {
            let sequence = filled.next;
            // Whoever follows goes on where the last event stands: one that is out of place would lead them astray.
            if sequence_of(record) != Some(sequence) {
                return Err(damaged(&self.run, seq(sequence)));
            }
            if record.payload.is_none() {
                self.beside.know_erasure(&self.store, &self.run, record, sequence).await?;
            }
            let erased = self.beside.erasure(sequence);
            let is_wanted = wanted.filter.is_all()
                || EnvelopeWriter::type_of(record, erased).is_some_and(|type_name| wanted.filter.takes(&type_name));
            let write = |out: &mut Vec<u8>| self.writer.write_hashed(out, record, hash, erased, wanted.view);
            if is_wanted && !sheet.put(write).ok_or_else(|| damaged(&self.run, seq(sequence)))? {
                break;
            }
            filled = Filled { next: sequence + 1, ended: place(record).is_some_and(|place| place.kind.is_terminal()) };
        }
        Ok(filled)
    }

    /// Puts the marker of the pruned events onto the sheet; false if it has no room.
    async fn fill_gap(&mut self, sheet: &mut Sheet, filled: &mut Filled, wanted: &Wanted) -> Result<bool, EventsError> {
        let Some(prune) = self.beside.know_prune(&self.store, &self.run, filled.next).await? else {
            return Err(damaged(&self.run, seq(filled.next)));
        };
        let write = |out: &mut Vec<u8>| Some(self.writer.write_pruned(out, prune));
        if wanted.filter.takes(Filter::PRUNED) && !sheet.put(write).unwrap_or(false) {
            return Ok(false);
        }
        filled.next = prune.through().get();
        Ok(true)
    }
}

/// What an event says that its sequence is; `None` if its header is damaged.
fn sequence_of(record: &Record) -> Option<u64> {
    place(record)?.seq.checked_sub(1)
}

/// How far one reading came.
struct Filled {
    next: u64,
    ended: bool,
}

/// The place in the log of an event that is served with this sequence.
fn seq(sequence: u64) -> Seq {
    Seq::new(sequence.saturating_add(1)).unwrap_or_else(|| {
        // No log has an event there: what is asked for is behind every end.
        Seq::new(Seq::MAX).unwrap_or(Seq::FIRST)
    })
}

fn damaged(run: &RunId, seq: Seq) -> EventsError {
    EventsError::Store(StoreError::Damaged {
        run: run.clone(),
        reason: format!("the event at seq {seq} cannot be read"),
    })
}

/// An event of this run has a header that cannot be read.
pub(crate) fn unreadable(run: &RunId) -> EventsError {
    let reason = "an event's header cannot be read".into();
    EventsError::Store(StoreError::Damaged { run: run.clone(), reason })
}

/// A run's events cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NoRun {
        /// Which.
        run: RunId,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
