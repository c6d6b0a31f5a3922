//! Ids that the loop gives: the same log gives the same ids.

use r1_event::{RunId, Seq, UnixNanos};
use ulid::Ulid;

/// A ULID from a place in a log and a purpose. As unique as the run's own name: a run has each place once.
pub(super) fn ulid(run: &RunId, after: Seq, at: UnixNanos, purpose: &str) -> Ulid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(run.as_str().as_bytes());
    hasher.update(&after.get().to_le_bytes());
    hasher.update(purpose.as_bytes());
    let mut random = [0; 16];
    random[..10].copy_from_slice(&hasher.finalize().as_bytes()[..10]);
    Ulid::from_parts(u64::try_from(at.0 / 1_000_000).unwrap_or(0), u128::from_le_bytes(random))
}
