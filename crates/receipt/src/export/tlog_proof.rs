//! That something is in a log, as C2SP's tlog-proof says it.

use std::fmt::Write as _;

use r1_event::Digest;

use super::base64;

/// Where a leaf is in a tree of SHA-256, and the way from it to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// The leaf's place, counted from 0.
    pub index: u64,
    /// How many leaves the tree has.
    pub size: u64,
    /// The tree's root.
    pub root: Digest,
    /// The hashes beside the way, from the leaf up.
    pub path: Vec<Digest>,
}

/// The proof as a text: the leaf's bytes, its place, the way up, and the signed checkpoint of the root.
#[must_use]
pub fn tlog_proof(leaf: &[u8], inclusion: &Inclusion, checkpoint: &str) -> String {
    let mut text = format!("c2sp.org/tlog-proof@v1\nextra {}\nindex {}\n", base64(leaf), inclusion.index);
    for hash in &inclusion.path {
        // Into memory: there is nothing that could fail.
        let _ = writeln!(text, "{}", base64(hash.as_bytes()));
    }
    text.push('\n');
    text.push_str(checkpoint);
    text
}
