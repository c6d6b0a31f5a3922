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

impl Lease {
    /// The lease that `owner` gets on `run` if `current` is how it stands.
    pub(crate) fn take(
        current: Option<&Self>,
        run: &RunId,
        owner: &str,
        ttl: Duration,
        now: UnixNanos,
    ) -> Result<Self, LeaseError> {
        match current {
            Some(held) if held.owner != owner && now < held.until => {
                Err(LeaseError::Held { run: run.clone(), owner: held.owner.clone() })
            }
            _ => Ok(Self {
                run: run.clone(),
                owner: owner.into(),
                token: FencingToken(current.map_or(FencingToken::NONE, |held| held.token).0 + 1),
                until: clock::after(now, ttl),
            }),
        }
    }

    /// This lease until `ttl` from now, unless `current` shows that it was taken over.
    pub(crate) fn extend(&self, current: Option<&Self>, ttl: Duration, now: UnixNanos) -> Result<Self, LeaseError> {
        let token = current.map_or(FencingToken::NONE, |held| held.token);
        if token == self.token {
            Ok(Self { until: clock::after(now, ttl), ..self.clone() })
        } else {
            Err(LeaseError::Lost { run: self.run.clone(), current: token })
        }
    }
}
