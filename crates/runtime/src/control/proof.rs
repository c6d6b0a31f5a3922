//! Proofs that stand on their own: an event is in a log, a log extends an earlier state of itself.

mod file;
mod verify;

pub use file::{Claim, EventBytes, ProofFile, SignatureFile};
use r1_event::merkle::proof::{ProofBuilder, ProofError as TreeError};
use r1_event::merkle::{Blake3, Frontier};
use r1_event::side_record::Prune;
use r1_event::{Digest, KeyId, Record, RunId, Seq, SideRecord, Version};
pub use verify::{Verification, VerifyError, root_at, verify};

use super::check::blocking;
use super::checkpoint::signature_at;
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

/// Makes a proof over the first `size` events, or over all of them.
pub async fn prove(
    log: Log,
    question: Question,
    size: Option<u64>,
    keyring: &Keyring,
) -> Result<ProofFile, ProveError> {
    let keys = keyring.public_keys();
    blocking(move || {
        let size = match size {
            Some(size) => size,
            None => Walk::length(&log)?,
        };
        let walk = Walk::over(&log, question, size)?;
        let signature = signature_at(log.side_records(), size).filter(|seal| seal.statement.root == walk.root);
        let public = |id: &KeyId| keys.iter().find(|key| KeyId::of(key) == *id);
        Ok(walk.into_file(signature.map(|seal| SignatureFile::new(seal, public(&seal.key_id)))))
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
    claim: Claim,
}

impl Walk {
    /// How many events a log has, those that were pruned included.
    fn length(log: &Log) -> Result<u64, ProveError> {
        let mut size = pruned(log.side_records()).map_or(0, |prune| prune.through.get());
        for page in log.pages() {
            size += page?.len() as u64;
        }
        Ok(size)
    }

    fn over(log: &Log, question: Question, size: u64) -> Result<Self, ProveError> {
        let mut builder = match question {
            Question::Inclusion(seq) => ProofBuilder::<Blake3>::inclusion(seq.get() - 1, size)?,
            Question::Consistency { older } => ProofBuilder::<Blake3>::consistency(older, size)?,
        };
        let mut tree = Frontier::<Blake3>::default();
        let mut older_root = None;
        let mut event: Option<Record> = None;
        let mut first: Option<(String, Version)> = None;
        if let Some(prune) = pruned(log.side_records()) {
            first = Some((prune.run_id.to_string(), prune.version));
            tree = start_behind(prune, &mut builder)?;
            older_root = at_size(&tree, question);
        }
        'pages: for page in log.pages() {
            for record in page? {
                if tree.size() == size {
                    break 'pages;
                }
                let leaf = record.leaf();
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
        let claim = match (question, event, older_root) {
            (Question::Inclusion(seq), Some(record), _) => {
                Claim::Inclusion { seq: seq.get(), event: EventBytes::of(&record) }
            }
            (Question::Consistency { older }, _, Some(root)) => {
                Claim::Consistency { older_size: older, older_root: root.to_string() }
            }
            (Question::Inclusion(_) | Question::Consistency { .. }, _, _) => return Err(ProveError::Pruned),
        };
        Ok(Self { run_id, version, size, root: tree.root(), path, claim })
    }

    fn into_file(self, signature: Option<SignatureFile>) -> ProofFile {
        ProofFile::new(self.run_id, self.version, self.size, self.root, &self.path, self.claim, signature)
    }
}

fn at_size(tree: &Frontier<Blake3>, question: Question) -> Option<Digest> {
    matches!(question, Question::Consistency { older } if older == tree.size()).then(|| tree.root())
}

pub(super) fn pruned(side_records: &[SideRecord]) -> Option<&Prune> {
    side_records.iter().rev().find_map(|record| match record {
        SideRecord::Prune(prune) => Some(&**prune),
        SideRecord::Erase(_) | SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) => None,
    })
}

/// The tree of what was pruned, also handed to the proof.
fn start_behind(prune: &Prune, builder: &mut ProofBuilder<Blake3>) -> Result<Frontier<Blake3>, ProveError> {
    let size = prune.through.get();
    let levels = (0..u64::BITS).rev().filter(|level| size >> level & 1 == 1);
    for (level, peak) in levels.zip(&prune.peaks) {
        if !builder.push_subtree(level, *peak) {
            return Err(ProveError::Pruned);
        }
    }
    Frontier::from_parts(size, prune.peaks.clone()).ok_or(ProveError::Pruned)
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
