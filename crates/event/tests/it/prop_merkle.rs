//! Trees and proofs: against their definition in RFC 9162, against another library, and against forgery.

use std::collections::HashMap;
use std::ops::Range;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;
use r1_event::Digest;
use r1_event::merkle::proof::{ProofBuilder, verify_consistency, verify_inclusion};
use r1_event::merkle::{Blake3, Frontier, Sha256, TreeHash};
use r1_event::v1;

/// The sizes for which everything is tried.
const EXHAUSTIVE: u64 = 300;

/// The tree as RFC 9162 §2.1.1 defines it, by recursion; subtrees that were seen are remembered.
struct Definition<H> {
    leaves: Vec<Digest>,
    known: HashMap<(u64, u64), Digest>,
    hash: std::marker::PhantomData<H>,
}

impl<H: TreeHash> Definition<H> {
    fn new(size: u64) -> Self {
        let leaves = (0..size).map(|n| H::leaf(&n.to_be_bytes())).collect();
        Self { leaves, known: HashMap::new(), hash: std::marker::PhantomData }
    }

    fn leaf(&self, index: u64) -> Digest {
        self.leaves[usize::try_from(index).unwrap()]
    }

    fn root(&mut self, range: Range<u64>) -> Digest {
        let (start, size) = (range.start, range.end - range.start);
        match size {
            0 => return H::empty(),
            1 => return self.leaf(start),
            _ => {}
        }
        if let Some(root) = self.known.get(&(start, size)) {
            return *root;
        }
        let split = start + split(size);
        let root = H::node(&self.root(start..split), &self.root(split..range.end));
        self.known.insert((start, size), root);
        root
    }

    /// PATH of §2.1.3.1.
    fn inclusion(&mut self, index: u64, range: Range<u64>) -> Vec<Digest> {
        let size = range.end - range.start;
        if size == 1 {
            return Vec::new();
        }
        let split = range.start + split(size);
        let (mine, other) =
            if index < split { (range.start..split, split..range.end) } else { (split..range.end, range.start..split) };
        let mut proof = self.inclusion(index, mine);
        proof.push(self.root(other));
        proof
    }

    /// SUBPROOF of §2.1.4.1.
    fn consistency(&mut self, older: u64, range: Range<u64>, whole: bool) -> Vec<Digest> {
        if older == range.end {
            return if whole { Vec::new() } else { vec![self.root(range)] };
        }
        let split = range.start + split(range.end - range.start);
        let (mut proof, other) = if older <= split {
            (self.consistency(older, range.start..split, whole), split..range.end)
        } else {
            (self.consistency(older, split..range.end, false), range.start..split)
        };
        proof.push(self.root(other));
        proof
    }
}

/// The largest power of two below `size`.
fn split(size: u64) -> u64 {
    size.next_power_of_two() / 2
}

fn build<H: TreeHash>(mut builder: ProofBuilder<H>, leaves: &[Digest]) -> Vec<Digest> {
    leaves.iter().for_each(|leaf| builder.push(*leaf));
    builder.finish().unwrap()
}

fn every_root_is_the_definition_s<H: TreeHash>() {
    let mut tree = Definition::<H>::new(EXHAUSTIVE);
    let mut frontier = Frontier::<H>::default();
    assert_eq!(frontier.root(), H::empty());
    for size in 1..=EXHAUSTIVE {
        frontier.push(tree.leaf(size - 1));
        assert_eq!(frontier.root(), tree.root(0..size), "size {size}");
        let restored = Frontier::<H>::from_parts(size, frontier.peaks().to_vec()).unwrap();
        assert_eq!(restored.root(), frontier.root());
    }
}

fn every_inclusion_proof_verifies<H: TreeHash>() {
    let mut tree = Definition::<H>::new(EXHAUSTIVE);
    for size in 1..=EXHAUSTIVE {
        let root = tree.root(0..size);
        for index in 0..size {
            let proof = tree.inclusion(index, 0..size);
            assert!(verify_inclusion::<H>(tree.leaf(index), index, size, &proof, &root), "{index} of {size}");
        }
    }
}

fn every_consistency_proof_verifies<H: TreeHash>() {
    let mut tree = Definition::<H>::new(EXHAUSTIVE);
    for newer in 1..=EXHAUSTIVE {
        let newer_root = tree.root(0..newer);
        for older in 1..=newer {
            let (older_root, proof) = (tree.root(0..older), tree.consistency(older, 0..newer, true));
            assert!(verify_consistency::<H>(older, &older_root, newer, &newer_root, &proof), "{older} in {newer}");
        }
    }
}

#[test]
fn log_08_the_incremental_root_is_the_batch_root_for_all_sizes_to_300() {
    every_root_is_the_definition_s::<Blake3>();
    every_root_is_the_definition_s::<Sha256>();
}

#[test]
fn log_08_inclusion_proofs_verify_for_all_sizes_to_300() {
    every_inclusion_proof_verifies::<Blake3>();
    every_inclusion_proof_verifies::<Sha256>();
}

#[test]
fn log_08_consistency_proofs_verify_for_all_sizes_to_300() {
    every_consistency_proof_verifies::<Blake3>();
    every_consistency_proof_verifies::<Sha256>();
}

#[test]
fn log_08_inclusion_proofs_are_built_as_defined_for_all_sizes_to_300() {
    let mut tree = Definition::<Blake3>::new(EXHAUSTIVE);
    let leaves = tree.leaves.clone();
    for size in 1..=EXHAUSTIVE {
        for index in 0..size {
            let built = build(ProofBuilder::<Blake3>::inclusion(index, size).unwrap(), &leaves[..size as usize]);
            assert_eq!(built, tree.inclusion(index, 0..size), "{index} of {size}");
        }
    }
}

#[test]
fn log_08_consistency_proofs_are_built_as_defined_for_all_sizes_to_300() {
    let mut tree = Definition::<Blake3>::new(EXHAUSTIVE);
    let leaves = tree.leaves.clone();
    for newer in 1..=EXHAUSTIVE {
        for older in 1..=newer {
            let built = build(ProofBuilder::<Blake3>::consistency(older, newer).unwrap(), &leaves[..newer as usize]);
            assert_eq!(built, tree.consistency(older, 0..newer, true), "{older} in {newer}");
        }
    }
}

#[test]
fn log_08_proofs_that_cannot_exist_are_refused() {
    assert!(ProofBuilder::<Blake3>::inclusion(3, 3).is_err());
    assert!(ProofBuilder::<Blake3>::inclusion(0, 0).is_err());
    assert!(ProofBuilder::<Blake3>::consistency(0, 3).is_err());
    assert!(ProofBuilder::<Blake3>::consistency(4, 3).is_err());
    let unfinished = ProofBuilder::<Blake3>::inclusion(0, 2).unwrap();
    assert_eq!(unfinished.finish(), None, "a proof of leaves that were never seen");
}

#[test]
fn log_08_ct_merkle_gives_the_same_roots_and_proofs() {
    let mut tree = Definition::<Sha256>::new(EXHAUSTIVE);
    let mut theirs = MemoryBackedTree::<sha2::Sha256, Vec<u8>>::new();
    for size in 1..=70_u64 {
        theirs.push((size - 1).to_be_bytes().to_vec());
        assert_eq!(theirs.root().as_bytes().as_slice(), tree.root(0..size).as_bytes());
        for index in 0..size {
            let ours: Vec<u8> = tree.inclusion(index, 0..size).iter().flat_map(|node| *node.as_bytes()).collect();
            assert_eq!(theirs.prove_inclusion(index as usize).as_bytes(), ours, "{index} of {size}");
            let (older, added) = (index + 1, (size - index - 1) as usize);
            // ct-merkle leaves the case of nothing added open.
            if added > 0 {
                let ours: Vec<u8> =
                    tree.consistency(older, 0..size, true).iter().flat_map(|node| *node.as_bytes()).collect();
                assert_eq!(theirs.prove_consistency(added).as_bytes(), ours, "{older} in {size}");
            }
        }
    }
}

/// All ways to damage a list of hashes a little.
fn damaged(proof: &[Digest]) -> Vec<Vec<Digest>> {
    let mut all = vec![[proof, &[Blake3::leaf(b"one more")]].concat(), [&[Blake3::leaf(b"one more")], proof].concat()];
    for at in 0..proof.len() {
        let mut flipped = proof.to_vec();
        let mut bytes = *flipped[at].as_bytes();
        bytes[at % 32] ^= 1 << (at % 8);
        flipped[at] = Digest::new(bytes);
        all.push(flipped);
        all.push([&proof[..at], &proof[at + 1..]].concat());
        all.push([&proof[..=at], &proof[at..]].concat());
        if at > 0 {
            let mut swapped = proof.to_vec();
            swapped.swap(at - 1, at);
            all.push(swapped);
        }
    }
    all
}

#[test]
fn log_08_wrong_inclusion_proofs_fail() {
    let mut tree = Definition::<Blake3>::new(70);
    for size in 1..=70 {
        let root = tree.root(0..size);
        for index in 0..size {
            let (leaf, proof) = (tree.leaf(index), tree.inclusion(index, 0..size));
            for wrong in damaged(&proof) {
                assert!(!verify_inclusion::<Blake3>(leaf, index, size, &wrong, &root), "{index} of {size}");
            }
            assert!(!verify_inclusion::<Blake3>(Blake3::leaf(b"other"), index, size, &proof, &root));
            assert!(!verify_inclusion::<Blake3>(leaf, index, size, &proof, &leaf) || size == 1);
            assert!(!verify_inclusion::<Sha256>(leaf, index, size, &proof, &root) || size == 1);
            for other in (0..=size).filter(|other| *other != index) {
                assert!(!verify_inclusion::<Blake3>(leaf, other, size, &proof, &root), "{index} as {other} of {size}");
            }
        }
    }
}

#[test]
fn log_08_wrong_consistency_proofs_fail() {
    let mut tree = Definition::<Blake3>::new(70);
    for newer in 1..=70 {
        let newer_root = tree.root(0..newer);
        for older in 1..=newer {
            let (older_root, proof) = (tree.root(0..older), tree.consistency(older, 0..newer, true));
            for wrong in damaged(&proof) {
                assert!(
                    !verify_consistency::<Blake3>(older, &older_root, newer, &newer_root, &wrong),
                    "{older} in {newer}"
                );
            }
            let other = Blake3::leaf(b"other");
            assert!(!verify_consistency::<Blake3>(older, &other, newer, &newer_root, &proof));
            assert!(!verify_consistency::<Blake3>(older, &older_root, newer, &other, &proof));
            for size in (0..=newer + 1).filter(|size| *size != older) {
                let claimed = verify_consistency::<Blake3>(size, &older_root, newer, &newer_root, &proof);
                assert!(!claimed, "{older} as {size} in {newer}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn log_08_random_large_trees_prove_their_leaves_and_prefixes(
        size in 301_u64..20_000,
        index in any::<prop::sample::Index>(),
        older in any::<prop::sample::Index>(),
    ) {
        let (index, older) = (index.index(size as usize) as u64, older.index(size as usize) as u64 + 1);
        let leaves: Vec<Digest> = (0..size).map(|n| Blake3::leaf(&n.to_be_bytes())).collect();
        let root_of = |leaves: &[Digest]| {
            let mut frontier = Frontier::<Blake3>::default();
            leaves.iter().for_each(|leaf| frontier.push(*leaf));
            frontier.root()
        };
        let (root, older_root) = (root_of(&leaves), root_of(&leaves[..older as usize]));

        let proof = build(ProofBuilder::<Blake3>::inclusion(index, size).unwrap(), &leaves);
        prop_assert!(verify_inclusion::<Blake3>(leaves[index as usize], index, size, &proof, &root));
        let proof = build(ProofBuilder::<Blake3>::consistency(older, size).unwrap(), &leaves);
        prop_assert!(verify_consistency::<Blake3>(older, &older_root, size, &root, &proof));
        for wrong in damaged(&proof) {
            prop_assert!(!verify_consistency::<Blake3>(older, &older_root, size, &root, &wrong));
        }
    }

    /// Positions that no real log reaches, where shifts and sums could overflow.
    #[test]
    fn log_08_sizes_near_the_end_of_the_numbers_do_no_harm(
        index in any::<u64>(), size in prop_oneof![any::<u64>(), Just(u64::MAX)], hashes in 0_usize..70,
    ) {
        let leaf = Blake3::leaf(b"leaf");
        let proof = vec![leaf; hashes];
        prop_assert!(!verify_inclusion::<Blake3>(leaf, index, size.max(2), &proof, &leaf));
        prop_assert!(!verify_consistency::<Blake3>(index, &leaf, size, &leaf, &proof) || index == size);
    }
}

#[test]
fn the_tree_of_v1_logs_grows_as_starling_rebuilds_it() {
    /// Starling's way: pair up a whole level, the last node of an odd one with itself, until one is left.
    fn rebuilt(leaves: &[Digest]) -> Digest {
        let mut level = leaves.to_vec();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| {
                    let (left, right) = (pair[0], *pair.last().unwrap());
                    Digest::blake3(&[left.as_bytes().as_slice(), right.as_bytes()].concat())
                })
                .collect();
        }
        level.first().copied().unwrap_or(Digest::new([0; 32]))
    }

    let leaves: Vec<Digest> = (0..EXHAUSTIVE).map(|n| Digest::blake3(&n.to_be_bytes())).collect();
    let mut tree = v1::merkle::Tree::default();
    assert_eq!(tree.root(), rebuilt(&[]));
    for size in 1..=leaves.len() {
        tree.push(leaves[size - 1]);
        assert_eq!(tree.root(), rebuilt(&leaves[..size]), "size {size}");
        assert_eq!(v1::merkle::Tree::from_levels(tree.levels().to_vec()).root(), tree.root());
    }
}
