//! BLAKE3 of many short inputs at once.
//!
//! A processor hashes the chunks of one long input side by side, but the blocks of a chunk have to wait for
//! each other. A log is made of events of a chunk or two. So here the chunks of several inputs are hashed side
//! by side, each in a lane of its own; only a last block that is not full is done by itself. Already two inputs
//! cost no more than one.

use std::ops::Range;

use blake3::platform::Platform;
use blake3::{BLOCK_LEN, CHUNK_LEN, IncrementCounter, OUT_LEN};

use crate::id::Digest;

/// Where every chunk starts from, and what marks its blocks: section 2.2 of BLAKE3's specification.
const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
const CHUNK_START: u8 = 1 << 0;
const CHUNK_END: u8 = 1 << 1;
const PARENT: u8 = 1 << 2;
const ROOT: u8 = 1 << 3;

/// Longer inputs fill the lanes with chunks of their own.
pub(crate) const MOST_BYTES: usize = 8 * CHUNK_LEN;

/// BLAKE3's state behind a block, as bytes: a chaining value, or in the end the hash.
type Value = [u8; OUT_LEN];

/// More lanes than any processor has.
const LANES: usize = 16;

/// [`full_blocks`] for some number of blocks.
type FullBlocks = fn(Platform, &[Chunk<'_>], Shape, &mut [Value]);

/// It for each number of blocks, from one.
const FULL_BLOCKS: [FullBlocks; CHUNK_LEN / BLOCK_LEN] = [
    full_blocks::<{ BLOCK_LEN }>,
    full_blocks::<{ 2 * BLOCK_LEN }>,
    full_blocks::<{ 3 * BLOCK_LEN }>,
    full_blocks::<{ 4 * BLOCK_LEN }>,
    full_blocks::<{ 5 * BLOCK_LEN }>,
    full_blocks::<{ 6 * BLOCK_LEN }>,
    full_blocks::<{ 7 * BLOCK_LEN }>,
    full_blocks::<{ 8 * BLOCK_LEN }>,
    full_blocks::<{ 9 * BLOCK_LEN }>,
    full_blocks::<{ 10 * BLOCK_LEN }>,
    full_blocks::<{ 11 * BLOCK_LEN }>,
    full_blocks::<{ 12 * BLOCK_LEN }>,
    full_blocks::<{ 13 * BLOCK_LEN }>,
    full_blocks::<{ 14 * BLOCK_LEN }>,
    full_blocks::<{ 15 * BLOCK_LEN }>,
    full_blocks::<{ 16 * BLOCK_LEN }>,
];

/// The hash of each input, in order.
///
/// Inputs of up to [`MOST_BYTES`] go side by side with others that have chunks of the same shape; longer ones
/// by themselves.
pub(crate) fn hash_many(inputs: &[&[u8]]) -> Vec<Digest> {
    let platform = Platform::detect();
    let mut chunks = Vec::with_capacity(inputs.len());
    let mut values = Vec::with_capacity(inputs.len());
    let mut trees = Vec::with_capacity(inputs.len());
    for input in inputs {
        let first = values.len();
        if input.len() > MOST_BYTES {
            values.push(*blake3::hash(input).as_bytes());
        } else {
            chunks.extend(Chunk::all(input, first));
            values.resize(first + input.len().div_ceil(CHUNK_LEN).max(1), [0; OUT_LEN]);
        }
        trees.push(first..values.len());
    }
    chunks.sort_unstable_by_key(|chunk| chunk.shape);
    for alike in chunks.chunk_by(|one, other| one.shape == other.shape) {
        for group in alike.chunks(LANES) {
            let mut hashed = [[0; OUT_LEN]; LANES];
            hash_chunks(platform, group, &mut hashed);
            group.iter().zip(hashed).for_each(|(chunk, value)| values[chunk.slot] = value);
        }
    }
    join(platform, &mut values, &mut trees);
    trees.iter().map(|tree| Digest::new(values[tree.start])).collect()
}

/// The hash of one input.
pub(crate) fn hash_one(input: &[u8]) -> Digest {
    if input.len() > CHUNK_LEN {
        return Digest::new(*blake3::hash(input).as_bytes());
    }
    let [hash] = only_chunks([Chunk::only(input)]);
    hash
}

/// The hashes of two inputs, in the time of one if they are alike.
pub(crate) fn hash_two(inputs: [&[u8]; 2]) -> [Digest; 2] {
    let [one, other] = inputs.map(Chunk::only);
    let are_short = inputs.iter().all(|input| input.len() <= CHUNK_LEN);
    if are_short && one.shape == other.shape { only_chunks([one, other]) } else { inputs.map(hash_one) }
}

/// The hashes of inputs that are a single chunk each, all of one shape.
fn only_chunks<const N: usize>(chunks: [Chunk<'_>; N]) -> [Digest; N] {
    let mut values = [[0; OUT_LEN]; N];
    hash_chunks(Platform::detect(), &chunks, &mut values);
    values.map(Digest::new)
}

/// A chunk of an input.
struct Chunk<'a> {
    bytes: &'a [u8],
    shape: Shape,
    /// Where its value belongs.
    slot: usize,
}

/// What chunks must have in common to go side by side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// How many chunks of the input come before it.
    counter: u64,
    full_blocks: usize,
    /// Whether a block that is not full ends it.
    has_rest: bool,
    /// [`ROOT`] for the only chunk of its input.
    root: u8,
}

impl<'a> Chunk<'a> {
    /// The chunks of `input`, whose values belong into slots from `first` on.
    fn all(input: &'a [u8], first: usize) -> impl Iterator<Item = Self> {
        let root = if input.len() > CHUNK_LEN { 0 } else { ROOT };
        // Nothing at all is a chunk too, of an empty block.
        let nothing = input.is_empty().then_some(input);
        let chunks = input.chunks(CHUNK_LEN).chain(nothing).zip(0_u64..).zip(first..);
        chunks.map(move |((bytes, counter), slot)| Self { slot, ..Self::new(bytes, counter, root) })
    }

    /// An input that is a single chunk.
    const fn only(input: &'a [u8]) -> Self {
        Self::new(input, 0, ROOT)
    }

    const fn new(bytes: &'a [u8], counter: u64, root: u8) -> Self {
        let (blocks, rest) = bytes.as_chunks::<BLOCK_LEN>();
        let has_rest = !rest.is_empty() || bytes.is_empty();
        Self { bytes, shape: Shape { counter, full_blocks: blocks.len(), has_rest, root }, slot: 0 }
    }
}

/// Makes the values of up to [`LANES`] chunks of one shape.
fn hash_chunks(platform: Platform, chunks: &[Chunk<'_>], values: &mut [Value]) {
    let Some(Chunk { shape, .. }) = chunks.first() else { return };
    if let Some(at) = shape.full_blocks.checked_sub(1) {
        FULL_BLOCKS[at](platform, chunks, *shape, values);
    }
    if shape.has_rest {
        for (chunk, value) in chunks.iter().zip(values) {
            let before = (shape.full_blocks > 0).then_some(*value);
            *value = rest(platform, before, chunk);
        }
    }
}

/// Makes the values of the chunks behind their first `N` bytes, which are their full blocks.
fn full_blocks<const N: usize>(platform: Platform, chunks: &[Chunk<'_>], shape: Shape, values: &mut [Value]) {
    let mut lanes = [&[0; N]; LANES];
    let firsts = chunks.iter().filter_map(|chunk| chunk.bytes.first_chunk());
    lanes.iter_mut().zip(firsts).for_each(|(lane, first)| *lane = first);
    let end = if shape.has_rest { 0 } else { CHUNK_END | shape.root };
    let (lanes, out) = (&lanes[..chunks.len()], values.as_flattened_mut());
    platform.hash_many(lanes, &IV, shape.counter, IncrementCounter::No, 0, CHUNK_START, end, out);
}

/// The value behind a chunk's last block, which is not full; `before` is the one behind the others.
fn rest(platform: Platform, before: Option<Value>, chunk: &Chunk<'_>) -> Value {
    let (_, rest) = chunk.bytes.as_chunks::<BLOCK_LEN>();
    let mut block = [0; BLOCK_LEN];
    block[..rest.len()].copy_from_slice(rest);
    let start = if before.is_none() { CHUNK_START } else { 0 };
    let flags = start | CHUNK_END | chunk.shape.root;
    let mut state =
        before.map_or(IV, |value| std::array::from_fn(|word| u32::from_le_bytes(value.as_chunks().0[word])));
    // Less than 64.
    let len = rest.len() as u8;
    platform.compress_in_place(&mut state, &block, len, chunk.shape.counter, flags);
    let mut value = [0; OUT_LEN];
    value.as_chunks_mut().0.iter_mut().zip(state).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    value
}

/// Joins the values of each tree, two neighbours at a time, until only its hash is left.
fn join(platform: Platform, values: &mut [Value], trees: &mut [Range<usize>]) {
    while trees.iter().any(|tree| tree.len() > 1) {
        for (is_root, flags) in [(false, PARENT), (true, PARENT | ROOT)] {
            let level = |tree: &&mut Range<usize>| tree.len() > 1 && (tree.len() == 2) == is_root;
            let pairs: Vec<&[u8; 2 * OUT_LEN]> = trees
                .iter_mut()
                .filter(level)
                .flat_map(|tree| values[tree.clone()].as_flattened().as_chunks().0)
                .collect();
            let mut joined = vec![[0; OUT_LEN]; pairs.len()];
            let out = joined.as_flattened_mut();
            platform.hash_many(&pairs, &IV, 0, IncrementCounter::No, flags, 0, 0, out);
            let mut joined = joined.into_iter();
            for tree in trees.iter_mut().filter(level) {
                let parents = joined.by_ref().take(tree.len() / 2);
                // One without a neighbour goes up as it is.
                let alone = (tree.len() % 2 == 1).then(|| values[tree.end - 1]);
                tree.end = tree.start + tree.len().div_ceil(2);
                values[tree.clone()].iter_mut().zip(parents.chain(alone)).for_each(|(value, joined)| *value = joined);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn agrees(inputs: &[&[u8]]) {
        let alone = |input: &&[u8]| Digest::new(*blake3::hash(input).as_bytes());
        let expected: Vec<Digest> = inputs.iter().map(alone).collect();
        assert_eq!(hash_many(inputs), expected);
        for (input, hash) in inputs.iter().zip(&expected) {
            assert_eq!(hash_one(input), *hash);
        }
        for (inputs, hashes) in inputs.windows(2).zip(expected.windows(2)) {
            assert_eq!(hash_two([inputs[0], inputs[1]]), hashes);
        }
    }

    #[test]
    fn inputs_of_every_length_have_the_hash_they_have_alone() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let inputs: Vec<&[u8]> = (0..=bytes.len()).map(|len| &bytes[..len]).collect();
        agrees(&inputs);
        inputs.iter().for_each(|input| agrees(&[input]));
    }

    #[test]
    fn groups_of_every_size_fill_the_lanes_rightly() {
        let inputs: Vec<Vec<u8>> = (0..40).map(|n| vec![n; 2100 - 50 * usize::from(n)]).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        (0..=inputs.len()).for_each(|count| agrees(&inputs[..count]));
    }

    proptest! {
        #[test]
        fn any_group_of_inputs_has_the_hashes_they_have_alone(inputs in vec(vec(any::<u8>(), 0..3000), 0..40)) {
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            agrees(&inputs);
        }
    }
}
