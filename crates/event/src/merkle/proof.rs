//! Inclusion and consistency proofs (RFC 9162 §2.1.3 and §2.1.4).
//!
//! A proof is a list of subtree roots. Which subtrees follows from the sizes alone, so a
//! [`ProofBuilder`] knows before the first leaf what to keep, and makes a proof of any log in one
//! pass and O(log² n) memory.

use std::ops::Range;

use super::{Frontier, TreeHash};
use crate::id::Digest;

/// Why no proof can exist for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The log is not that long.
    #[error("event {} is not among the first {size}", index.saturating_add(1))]
    NotInTree {
        /// Zero-based position asked for.
        index: u64,
        /// Size of the tree.
        size: u64,
    },
    /// A larger log cannot be a prefix of a smaller one.
    #[error("a log of {older} events cannot be a prefix of one of {newer}")]
    NotAPrefix {
        /// Size of the alleged prefix.
        older: u64,
        /// Size of the alleged extension.
        newer: u64,
    },
}

/// Gathers the hashes of a proof while the leaves of the log stream by.
#[derive(Clone, Debug)]
pub struct ProofBuilder<H> {
    parts: Vec<Part<H>>,
    size: u64,
    next: u64,
}

/// One subtree that the proof names.
#[derive(Clone, Debug)]
struct Part<H> {
    leaves: Range<u64>,
    tree: Frontier<H>,
}

impl<H: TreeHash> ProofBuilder<H> {
    /// A proof that the leaf at `index` (from 0) is in the tree of the first `size` leaves.
    pub fn inclusion(index: u64, size: u64) -> Result<Self, ProofError> {
        if index >= size {
            return Err(ProofError::NotInTree { index, size });
        }
        Ok(Self::over(size, inclusion_ranges(index, 0..size)))
    }

    /// A proof that the tree of the first `newer` leaves extends that of the first `older`.
    pub fn consistency(older: u64, newer: u64) -> Result<Self, ProofError> {
        if older == 0 || older > newer {
            return Err(ProofError::NotAPrefix { older, newer });
        }
        Ok(Self::over(newer, consistency_ranges(older, 0..newer)))
    }

    fn over(size: u64, ranges: Vec<Range<u64>>) -> Self {
        let parts = ranges.into_iter().map(|leaves| Part { leaves, tree: Frontier::default() }).collect();
        Self { parts, size, next: 0 }
    }

    /// Takes the next leaf's hash. Leaves beyond the tree's size are passed over.
    pub fn push(&mut self, leaf: Digest) {
        let at = self.next;
        self.next += 1;
        if let Some(part) = self.parts.iter_mut().find(|part| part.leaves.contains(&at)) {
            part.tree.push(leaf);
        }
    }

    /// Takes the next 2^`level` leaves at once by the root of their subtree, where the leaves themselves
    /// are gone. False if the proof would have to look inside that subtree: it cannot be made any more.
    #[must_use]
    pub fn push_subtree(&mut self, level: u32, root: Digest) -> bool {
        let leaves = self.next..self.next + (1 << level);
        self.next = leaves.end;
        let overlaps = |part: &&mut Part<H>| part.leaves.start < leaves.end && leaves.start < part.leaves.end;
        match self.parts.iter_mut().find(overlaps) {
            Some(part) if part.leaves.start <= leaves.start && leaves.end <= part.leaves.end => {
                part.tree.push_subtree(level, root);
                true
            }
            Some(_) => false,
            // A subtree that no part covers holds the very leaf the proof is about.
            None => leaves.start >= self.size,
        }
    }

    /// The proof, once all leaves of the tree were pushed; `None` before.
    #[must_use]
    pub fn finish(self) -> Option<Vec<Digest>> {
        (self.next >= self.size).then(|| self.parts.iter().map(|part| part.tree.root()).collect())
    }
}

/// Siblings on the path from a leaf to the root, lowest first.
fn inclusion_ranges(index: u64, tree: Range<u64>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut tree = tree;
    while tree.end - tree.start > 1 {
        let split = tree.start + left_size(tree.end - tree.start);
        let (mine, sibling) =
            if index < split { (tree.start..split, split..tree.end) } else { (split..tree.end, tree.start..split) };
        ranges.push(sibling);
        tree = mine;
    }
    ranges.reverse();
    ranges
}

/// SUBPROOF of RFC 9162 §2.1.4.1, lowest first.
fn consistency_ranges(older: u64, tree: Range<u64>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut tree = tree;
    let mut whole = true;
    while tree.end != older {
        let split = tree.start + left_size(tree.end - tree.start);
        if older <= split {
            ranges.push(split..tree.end);
            tree = tree.start..split;
        } else {
            ranges.push(tree.start..split);
            tree = split..tree.end;
            whole = false;
        }
    }
    if !whole {
        ranges.push(tree);
    }
    ranges.reverse();
    ranges
}

/// The largest power of two smaller than `size` (which is at least 2).
const fn left_size(size: u64) -> u64 {
    1 << (63 - (size - 1).leading_zeros())
}

/// Whether `proof` shows that `leaf` stands at `index` in the tree of `size` leaves with this `root`.
#[must_use]
pub fn verify_inclusion<H: TreeHash>(leaf: Digest, index: u64, size: u64, proof: &[Digest], root: &Digest) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last) = (index, size - 1);
    let mut node = leaf;
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            node = H::node(sibling, &node);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            node = H::node(&node, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && node == *root
}

/// Whether `proof` shows that the tree of `newer` leaves extends that of `older` leaves.
#[must_use]
pub fn verify_consistency<H: TreeHash>(
    older: u64,
    older_root: &Digest,
    newer: u64,
    newer_root: &Digest,
    proof: &[Digest],
) -> bool {
    if older == 0 || older > newer {
        return false;
    }
    if older == newer {
        return proof.is_empty() && older_root == newer_root;
    }
    // A perfect older tree is itself the first subtree, and is left out of the proof.
    let (first, rest) = if older.is_power_of_two() {
        (*older_root, proof)
    } else {
        let Some((first, rest)) = proof.split_first() else { return false };
        (*first, rest)
    };
    let skipped = (older - 1).trailing_ones();
    let (mut at, mut last) = ((older - 1) >> skipped, (newer - 1) >> skipped);
    let (mut old, mut new) = (first, first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            old = H::node(sibling, &old);
            new = H::node(sibling, &new);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            new = H::node(&new, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && old == *older_root && new == *newer_root
}
