//! Events as they go out, one under the other.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use r1_event::Record;
use r1_protocol::Written;
use r1_store::PageLimit;

use super::Filter;

/// About as many bytes are around an event's data.
const ENVELOPE: usize = 400;

/// One event as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Its place in the run.
    pub sequence: u64,
    /// Its type, by R1's own name.
    pub type_name: Cow<'static, str>,
    /// Whether it ends the run.
    pub terminal: bool,
    /// The envelope.
    pub bytes: Bytes,
}

/// Events written one under the other, up to a limit.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Each envelope and a newline.
    out: Vec<u8>,
    items: Vec<Item>,
    room: usize,
    max_bytes: usize,
    free_first: bool,
}

/// One event on a sheet.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its place in the run.
    pub sequence: u64,
    /// Its type, by R1's own name.
    pub type_name: Cow<'static, str>,
    /// Whether it ends the run.
    pub terminal: bool,
    range: Range<usize>,
}

impl Sheet {
    /// An empty sheet for so many events and bytes; one event always has room.
    #[must_use]
    pub const fn new(events: usize, bytes: usize) -> Self {
        Self { out: Vec::new(), items: Vec::new(), room: events, max_bytes: bytes, free_first: false }
    }

    /// An empty sheet for all of these events: a buffer that grows would be copied again and again.
    pub(super) fn for_all(records: &[Record]) -> Self {
        let stored: usize = records.iter().map(|record| record.payload.as_ref().map_or(0, Bytes::len)).sum();
        Self {
            out: Vec::with_capacity(stored * 2 + records.len() * ENVELOPE),
            items: Vec::with_capacity(records.len()),
            ..Self::new(usize::MAX, usize::MAX)
        }
    }

    /// The events.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The envelope of one of the events.
    #[must_use]
    pub fn envelope(&self, item: &Item) -> &[u8] {
        &self.out[item.range.clone()]
    }

    /// All envelopes, each with a newline behind it.
    #[must_use]
    pub fn into_lines(self) -> Vec<u8> {
        self.out
    }

    /// The events one by one, in shared bytes.
    pub fn into_rendered(self) -> impl Iterator<Item = Rendered> {
        let bytes = Bytes::from(self.out);
        self.items.into_iter().map(move |Item { sequence, type_name, terminal, range }| Rendered {
            sequence,
            type_name,
            terminal,
            bytes: bytes.slice(range),
        })
    }

    /// Whether nothing more has room.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        !self.items.is_empty() && (self.room == 0 || self.out.len() >= self.max_bytes)
    }

    /// Event 0 takes no room.
    pub(super) const fn do_not_count_the_first(&mut self) {
        self.free_first = true;
    }

    /// How much to read for what is left. A filter lets only some pass, so more is read.
    pub(super) fn room(&self, filter: &Filter) -> PageLimit {
        let wanted = self.room + usize::from(self.free_first);
        PageLimit {
            events: if filter.is_all() { wanted.max(1) } else { PageLimit::BULK.events },
            bytes: self.max_bytes.saturating_sub(self.out.len()).min(PageLimit::BULK.bytes),
        }
    }

    /// Puts the event that `write` writes onto the sheet; false if it has no room, `None` if it could not
    /// be written.
    pub(crate) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<Written>) -> Option<bool> {
        if self.is_full() {
            return Some(false);
        }
        let start = self.out.len();
        let Written { sequence, type_name, terminal } = write(&mut self.out)?;
        let range = start..self.out.len();
        if !self.items.is_empty() && self.out.len() > self.max_bytes {
            self.out.truncate(start);
            // What it has is all there is room for.
            self.room = 0;
            return Some(false);
        }
        self.out.push(b'\n');
        self.items.push(Item { sequence, type_name, terminal, range });
        if !(self.free_first && sequence == 0) {
            self.room = self.room.saturating_sub(1);
        }
        Some(true)
    }
}
