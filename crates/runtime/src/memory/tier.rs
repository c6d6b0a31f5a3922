//! The four tiers.

use std::fmt;
use std::str::FromStr;

use r1_protocol::data::MemoryTier;

/// What a memory is good for, and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Who the agent is in a workspace: for ever, and only read while a run goes on.
    L0,
    /// What matters to a task, as long as it lasts.
    L1,
    /// What a phase of a task works with; forgotten when the next one begins.
    L2,
    /// What a workspace knows, by content, across tasks.
    L3,
}

impl Tier {
    /// All four.
    pub const ALL: [Self; 4] = [Self::L0, Self::L1, Self::L2, Self::L3];

    /// As events name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }

    /// The store that belongs to it: events name both, always in this pair.
    #[must_use]
    pub const fn store(self) -> &'static str {
        match self {
            Self::L0 => "working",
            Self::L1 => "episodic",
            Self::L2 => "semantic",
            Self::L3 => "procedural",
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::L0 => "identity",
            Self::L1 => "critical",
            Self::L2 => "topical",
            Self::L3 => "semantic",
        }
    }

    /// Whether it belongs to a workspace, and not to a task of it.
    #[must_use]
    pub const fn outlives_tasks(self) -> bool {
        match self {
            Self::L0 | Self::L3 => true,
            Self::L1 | Self::L2 => false,
        }
    }

    /// The tier of an event; `None` if its store is that of another one.
    #[must_use]
    pub fn of(tier: &MemoryTier, store: &str) -> Option<Self> {
        tier.as_str().parse().ok().filter(|tier: &Self| tier.store() == store)
    }
}

impl From<Tier> for MemoryTier {
    fn from(tier: Tier) -> Self {
        tier.word().into()
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    /// Reads `L0` to `L3`.
    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        Self::ALL.into_iter().find(|tier| tier.word() == text).ok_or_else(|| UnknownTier(text.to_owned()))
    }
}

/// A tier that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of L0, L1, L2, L3")]
pub struct UnknownTier(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_and_its_store_are_one_pair() {
        let pairs = Tier::ALL.map(|tier| (tier.word(), tier.store()));
        assert_eq!(pairs, [("L0", "working"), ("L1", "episodic"), ("L2", "semantic"), ("L3", "procedural")]);
        for tier in Tier::ALL {
            for other in Tier::ALL {
                assert_eq!(Tier::of(&tier.into(), other.store()), (tier == other).then_some(tier));
            }
        }
    }
}
