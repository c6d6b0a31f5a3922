//! Receipts for the tools of others: statements, checkpoints, proofs and bundles.

use std::path::PathBuf;

use r1_event::UnixNanos;
use r1_receipt::Reason;
use r1_receipt::export::{Bundle, Envelope, InvalidName, NoteKey, Statement, tlog_proof, trusted_root};
use r1_receipt::key::AttestKey;
use r1_receipt::verify::RunFacts;

use crate::control::export::safe_name;
use crate::home::Home;
use crate::instance_log::{InstanceLog, LogError, Logged};
use crate::keys::{self, KeysError, LogKey, manage};

/// What can be written beside a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// The statement: `<run>.intoto.json`.
    Dsse,
    /// The run's log as a signed note: `<run>.checkpoint` and `<run>.vkey`.
    Checkpoint,
    /// That the installation's log has the statement: `<run>.receipt.tlog-proof`.
    Proof,
    /// Both for Sigstore's tools: `<run>.sigstore.json` and `trusted_root.json`.
    Bundle,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub content: String,
}

/// The keys that statements and notes are signed with, and the log that both are for.
#[derive(Debug)]
pub struct Publisher {
    attest: AttestKey,
    log: LogKey,
    directory: PathBuf,
}

impl Publisher {
    /// With the newest keys that are here; `None` if one of the two kinds is missing.
    pub fn find(home: &Home, now: UnixNanos) -> Result<Option<Self>, KeysError> {
        let (Some(attest), Some(log)) = (keys::newest_attest_key(home, now)?, keys::newest_log_key(home, now)?) else {
            return Ok(None);
        };
        Ok(Some(Self::with(home, attest, log)))
    }

    /// With the newest keys that are here; those that are missing are made. Gives the files of the new ones, too.
    pub fn find_or_make(home: &Home, now: UnixNanos) -> Result<(Self, Vec<PathBuf>), KeysError> {
        let mut made = Vec::new();
        let attest = match keys::newest_attest_key(home, now)? {
            Some(key) => key,
            None => {
                let (key, path) = manage::new_attest_key(home, now)?;
                made.push(path);
                key
            }
        };
        let (log, new) = LogKey::find_or_make(home, now)?;
        made.extend(new);
        Ok((Self::with(home, attest, log), made))
    }

    fn with(home: &Home, attest: AttestKey, log: LogKey) -> Self {
        // By its key: none ever signs two histories.
        let directory = home.instance_log().join(log.secret.kid().thumbprint());
        Self { attest, log, directory }
    }

    /// The key of the installation's log, under its name.
    pub fn note_key(&self) -> Result<NoteKey<'_>, InvalidName> {
        self.log.note_key()
    }

    /// Signs a statement about a receipt and sees it into the installation's log. Doing it twice changes nothing.
    pub fn publish(&self, receipt: &[u8]) -> Result<Published<'_>, PublishError> {
        let statement = Statement::of(receipt).map_err(PublishError::NoReceipt)?;
        let envelope = Envelope::sign(statement.to_json(), &self.attest);
        let logged =
            InstanceLog::open(&self.directory)?.append(envelope.to_log_entry().as_bytes(), &self.note_key()?)?;
        Ok(Published { publisher: self, envelope, logged })
    }

    /// The installation's log as static files: path and content.
    pub fn tiles(&self) -> Result<Vec<(String, Vec<u8>)>, PublishError> {
        Ok(InstanceLog::open(&self.directory)?.to_tiles(&self.note_key()?)?)
    }
}

/// A statement that is in the log.
#[derive(Debug)]
pub struct Published<'a> {
    publisher: &'a Publisher,
    envelope: Envelope,
    /// Where the log has it.
    pub logged: Logged,
}

impl Published<'_> {
    /// The files of these exports; `run` as the receipt names it.
    pub fn files(&self, exports: &[Export], run: &RunFacts) -> Result<Vec<ExportedFile>, PublishError> {
        let stem = safe_name(&run.run_id);
        let mut files = Vec::new();
        let mut file = |name: String, content: String| files.push(ExportedFile { name, content });
        let entry = self.envelope.to_log_entry();
        for export in exports {
            match export {
                Export::Dsse => file(format!("{stem}.intoto.json"), self.envelope.to_json()),
                Export::Checkpoint => {
                    let key = self.publisher.log.note_key_of(&run.run_id)?;
                    let root = run.root_sha256.parse().map_err(|_| PublishError::NoReceipt(Reason::BadRunLog))?;
                    file(format!("{stem}.checkpoint"), key.checkpoint(run.size, root));
                    file(format!("{stem}.vkey"), key.vkey() + "\n");
                }
                Export::Proof => {
                    let Logged { inclusion, checkpoint } = &self.logged;
                    file(format!("{stem}.receipt.tlog-proof"), tlog_proof(entry.as_bytes(), inclusion, checkpoint));
                }
                Export::Bundle => {
                    let Logged { inclusion, checkpoint } = &self.logged;
                    let key = self.publisher.note_key()?;
                    let bundle = Bundle { envelope: &self.envelope, inclusion, checkpoint };
                    file(format!("{stem}.sigstore.json"), bundle.to_json(&key));
                    file("trusted_root.json".into(), trusted_root(&key, self.publisher.log.since));
                }
            }
        }
        Ok(files)
    }
}

/// Nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// What is to be published is no receipt of a run.
    #[error("there is no statement about this receipt: {0}")]
    NoReceipt(Reason),
    /// The log's name, or the run's, has something that notes cannot have.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The installation's log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
}
