//! A log's two trees: its own, and the same with SHA-256 for stock tools.

use r1_event::merkle::{Blake3, Frontier, Sha256, TreeHash};
use r1_event::side_record::Trees;
use r1_event::{Digest, Record};

/// A tree over a log's events.
pub(super) trait LogTree: TreeHash {
    /// The leaf of an event.
    fn leaf_of(record: &Record) -> Digest;
    /// What was kept of the tree over events that are gone.
    fn of_pruned(trees: &Trees) -> &Frontier<Self>;
}

impl LogTree for Blake3 {
    fn leaf_of(record: &Record) -> Digest {
        record.leaf()
    }

    fn of_pruned(trees: &Trees) -> &Frontier<Self> {
        trees.blake3()
    }
}

impl LogTree for Sha256 {
    fn leaf_of(record: &Record) -> Digest {
        record.leaf_sha256()
    }

    fn of_pruned(trees: &Trees) -> &Frontier<Self> {
        trees.sha256()
    }
}
