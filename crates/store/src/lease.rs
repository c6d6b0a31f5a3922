//! Who may write to a run.

use std::fmt;

use r1_event::{RunId, UnixNanos};

/// Counts the owners a run has had. A write with any token but the newest is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub u64);

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The right to write to a run, until someone else takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Who holds it.
    pub owner: String,
    /// What proves it.
    pub token: FencingToken,
    /// Until when nobody may take it over, by the store's clock.
    pub until: UnixNanos,
}
