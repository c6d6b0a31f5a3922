//! Entries as they stand in their file: length, leaf hash, content.

use r1_event::Digest;
use r1_event::merkle::{Sha256, TreeHash as _};

/// Length and hash in front of an entry.
const HEAD: usize = 4 + 32;

/// The entries of a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) entries: Vec<Vec<u8>>,
    /// Their leaf hashes.
    pub(super) hashes: Vec<Digest>,
    /// Where the last whole one ends.
    pub(super) length: usize,
}

impl Records {
    /// Reads entries until the end, or until something is not a whole one: a piece of one that a crash left.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut records = Self::default();
        while let Some((entry, hash)) = bytes.get(records.length..).and_then(first) {
            records.length += HEAD + entry.len();
            records.entries.push(entry.to_vec());
            records.hashes.push(hash);
        }
        records
    }

    /// Where an entry is.
    pub(super) fn find(&self, entry: &[u8]) -> Option<usize> {
        let hash = Sha256::leaf(entry);
        self.hashes.iter().position(|known| *known == hash)
    }

    /// Adds an entry; gives what its file needs.
    pub(super) fn add(&mut self, entry: &[u8]) -> Vec<u8> {
        let hash = Sha256::leaf(entry);
        let length = u32::try_from(entry.len()).unwrap_or(u32::MAX).to_be_bytes();
        let record = [&length[..], hash.as_bytes(), entry].concat();
        self.length += record.len();
        self.entries.push(entry.to_vec());
        self.hashes.push(hash);
        record
    }
}

/// The first entry and its hash, if it is whole.
fn first(bytes: &[u8]) -> Option<(&[u8], Digest)> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let (length, hash) = head.split_first_chunk::<4>()?;
    let entry = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    let found = Sha256::leaf(entry);
    (found.as_bytes() == hash).then_some((entry, found))
}
