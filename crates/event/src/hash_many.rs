//! BLAKE3 of many short inputs at once.
//!
//! A processor hashes the chunks of one long input side by side, but the blocks of a short one have to wait
//! for each other. A log is made of short ones. So here several inputs are hashed side by side, each in a
//! lane of its own; only the last block of each, which may be a short one, is done by itself.

use blake3::platform::Platform;
use blake3::{BLOCK_LEN, CHUNK_LEN, IncrementCounter};

use crate::id::Digest;

/// Where every chunk starts from, and what marks its blocks: section 2.2 of BLAKE3's specification.
const IV: State =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
const CHUNK_START: u8 = 1 << 0;
const CHUNK_END: u8 = 1 << 1;
const ROOT: u8 = 1 << 3;

/// Most blocks that come before the last one of a chunk.
const MOST_LEADING: usize = CHUNK_LEN / BLOCK_LEN - 1;

/// BLAKE3's state between two blocks.
type State = [u32; 8];

/// [`leading`] for some number of blocks.
type Leading = fn(Platform, &[&[u8]]) -> Vec<State>;

/// It for each number of blocks, from one.
const LEADING: [Leading; MOST_LEADING] = [
    leading::<{ BLOCK_LEN }>,
    leading::<{ 2 * BLOCK_LEN }>,
    leading::<{ 3 * BLOCK_LEN }>,
    leading::<{ 4 * BLOCK_LEN }>,
    leading::<{ 5 * BLOCK_LEN }>,
    leading::<{ 6 * BLOCK_LEN }>,
    leading::<{ 7 * BLOCK_LEN }>,
    leading::<{ 8 * BLOCK_LEN }>,
    leading::<{ 9 * BLOCK_LEN }>,
    leading::<{ 10 * BLOCK_LEN }>,
    leading::<{ 11 * BLOCK_LEN }>,
    leading::<{ 12 * BLOCK_LEN }>,
    leading::<{ 13 * BLOCK_LEN }>,
    leading::<{ 14 * BLOCK_LEN }>,
    leading::<{ 15 * BLOCK_LEN }>,
];

/// The hash of each input, in order.
///
/// Inputs of up to 1024 bytes go side by side with others of as many blocks; longer ones by themselves.
pub(crate) fn hash_many(inputs: &[&[u8]]) -> Vec<Digest> {
    let platform = Platform::detect();
    let mut hashes = vec![Digest::new([0; 32]); inputs.len()];
    let mut alike: [Vec<usize>; MOST_LEADING + 1] = Default::default();
    for (index, input) in inputs.iter().enumerate() {
        match alike.get_mut(input.len().saturating_sub(1) / BLOCK_LEN) {
            Some(indices) => indices.push(index),
            None => hashes[index] = Digest::blake3(input),
        }
    }
    for (blocks, indices) in alike.iter().enumerate().filter(|(_, indices)| !indices.is_empty()) {
        let group: Vec<&[u8]> = indices.iter().map(|index| inputs[*index]).collect();
        let states = match blocks.checked_sub(1) {
            Some(at) => LEADING[at](platform, &group),
            None => vec![IV; group.len()],
        };
        for ((index, input), state) in indices.iter().zip(&group).zip(states) {
            hashes[*index] = finish(platform, state, &input[blocks * BLOCK_LEN..], blocks == 0);
        }
    }
    hashes
}

/// The state of each input after its first `N` bytes, which are whole blocks but not all of them.
fn leading<const N: usize>(platform: Platform, inputs: &[&[u8]]) -> Vec<State> {
    let lanes: Vec<&[u8; N]> = inputs.iter().filter_map(|input| input.first_chunk()).collect();
    let mut states = vec![0; lanes.len() * blake3::OUT_LEN];
    platform.hash_many(&lanes, &IV, 0, IncrementCounter::No, 0, CHUNK_START, 0, &mut states);
    let (states, _) = states.as_chunks::<{ blake3::OUT_LEN }>();
    states.iter().map(|state| std::array::from_fn(|word| u32::from_le_bytes(state.as_chunks().0[word]))).collect()
}

/// Takes the last block, which makes the state the hash.
fn finish(platform: Platform, mut state: State, last: &[u8], is_first: bool) -> Digest {
    let mut block = [0; BLOCK_LEN];
    block[..last.len()].copy_from_slice(last);
    let flags = CHUNK_END | ROOT | if is_first { CHUNK_START } else { 0 };
    // At most 64.
    let len = last.len() as u8;
    platform.compress_in_place(&mut state, &block, len, 0, flags);
    let mut hash = [0; blake3::OUT_LEN];
    hash.as_chunks_mut().0.iter_mut().zip(state).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    Digest::new(hash)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn agrees(inputs: &[&[u8]]) {
        let one_by_one: Vec<Digest> = inputs.iter().map(|input| Digest::blake3(input)).collect();
        assert_eq!(hash_many(inputs), one_by_one);
    }

    #[test]
    fn inputs_of_every_length_have_the_hash_they_have_alone() {
        let bytes: Vec<u8> = (0..5_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let inputs: Vec<&[u8]> = (0..=bytes.len()).map(|len| &bytes[..len]).collect();
        agrees(&inputs);
        inputs.iter().for_each(|input| agrees(&[input]));
    }

    #[test]
    fn groups_of_every_size_fill_the_lanes_rightly() {
        let inputs: Vec<Vec<u8>> = (0..40).map(|n| vec![n; 1024 - usize::from(n)]).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        (0..=inputs.len()).for_each(|count| agrees(&inputs[..count]));
    }

    proptest! {
        #[test]
        fn any_group_of_inputs_has_the_hashes_they_have_alone(inputs in vec(vec(any::<u8>(), 0..1300), 0..60)) {
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            agrees(&inputs);
        }
    }
}
