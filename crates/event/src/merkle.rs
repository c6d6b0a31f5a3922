//! The Merkle tree of v2 logs: the shape of RFC 9162 §2.1, generic over the hash.
//!
//! A [`Frontier`] is the tree of a growing log in O(log n) memory: it takes leaves and gives the root
//! of what it took. [`proof`] makes and checks proofs that an event is in a log, and that one log
//! extends another. Unlike the tree of v1 logs ([`crate::v1::merkle`]) leaves and nodes are hashed
//! under different prefixes, so no two logs share a root.

pub mod proof;

use std::marker::PhantomData;

use sha2::Digest as _;

use crate::hash_many::{hash_many, hash_two};
use crate::id::{Digest, Seq};

/// A hash to build the tree with.
pub trait TreeHash: Clone {
    /// Hash of the empty tree.
    fn empty() -> Digest;
    /// H(0x00 ‖ data).
    fn leaf(data: &[u8]) -> Digest;
    /// [`Self::leaf`] of each.
    fn leaves(data: &[&[u8]]) -> Vec<Digest> {
        data.iter().map(|data| Self::leaf(data)).collect()
    }
    /// H(0x01 ‖ left ‖ right).
    fn node(left: &Digest, right: &Digest) -> Digest;
}

/// The log's own hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blake3;

impl Blake3 {
    /// BLAKE3 of `data`, and its leaf, in the time of one of them.
    pub(crate) fn hash_and_leaf(data: &[u8]) -> [Digest; 2] {
        with_leaf_prefix(data, |prefixed| hash_two([data, prefixed]))
    }
}

/// What `hash` makes of 0x00 ‖ `data`.
fn with_leaf_prefix<T>(data: &[u8], hash: impl FnOnce(&[u8]) -> T) -> T {
    // One contiguous input is a good deal faster than feeding a hasher twice; headers fit the buffer.
    let mut buffer = [0; 256];
    match buffer.get_mut(1..=data.len()) {
        Some(space) => {
            space.copy_from_slice(data);
            hash(&buffer[..=data.len()])
        }
        None => hash(&[&[0], data].concat()),
    }
}

impl TreeHash for Blake3 {
    fn empty() -> Digest {
        Digest::blake3(&[])
    }

    fn leaf(data: &[u8]) -> Digest {
        with_leaf_prefix(data, Digest::blake3)
    }

    /// Several at once.
    fn leaves(data: &[&[u8]]) -> Vec<Digest> {
        let sizes = data.iter().map(|data| 1 + data.len());
        let mut prefixed = Vec::with_capacity(sizes.clone().sum());
        for data in data {
            prefixed.push(0);
            prefixed.extend_from_slice(data);
        }
        let mut rest = &prefixed[..];
        let mut next = |size| {
            let (input, behind) = rest.split_at(size);
            rest = behind;
            input
        };
        let inputs: Vec<&[u8]> = sizes.map(&mut next).collect();
        hash_many(&inputs)
    }

    fn node(left: &Digest, right: &Digest) -> Digest {
        Digest::blake3(&node_bytes(left, right))
    }
}

/// The hash of stock RFC 6962 tools, for receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256;

impl TreeHash for Sha256 {
    fn empty() -> Digest {
        Digest::new(sha2::Sha256::digest([]).into())
    }

    fn leaf(data: &[u8]) -> Digest {
        Digest::new(sha2::Sha256::new().chain_update([0]).chain_update(data).finalize().into())
    }

    fn node(left: &Digest, right: &Digest) -> Digest {
        Digest::new(sha2::Sha256::digest(node_bytes(left, right)).into())
    }
}

fn node_bytes(left: &Digest, right: &Digest) -> [u8; 65] {
    let mut bytes = [1; 65];
    bytes[1..33].copy_from_slice(left.as_bytes());
    bytes[33..].copy_from_slice(right.as_bytes());
    bytes
}

/// The roots of the perfect subtrees that a log of this size decomposes into, largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier<H> {
    size: u64,
    peaks: Vec<Digest>,
    hash: PhantomData<H>,
}

impl<H: TreeHash> Default for Frontier<H> {
    fn default() -> Self {
        Self { size: 0, peaks: Vec::new(), hash: PhantomData }
    }
}

impl<H: TreeHash> Frontier<H> {
    /// The frontier of `size` leaves with these `peaks`; `None` if their number does not fit the size, or
    /// if no log is that long.
    #[must_use]
    pub fn from_parts(size: u64, peaks: Vec<Digest>) -> Option<Self> {
        (size <= Seq::MAX && peaks.len() == size.count_ones() as usize).then_some(Self {
            size,
            peaks,
            hash: PhantomData,
        })
    }

    /// How many leaves were taken.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The subtree roots, largest first.
    #[must_use]
    pub fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    /// Takes one more leaf by its hash ([`TreeHash::leaf`]).
    pub fn push(&mut self, leaf: Digest) {
        self.push_subtree(0, leaf);
    }

    /// Takes 2^`level` leaves at once by the root of their subtree.
    ///
    /// The size so far must be a multiple of 2^`level`; otherwise the result is no tree of these leaves.
    pub fn push_subtree(&mut self, level: u32, root: Digest) {
        debug_assert!(self.size.trailing_zeros() >= level, "subtrees start at multiples of their size");
        let mut node = root;
        // Each trailing one-bit of size >> level is a finished neighbour of the same height.
        for _ in 0..(self.size >> level).trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = H::node(&left, &node);
            }
        }
        self.peaks.push(node);
        self.size += 1 << level;
    }

    /// The root over all leaves taken so far.
    #[must_use]
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else { return H::empty() };
        peaks.fold(*last, |right, left| H::node(left, &right))
    }
}
