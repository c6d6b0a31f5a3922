//! Ids that the loop gives: the same log gives the same ids.

use r1_event::{Digest, UnixNanos};
use ulid::Ulid;

/// A ULID from a place in a log and a purpose. As unique as the hash of the event before it, which no
/// other log has.
pub(super) fn ulid(head: Digest, at: UnixNanos, purpose: &str) -> Ulid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head.as_bytes());
    hasher.update(purpose.as_bytes());
    let mut random = [0; 16];
    random[..10].copy_from_slice(&hasher.finalize().as_bytes()[..10]);
    Ulid::from_parts(u64::try_from(at.0 / 1_000_000).unwrap_or(0), u128::from_le_bytes(random))
}
