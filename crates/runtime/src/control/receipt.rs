//! Receipts: making them from a store's runs, and checking them.

mod children;
mod export;
mod notes;
mod policy;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use children::{Child, check_children};
pub use export::{Export, ExportedFile, PublishError, Published, Publisher};
pub(crate) use notes::notes_of;
pub use policy::gate_policy;
use r1_event::RunId;
use r1_event::finding::{State, Verdict as LogVerdict};
use r1_receipt::file::MAX_FILE;
use r1_receipt::key::{KnownKey, SecretKey};
use r1_receipt::{Builder, Options, Reason, Report, Signed, Withhold, verify};
use r1_store::{SharedStore, StoreError};

use super::check::{self, blocking};
use super::export::safe_name;
use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError, StoredRun};

/// What kind of receipt is wanted.
#[derive(Clone, Debug)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// Whether a run that still goes on will do.
    pub partial: bool,
    /// What to keep back.
    pub withhold: Withhold,
}

impl Request {
    /// All of a run that has ended.
    #[must_use]
    pub fn whole(run: RunId) -> Self {
        Self { run, partial: false, withhold: Withhold::default() }
    }
}

/// A receipt, and what a verifier says of it.
#[derive(Debug)]
pub struct Created {
    /// The receipt.
    pub signed: Signed,
    /// The check of it that was made before it was given out.
    pub report: Report,
}

/// Makes the receipt of a run and checks it as anyone else would. Nothing is signed over a log that does not hold.
pub async fn create(
    store: &SharedStore,
    request: &Request,
    key: &SecretKey,
    keyring: &Keyring,
    progress: Progress,
) -> Result<Created, CreateError> {
    let verdict = check::check_run(store, &request.run, keyring, progress).await?;
    if verdict.is_corrupt() {
        return Err(CreateError::Corrupt(Box::new(verdict)));
    }
    if verdict.state != State::Complete && !request.partial {
        return Err(CreateError::Open { run: request.run.clone() });
    }
    let log = Log::Stored(StoredRun::open(store.clone(), request.run.clone()).await?);
    let builder = rebuild(log, Some(store)).await?;
    let (key, withhold, run) = (key.clone(), request.withhold, request.run.clone());
    blocking(move || {
        let signed = builder.sign(&key, withhold).ok_or(CreateError::Open { run })?;
        let known = [KnownKey::bare(*key.public().as_bytes())];
        let report = verify(&signed.bytes, &Options { keys: &known, ..Options::default() });
        match report.verdict().reason() {
            None | Some(Reason::RunOpen | Reason::RunPruned) => Ok(Created { signed, report }),
            Some(_) => Err(CreateError::Contract(Box::new(report))),
        }
    })
    .await
}

/// Reads a log into the nodes that its receipt must have; redactions in other runs are looked up in `store`.
pub async fn rebuild(log: Log, store: Option<&SharedStore>) -> Result<Builder, RebuildError> {
    let notes = notes_of(&log, store).await?;
    blocking(move || {
        let mut builder = Builder::new(log.side_records(), notes);
        for page in log.pages() {
            builder.extend(&page?);
        }
        Ok(builder)
    })
    .await
}

/// The file name that the receipt of a run gets when nobody says otherwise, and that `--children` looks for.
#[must_use]
pub fn file_name(run_id: &str) -> String {
    format!("{}.receipt.json", safe_name(run_id))
}

/// Reads a receipt file, or enough of it to see that it is too large.
pub fn read_file(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// A file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct ReadError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// No nodes can be made of a log.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The beginning is gone, and nobody kept what receipts need of it.
    #[error("run {run} was pruned by an r1 that kept nothing for receipts: none can be made of what is left")]
    PrunedBlindly {
        /// The run.
        run: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<StoreError> for RebuildError {
    fn from(err: StoreError) -> Self {
        Self::Source(err.into())
    }
}

/// No receipt was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The log does not hold.
    #[error("the log of run {} is corrupt; nothing was signed", .0.run_id)]
    Corrupt(Box<LogVerdict>),
    /// The run goes on.
    #[error("run {run} is open: what it will still do cannot be in a receipt")]
    Open {
        /// The run.
        run: RunId,
    },
    /// The receipt would not verify.
    #[error("the receipt would not verify ({}); nothing was signed", .0.verdict())]
    Contract(Box<Report>),
    /// The log gives no nodes.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

impl From<SourceError> for CreateError {
    fn from(err: SourceError) -> Self {
        Self::Rebuild(err.into())
    }
}

impl From<StoreError> for CreateError {
    fn from(err: StoreError) -> Self {
        Self::Rebuild(err.into())
    }
}
