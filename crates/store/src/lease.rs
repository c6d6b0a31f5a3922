//! Who may write to a run.

use std::fmt;
use std::time::Duration;

use r1_event::{RunId, UnixNanos};

use crate::clock;
use crate::error::LeaseError;

/// Counts the owners a run has had. A write with any token but the newest is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub u64);

impl FencingToken {
    /// Of a run that nobody has held: no lease carries it.
    pub const NONE: Self = Self(0);
}

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

/// A lease that was just taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// The lease.
    pub lease: Lease,
    /// The one before, if its holder never gave it back: its time ran out, or this very owner takes it
    /// once more. What the holder was doing may be half done.
    pub previous: Option<Lease>,
}

impl Lease {
    /// Stands in place of a time once a lease was given back.
    const GIVEN_BACK: UnixNanos = UnixNanos(0);

    /// Whether nobody else may take it over yet.
    #[must_use]
    pub fn is_live_at(&self, now: UnixNanos) -> bool {
        now < self.until
    }

    /// This lease as its holder leaves it. The token stays, for tokens go on counting.
    pub(crate) fn give_back(&mut self) {
        self.until = Self::GIVEN_BACK;
    }

    /// This lease, unless it was given back.
    pub(crate) fn unless_given_back(self) -> Option<Self> {
        (self.until != Self::GIVEN_BACK).then_some(self)
    }

    /// The lease that `owner` gets on `run` if `current` is how it stands.
    pub(crate) fn take(
        current: Option<Self>,
        run: &RunId,
        owner: &str,
        ttl: Duration,
        now: UnixNanos,
    ) -> Result<Acquired, LeaseError> {
        match current {
            Some(held) if held.owner != owner && held.is_live_at(now) => {
                Err(LeaseError::Held { run: run.clone(), owner: held.owner })
            }
            _ => {
                let token = current.as_ref().map_or(FencingToken::NONE, |held| held.token);
                let token = FencingToken(token.0 + 1);
                let lease = Self { run: run.clone(), owner: owner.into(), token, until: clock::after(now, ttl) };
                Ok(Acquired { lease, previous: current.and_then(Self::unless_given_back) })
            }
        }
    }

    /// This lease until `ttl` from now, unless `current` shows that it was taken over or given back.
    pub(crate) fn extend(&self, current: Option<&Self>, ttl: Duration, now: UnixNanos) -> Result<Self, LeaseError> {
        let token = current.map_or(FencingToken::NONE, |held| held.token);
        if token == self.token && current.is_some_and(|held| held.until != Self::GIVEN_BACK) {
            Ok(Self { until: clock::after(now, ttl), ..self.clone() })
        } else {
            Err(LeaseError::Lost { run: self.run.clone(), current: token })
        }
    }
}
