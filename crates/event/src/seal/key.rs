//! Whose signatures over a log count, and over which logs.

use ed25519_dalek::VerifyingKey;

use crate::id::UnixNanos;

/// A key that someone knows, and what they know of it.
///
/// A signature does not say when it was made, only that it was not before the last event that it covers. So the
/// time of that event is what an end is compared with; a beginning cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealKey {
    /// The key.
    pub public: VerifyingKey,
    /// Whether it is meant for runs at all.
    pub for_runs: bool,
    /// The last moment at which it counts.
    pub not_after: Option<UnixNanos>,
    /// Whether it was taken back.
    pub revoked: Option<Revoked>,
}

/// What of a revoked key still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// Nothing: someone else may have it.
    Altogether,
    /// What is not later than this.
    After(UnixNanos),
}

/// Whether a signature counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Counts,
    /// Its key is meant for something else.
    WrongUse,
    /// Its key had run out.
    Expired,
    /// Its key was taken back.
    Revoked,
}

impl SealKey {
    /// How a signature over a log stands whose last event has this time. Where the time is not known, the key's
    /// end is not checked and any revocation counts.
    #[must_use]
    pub fn standing(&self, at: Option<UnixNanos>) -> Standing {
        let ended = |end: UnixNanos| at.is_some_and(|at| at > end);
        match self.revoked {
            _ if !self.for_runs => Standing::WrongUse,
            _ if self.not_after.is_some_and(ended) => Standing::Expired,
            Some(Revoked::Altogether) => Standing::Revoked,
            Some(Revoked::After(moment)) if at.is_none() || ended(moment) => Standing::Revoked,
            Some(Revoked::After(_)) | None => Standing::Counts,
        }
    }
}

/// A key of which nothing is known but that it counts.
impl From<VerifyingKey> for SealKey {
    fn from(public: VerifyingKey) -> Self {
        Self { public, for_runs: true, not_after: None, revoked: None }
    }
}
