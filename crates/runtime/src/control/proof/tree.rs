//! A log's two trees: its own, and the same with SHA-256 for stock tools.

use r1_event::merkle::{Blake3, Sha256, TreeHash};
use r1_event::side_record::Prune;
use r1_event::{Digest, Record};

/// A tree over a log's events.
pub(super) trait LogTree: TreeHash {
    /// The leaf of an event.
    fn leaf_of(record: &Record) -> Digest;
    /// What was kept of the tree over events that are gone.
    fn peaks_of(prune: &Prune) -> &[Digest];
}

impl LogTree for Blake3 {
    fn leaf_of(record: &Record) -> Digest {
        record.leaf()
    }

    fn peaks_of(prune: &Prune) -> &[Digest] {
        &prune.peaks
    }
}

impl LogTree for Sha256 {
    fn leaf_of(record: &Record) -> Digest {
        record.leaf_sha256()
    }

    fn peaks_of(prune: &Prune) -> &[Digest] {
        &prune.peaks_sha256
    }
}
