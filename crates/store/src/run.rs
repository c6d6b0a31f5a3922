//! What a store tells about runs without reading their logs.

use r1_event::{Chain, Digest, Kind, RunId, Seq, UnixNanos, Version};

use crate::lease::Lease;

/// Where a run's log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The seq that the next event will have.
    pub next: Seq,
    /// Hash of the last event; `None` for an empty log.
    pub hash: Option<Digest>,
    /// How the run ended, if it has.
    pub terminal: Option<Kind>,
}

impl Head {
    /// The head of a log without events.
    pub const EMPTY: Self = Self { next: Seq::FIRST, hash: None, terminal: None };
}

impl From<&Chain> for Head {
    fn from(chain: &Chain) -> Self {
        Self { next: chain.next_seq(), hash: chain.head(), terminal: chain.terminal() }
    }
}

/// One run in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run_id: RunId,
    /// The format of its log.
    pub version: Version,
    /// Where its log stands.
    pub head: Head,
    /// Time of its first event.
    pub started_at: UnixNanos,
    /// Time of its last event so far.
    pub updated_at: UnixNanos,
    /// The last event that was pruned.
    pub pruned_through: Option<Seq>,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs whose id begins so.
    pub id_prefix: Option<String>,
    /// Only runs that have ended (true) or not (false).
    pub finished: Option<bool>,
    /// Only runs whose last event is older than this.
    pub updated_before: Option<UnixNanos>,
    /// Go on behind the run at which the page before ended.
    pub after: Option<RunPosition>,
    /// At most so many; 0 stands for 100.
    pub limit: usize,
}

/// A place in the listing, stable while runs are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPosition(pub u64);

/// A part of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// Where to go on, if there may be more.
    pub next: Option<RunPosition>,
}

/// A run that has not ended and that nobody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// Where to go on behind it.
    pub position: RunPosition,
    /// The run.
    pub summary: RunSummary,
    /// The lease that has run out; `None` if the last one was given back.
    pub lease: Option<Lease>,
}
