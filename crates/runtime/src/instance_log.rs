//! The log of this installation's receipts: append-only, in the form of RFC 6962, signed by one key.
//!
//! Each entry names a signed statement about a receipt. Whoever keeps a checkpoint of the log can show later that
//! an entry was there by then, and that nothing was taken out since.
//!
//! A checkpoint is signed only over entries that are on the disk, and only if they extend those of the last one
//! that was signed. A crash leaves at most entries that no checkpoint covers yet, or a piece of one, which is
//! cut off. Each key has a log of its own, so none ever signs two histories.

mod medium;
mod record;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use r1_event::Digest;
use r1_event::merkle::proof::ProofBuilder;
use r1_event::merkle::{Frontier, Sha256};
use r1_receipt::export::{Inclusion, NoteKey, tiles};

use self::medium::{Files, Medium};
use self::record::Records;

/// The log, while nobody else can append to it.
#[derive(Debug)]
pub struct InstanceLog(Log<Files>);

/// An entry's place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Where it is, and the way from it to the root.
    pub inclusion: Inclusion,
    /// The signed root.
    pub checkpoint: String,
}

impl InstanceLog {
    /// Opens the log of a key in a directory, which is made if it is not there. Waits for others to be done.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        let files = Files::open(directory).map_err(|source| LogError::Io { path: directory.to_owned(), source })?;
        Ok(Self(Log { directory: directory.to_owned(), medium: files }))
    }

    /// Sees an entry into the log, and a checkpoint over it. One that is there already is not added again.
    pub fn append(&mut self, entry: &[u8], key: &NoteKey<'_>) -> Result<Logged, LogError> {
        self.0.append(entry, key)
    }

    /// The log as static files, with the last checkpoint: path and content.
    pub fn to_tiles(&mut self, key: &NoteKey<'_>) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        let state = self.0.read(key)?;
        let Some(checkpoint) = state.checkpoint else { return Ok(Vec::new()) };
        // What no checkpoint covers is nobody's business yet.
        let covered = &state.records.entries[..state.covered];
        let mut files = tiles(covered).ok_or_else(|| self.0.corrupt("an entry is too large"))?;
        files.push(("checkpoint".into(), checkpoint.into_bytes()));
        Ok(files)
    }
}

/// The log on whatever keeps it.
#[derive(Debug)]
struct Log<M> {
    directory: PathBuf,
    medium: M,
}

/// What is there.
struct State {
    records: Records,
    /// The last checkpoint.
    checkpoint: Option<String>,
    /// How many entries it covers.
    covered: usize,
}

impl<M: Medium> Log<M> {
    fn append(&mut self, entry: &[u8], key: &NoteKey<'_>) -> Result<Logged, LogError> {
        let mut state = self.read(key)?;
        let index = match state.records.find(entry) {
            Some(index) => index,
            None => {
                let record = state.records.add(entry);
                self.medium.append(&record).and_then(|()| self.medium.sync()).map_err(|err| self.failed(err))?;
                state.records.entries.len() - 1
            }
        };
        let inclusion = inclusion(&state.records, index).ok_or_else(|| self.corrupt("it has no such entry"))?;
        let checkpoint = match state.checkpoint {
            Some(checkpoint) if state.covered == state.records.entries.len() => checkpoint,
            Some(_) | None => {
                let checkpoint = key.checkpoint(inclusion.size, inclusion.root);
                self.medium.replace_checkpoint(&checkpoint).map_err(|err| self.failed(err))?;
                checkpoint
            }
        };
        Ok(Logged { inclusion, checkpoint })
    }

    /// Reads all of it, checks that it still extends what was signed, and cuts off what a crash left half done.
    fn read(&mut self, key: &NoteKey<'_>) -> Result<State, LogError> {
        let bytes = self.medium.entries().map_err(|err| self.failed(err))?;
        let checkpoint = self.medium.checkpoint().map_err(|err| self.failed(err))?;
        let records = Records::read(&bytes);
        let covered = match &checkpoint {
            None => 0,
            Some(note) => {
                let signed = key.read_checkpoint(note).ok_or_else(|| self.corrupt("its checkpoint is not ours"))?;
                let covered = usize::try_from(signed.size).unwrap_or(usize::MAX);
                let is_extended = records.hashes.get(..covered).is_some_and(|first| root(first) == signed.root);
                if !is_extended {
                    return Err(self.corrupt("entries that were signed are gone or changed"));
                }
                covered
            }
        };
        if records.length < bytes.len() {
            self.medium.cut(records.length as u64).map_err(|err| self.failed(err))?;
        }
        // Whatever is there from before a crash may not be on the disk yet.
        if covered < records.entries.len() {
            self.medium.sync().map_err(|err| self.failed(err))?;
        }
        Ok(State { records, checkpoint, covered })
    }

    fn failed(&self, source: io::Error) -> LogError {
        LogError::Io { path: self.directory.clone(), source }
    }

    fn corrupt(&self, reason: &'static str) -> LogError {
        LogError::Corrupt { path: self.directory.clone(), reason }
    }
}

fn root(hashes: &[Digest]) -> Digest {
    let mut tree = Frontier::<Sha256>::default();
    hashes.iter().for_each(|hash| tree.push(*hash));
    tree.root()
}

fn inclusion(records: &Records, index: usize) -> Option<Inclusion> {
    let (index, size) = (index as u64, records.hashes.len() as u64);
    let mut builder = ProofBuilder::<Sha256>::inclusion(index, size).ok()?;
    records.hashes.iter().for_each(|hash| builder.push(*hash));
    Some(Inclusion { index, size, root: root(&records.hashes), path: builder.finish()? })
}

/// The log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file cannot be read or written.
    #[error("cannot use the log of receipts in {}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not what was signed. Nothing more is signed over it.
    #[error("the log of receipts in {} does not hold: {reason}", path.display())]
    Corrupt {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
}
