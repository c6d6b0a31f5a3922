//! Proofs that stand on their own: an event is in a log, a log extends an earlier state of itself.

mod file;
mod tlog;
mod tree;
mod verify;

pub use file::{Claim, EventBytes, ProofFile, SignatureFile};
use r1_event::merkle::proof::{ProofBuilder, ProofError as TreeError};
use r1_event::merkle::{Blake3, Frontier, Sha256};
use r1_event::seal::{SealKey, Standing};
use r1_event::side_record::Prune;
use r1_event::{Digest, KeyId, Record, RunId, Seq, UnixNanos, Version};
use r1_receipt::export::Inclusion;
use tree::LogTree;
pub use verify::{KeyStanding, Tree, Verification, VerifyError, root_at, verify};

use super::check::blocking;
use super::checkpoint::signatures_at;
use super::view;
use crate::keys::Keyring;
use crate::source::{Log, SourceError};

/// What to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// That this event is in the log.
    Inclusion(Seq),
    /// That the log extends its own first events.
    Consistency {
        /// How many first events.
        older: u64,
    },
}

/// Makes a proof over the first `size` events, or over all of them. It holds, or there is none.
pub async fn prove(
    log: Log,
    question: Question,
    size: Option<u64>,
    keyring: &Keyring,
) -> Result<ProofFile, ProveError> {
    let keys = keyring.seal_keys();
    let file = blocking(move || {
        let size = match size {
            Some(size) => size,
            None => Walk::length(&log)?,
        };
        let walk = Walk::over::<Blake3>(&log, question, size)?;
        let signatures = signatures_at(log.side_records(), size).filter(|seal| seal.statement.root == walk.root);
        let with_keys = signatures.map(|seal| (seal, keys.iter().find(|key| KeyId::of(&key.public) == seal.key_id)));
        // The first that readers who know as much as this keyring will heed, or else the first.
        let heeded = |key: &SealKey| key.standing(walk.time_of_last()) == Standing::Counts;
        let best = with_keys.min_by_key(|(_, key)| !key.is_some_and(heeded));
        let signature = best.map(|(seal, key)| SignatureFile::new(seal, key.map(|key| &key.public)));
        Ok::<_, ProveError>(walk.into_file(signature))
    })
    .await?;
    // Of a damaged log a proof can be made that does not hold: nobody is given one.
    verify(file.to_json().as_bytes(), keyring).map_err(ProveError::Unsound)?;
    Ok(file)
}

/// An event's place in the tree that stock tools of RFC 6962 check.
#[derive(Clone, Debug)]
pub struct StockProof {
    /// The run.
    pub run_id: String,
    /// What the tree's leaf is the hash of: the event's header, or in v1 logs its hash.
    pub leaf: Vec<u8>,
    /// The way from it to the root.
    pub inclusion: Inclusion,
}

/// Makes the proof of an event in the tree with SHA-256, over the first `size` events or over all of them.
pub async fn prove_for_stock_tools(log: Log, seq: Seq, size: Option<u64>) -> Result<StockProof, ProveError> {
    blocking(move || {
        let size = match size {
            Some(size) => size,
            None => Walk::length(&log)?,
        };
        let Walk { run_id, version, size, root, path, found } =
            Walk::over::<Sha256>(&log, Question::Inclusion(seq), size)?;
        let Found::Event(_, record) = found else { return Err(ProveError::Pruned) };
        let leaf = match version {
            Version::V2 => record.header.to_vec(),
            Version::V1 => record.hash().as_bytes().to_vec(),
        };
        Ok(StockProof { run_id, leaf, inclusion: Inclusion { index: seq.get() - 1, size, root, path } })
    })
    .await
}

/// One pass over a log.
struct Walk {
    run_id: String,
    version: Version,
    size: u64,
    root: Digest,
    path: Vec<Digest>,
    found: Found,
}

/// What a question was about.
enum Found {
    Event(Seq, Record),
    /// The root over so many first events.
    Older(u64, Digest),
}

impl Walk {
    /// How many events a log has, those that were pruned included.
    fn length(log: &Log) -> Result<u64, ProveError> {
        let mut size = Prune::furthest(log.side_records()).map_or(0, |prune| prune.through().get());
        for page in log.pages() {
            size += page?.len() as u64;
        }
        Ok(size)
    }

    fn over<H: LogTree>(log: &Log, question: Question, size: u64) -> Result<Self, ProveError> {
        let mut builder = match question {
            Question::Inclusion(seq) => ProofBuilder::<H>::inclusion(seq.get() - 1, size)?,
            Question::Consistency { older } => ProofBuilder::<H>::consistency(older, size)?,
        };
        let mut tree = Frontier::<H>::default();
        let mut older_root = None;
        let mut event: Option<Record> = None;
        let mut first: Option<(String, Version)> = None;
        if let Some(prune) = Prune::furthest(log.side_records()) {
            first = Some((prune.run_id.to_string(), Version::V2));
            tree = start_behind(prune, &mut builder)?;
            older_root = at_size(&tree, question);
        }
        'pages: for page in log.pages() {
            for record in page? {
                if tree.size() == size {
                    break 'pages;
                }
                let leaf = H::leaf_of(&record);
                builder.push(leaf);
                tree.push(leaf);
                older_root = older_root.or_else(|| at_size(&tree, question));
                if first.is_none() {
                    first = view::place(&record).zip(record.version()).map(|(place, version)| (place.run_id, version));
                }
                if matches!(question, Question::Inclusion(seq) if seq.get() == tree.size()) {
                    event = Some(record);
                }
            }
        }
        let path = builder.finish().filter(|_| tree.size() == size);
        let path = path.ok_or(ProveError::Short { events: tree.size(), size })?;
        let (run_id, version) = first.ok_or(ProveError::Short { events: 0, size })?;
        let found = match (question, event, older_root) {
            (Question::Inclusion(seq), Some(record), _) => Found::Event(seq, record),
            (Question::Consistency { older }, _, Some(root)) => Found::Older(older, root),
            (Question::Inclusion(_) | Question::Consistency { .. }, _, _) => return Err(ProveError::Pruned),
        };
        Ok(Self { run_id, version, size, root: tree.root(), path, found })
    }

    /// When the last event under the root happened, if the proof is about that event.
    fn time_of_last(&self) -> Option<UnixNanos> {
        match &self.found {
            Found::Event(seq, record) if seq.get() == self.size => view::place(record).map(|place| place.ts),
            Found::Event(..) | Found::Older(..) => None,
        }
    }

    fn into_file(self, signature: Option<SignatureFile>) -> ProofFile {
        let claim = match self.found {
            Found::Event(seq, record) => Claim::Inclusion { seq: seq.get(), event: EventBytes::of(&record) },
            Found::Older(older_size, root) => Claim::Consistency { older_size, older_root: root.to_string() },
        };
        ProofFile::new(self.run_id, self.version, self.size, self.root, &self.path, claim, signature)
    }
}

fn at_size<H: LogTree>(tree: &Frontier<H>, question: Question) -> Option<Digest> {
    matches!(question, Question::Consistency { older } if older == tree.size()).then(|| tree.root())
}

/// The tree of what was pruned, also handed to the proof.
fn start_behind<H: LogTree>(prune: &Prune, builder: &mut ProofBuilder<H>) -> Result<Frontier<H>, ProveError> {
    let tree = H::of_pruned(&prune.trees);
    let levels = (0..u64::BITS).rev().filter(|level| tree.size() >> level & 1 == 1);
    for (level, peak) in levels.zip(tree.peaks()) {
        if !builder.push_subtree(level, *peak) {
            return Err(ProveError::Pruned);
        }
    }
    Ok(tree.clone())
}

/// No proof could be made.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The question has no answer.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The log is not that long.
    #[error("the log has {events} events, not {size}")]
    Short {
        /// How many it has.
        events: u64,
        /// How many were asked for.
        size: u64,
    },
    /// The log is damaged.
    #[error("the log is damaged: a proof made of it would not hold")]
    Unsound(#[source] VerifyError),
    /// What the proof would need is gone.
    #[error("the events that this proof needs were pruned")]
    Pruned,
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What a proof is called when it is written to a file.
#[must_use]
pub fn file_name(run: &RunId, question: Question) -> String {
    let stem = super::export::safe_name(run.as_str());
    match question {
        Question::Inclusion(seq) => format!("{stem}.{seq}.proof.json"),
        Question::Consistency { older } => format!("{stem}.from-{older}.proof.json"),
    }
}

#[cfg(test)]
mod tests;
