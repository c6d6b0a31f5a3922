//! Why memory was not read or written.

use r1_event::RunId;
use r1_store::{BlobError, StoreError};

use super::tier::Tier;
use super::value::{MAX_KEY, MAX_VALUE};
use crate::artifact::ArtifactError;
use crate::emit::WriterGone;

/// Why memory was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Identity is not changed while someone acts on it.
    #[error(
        "append_only_violation: L0 is not written during a run, and {run} goes on; operators change it between runs"
    )]
    AppendOnly {
        /// The run that goes on.
        run: RunId,
    },
    /// A key that none can have.
    #[error("a key has 1 to {MAX_KEY} bytes")]
    BadKey,
    /// What is known by content has no other key.
    #[error("in L3 the key follows from the value; leave it out, and give an alias instead")]
    KeyGiven,
    /// All other tiers need a key.
    #[error("{tier} needs a key")]
    NoKey {
        /// The tier.
        tier: Tier,
    },
    /// Only content has a second name.
    #[error("only L3 has aliases")]
    NoAliases,
    /// An alias that looks like a key.
    #[error("an alias does not begin with `sha256:`, which keys do")]
    BadAlias,
    /// Too long a value.
    #[error("a value has at most {limit} bytes here, and this one has {size}")]
    TooLarge {
        /// How long it is.
        size: u64,
        /// The most that there is room for.
        limit: u64,
    },
    /// Nothing is there.
    #[error("there is nothing under `{key}` in {tier}")]
    Missing {
        /// The tier.
        tier: Tier,
        /// The key.
        key: String,
    },
    /// The run has no writer here any more.
    #[error(transparent)]
    Writer(#[from] WriterGone),
    /// Content could not be stored.
    #[error("the value cannot be stored")]
    Blob(#[from] BlobError),
    /// Content could not be read.
    #[error("the value cannot be read")]
    Content(#[from] ArtifactError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a key can be one.
pub(crate) fn check_key(key: &str) -> Result<(), MemoryError> {
    if key.is_empty() || key.len() > MAX_KEY { Err(MemoryError::BadKey) } else { Ok(()) }
}

/// Whether there is room for a value of so many bytes.
pub(crate) const fn check_size(tier: Tier, size: usize) -> Result<(), MemoryError> {
    let limit = match tier {
        Tier::L2 => super::state::MAX_TOPICAL_BYTES,
        Tier::L0 | Tier::L1 | Tier::L3 => MAX_VALUE as u64,
    };
    if size as u64 > limit { Err(MemoryError::TooLarge { size: size as u64, limit }) } else { Ok(()) }
}
