//! The Merkle tree of v1 logs, exactly as Starling builds it.
//!
//! A leaf is an event hash as it is, a node is BLAKE3(left ‖ right), the last node of an odd level is
//! paired with itself. Without domain separation two different logs can share a root; this tree exists
//! to agree with logs that already have one. New logs use [`crate::merkle`].

use crate::id::Digest;

/// The tree of a growing v1 log in O(log n) memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Per level, from the leaves up, the node that still waits for its right neighbour.
    waiting: Vec<Option<Digest>>,
}

impl Tree {
    /// The waiting nodes per level, from the leaves up.
    #[must_use]
    pub fn levels(&self) -> &[Option<Digest>] {
        &self.waiting
    }

    /// The tree with these waiting nodes.
    #[must_use]
    pub const fn from_levels(waiting: Vec<Option<Digest>>) -> Self {
        Self { waiting }
    }

    /// Takes one more leaf: an event hash.
    pub fn push(&mut self, leaf: Digest) {
        let mut node = leaf;
        for level in &mut self.waiting {
            match level.take() {
                Some(left) => node = parent(&left, &node),
                None => {
                    *level = Some(node);
                    return;
                }
            }
        }
        self.waiting.push(Some(node));
    }

    /// The root over all leaves so far; 32 zero bytes over none.
    #[must_use]
    pub fn root(&self) -> Digest {
        let mut carried: Option<Digest> = None;
        for (level, waiting) in self.waiting.iter().enumerate() {
            let is_top = self.waiting[level + 1..].iter().all(Option::is_none);
            carried = match (*waiting, carried) {
                (Some(left), Some(right)) => Some(parent(&left, &right)),
                (Some(last), None) | (None, Some(last)) if !is_top => Some(parent(&last, &last)),
                (Some(root), None) => Some(root),
                (None, carried) => carried,
            };
        }
        carried.unwrap_or(Digest::new([0; 32]))
    }
}

fn parent(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(left.as_bytes());
    bytes[32..].copy_from_slice(right.as_bytes());
    Digest::blake3(&bytes)
}
