//! Events of all runs in one line.

use r1_event::{Record, RunId};

/// A place in the feed. Opaque: only a store can say what comes after it.
///
/// Two numbers, because on PostgreSQL an event becomes visible in the order of transactions, not of
/// positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor {
    /// Transaction, where positions alone do not tell; otherwise 0.
    pub epoch: u64,
    /// Position.
    pub position: u64,
}

impl FeedCursor {
    /// Before everything.
    pub const START: Self = Self { epoch: 0, position: 0 };
}

/// One event of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// Go on after this to get the next one.
    pub cursor: FeedCursor,
    /// The run.
    pub run: RunId,
    /// The event.
    pub record: Record,
}

/// A part of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// The events.
    pub items: Vec<FeedItem>,
    /// Where to go on; moves forward even if `items` is empty.
    pub next: FeedCursor,
}
