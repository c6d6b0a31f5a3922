//! Vouching for a log as it is now.

use r1_event::finding::{State, Verdict};
use r1_event::{RunId, Seal, SideRecord};
use r1_receipt::key::SecretKey;
use r1_store::{SharedStore, StoreError};

use super::check;
use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError, StoredRun};

/// Signs the run's current head and keeps the signature in the store: a checkpoint of an open run,
/// the seal of a finished one.
///
/// What is signed is held against the whole log first, together with all that was signed before: nobody vouches
/// here for what does not verify.
pub async fn checkpoint(
    store: &SharedStore,
    run: &RunId,
    key: &SecretKey,
    keyring: &Keyring,
    progress: Progress,
) -> Result<SideRecord, CheckpointError> {
    let chain = match store.chain(run).await {
        Ok(chain) => chain.ok_or_else(|| StoreError::NoRun { run: run.clone() })?,
        Err(err @ StoreError::Damaged { .. }) => {
            refuse_unsound(check::check_run(store, run, keyring, progress).await?)?;
            return Err(err.into());
        }
        Err(err) => return Err(err.into()),
    };
    let statement = chain.statement().ok_or_else(|| CheckpointError::Empty { run: run.clone() })?;
    let seal = statement.sign(key.signing_key());
    let record = if chain.terminal().is_some() { SideRecord::Seal(seal) } else { SideRecord::Checkpoint(seal) };
    // The log may have grown meanwhile; what is signed is a state that it had.
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    let beside = [log.side_records(), std::slice::from_ref(&record)].concat();
    let options = check::options(&beside, keyring, Some(store)).await?;
    refuse_unsound(check::check_log(log, options, progress).await?)?;
    store.add_side_record(run, record.clone()).await?;
    Ok(record)
}

fn refuse_unsound(verdict: Verdict) -> Result<(), CheckpointError> {
    if verdict.is_corrupt() || verdict.state == State::Truncated {
        return Err(CheckpointError::Corrupt(Box::new(verdict)));
    }
    Ok(())
}

/// The signatures over exactly this size.
pub fn signatures_at(side_records: &[SideRecord], size: u64) -> impl Iterator<Item = &Seal> {
    side_records.iter().filter_map(move |record| match record {
        SideRecord::Seal(seal) | SideRecord::Checkpoint(seal) => (seal.statement.size == size).then_some(seal),
        SideRecord::Erase(_) | SideRecord::Prune(_) | SideRecord::Other(_) | SideRecord::Damaged(_) => None,
    })
}

/// No checkpoint was made.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is nothing to vouch for.
    #[error("run {run} has no events yet")]
    Empty {
        /// The run.
        run: RunId,
    },
    /// It does not verify.
    #[error("the log of run {} is corrupt; nothing was signed{}", .0.run_id, check::first_error(.0))]
    Corrupt(Box<Verdict>),
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
