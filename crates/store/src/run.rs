//! What a store tells about runs without reading their logs.

use r1_event::id::{InvalidRunId, to_hex};
use r1_event::{Chain, Digest, Kind, RunId, Seq, UnixNanos, Version};

use crate::error::StoreError;
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
    /// The entries, newest first.
    pub entries: Vec<Listed>,
    /// Where to go on, if there may be more.
    pub next: Option<RunPosition>,
}

/// One entry of a listing. Whoever lists runs decides what becomes of those that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A run.
    Run(RunSummary),
    /// What can no longer be read as one.
    Damaged(DamagedRun),
}

impl Listed {
    /// The run, for whoever works on runs and leaves it to others to tell of damage.
    #[must_use]
    pub fn sound(self) -> Option<RunSummary> {
        match self {
            Self::Run(summary) => Some(summary),
            Self::Damaged(_) => None,
        }
    }
}

/// An entry that someone changed so that it no longer tells which run it is, or in which format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRun {
    /// Its place in the listing.
    pub position: RunPosition,
    /// What stands where its id should: text as it is, other bytes in hex behind `0x`; nothing if there is nothing.
    pub id: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Why an entry cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("its run id cannot be one: {reason}")]
    Id { reason: String },
    #[error("its format {found} is unknown")]
    Format { found: i64 },
    #[error("`{column}` holds something else than what was written there")]
    Column { column: &'static str },
    #[error("its last event cannot be read: {reason}")]
    LastEvent { reason: String },
}

impl Unreadable {
    pub(crate) fn listed(&self, position: RunPosition, id: &[u8]) -> DamagedRun {
        let id = str::from_utf8(id).map_or_else(|_| format!("0x{}", to_hex(id)), Into::into);
        DamagedRun { position, id, reason: self.to_string() }
    }

    pub(crate) fn of(&self, run: &RunId) -> StoreError {
        StoreError::Damaged { run: run.clone(), reason: self.to_string() }
    }
}

/// The run id that stands in an entry.
pub(crate) fn stored_id(bytes: &[u8]) -> Result<RunId, Unreadable> {
    let text = str::from_utf8(bytes).map_err(|_| Unreadable::Id { reason: "it is not UTF-8".into() })?;
    text.parse().map_err(|err: InvalidRunId| Unreadable::Id { reason: err.to_string() })
}

/// The format whose number stands in an entry.
pub(crate) const fn stored_version(number: i64) -> Result<Version, Unreadable> {
    match number {
        1 => Ok(Version::V1),
        2 => Ok(Version::V2),
        found => Err(Unreadable::Format { found }),
    }
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
