//! That something is in a log, as C2SP's tlog-proof says it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::Digest;

use super::base64;

/// The line that every proof begins with.
pub const TLOG_PROOF_START: &str = "c2sp.org/tlog-proof@v1\n";

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
    TlogProof { leaf: leaf.to_vec(), index: inclusion.index, path: inclusion.path.clone(), checkpoint }.to_text()
}

/// What a proof says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogProof<'a> {
    /// The leaf's bytes.
    pub leaf: Vec<u8>,
    /// Its place, counted from 0.
    pub index: u64,
    /// The hashes beside the way, from the leaf up.
    pub path: Vec<Digest>,
    /// The note with the size and root of the log.
    pub checkpoint: &'a str,
}

impl<'a> TlogProof<'a> {
    /// Reads a proof of the one form that [`tlog_proof`] writes.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.strip_prefix(TLOG_PROOF_START)?.lines();
        let leaf = STANDARD.decode(lines.next()?.strip_prefix("extra ")?).ok()?;
        let index = lines.next()?.strip_prefix("index ")?.parse().ok()?;
        let hash = |line| STANDARD.decode(line).ok().and_then(|bytes| Digest::from_slice(&bytes));
        let path = lines.map(hash).collect::<Option<_>>()?;
        // One spelling only.
        Some(Self { leaf, index, path, checkpoint }).filter(|proof| proof.to_text() == text)
    }

    fn to_text(&self) -> String {
        let mut text = format!("{TLOG_PROOF_START}extra {}\nindex {}\n", base64(&self.leaf), self.index);
        for hash in &self.path {
            // Into memory: there is nothing that could fail.
            let _ = writeln!(text, "{}", base64(hash.as_bytes()));
        }
        text.push('\n');
        text.push_str(self.checkpoint);
        text
    }
}
