//! Vouching for a log as it is now.

use r1_event::{RunId, Seal, SideRecord};
use r1_receipt::key::SecretKey;
use r1_store::{SharedStore, StoreError};

/// Signs the run's current head and keeps the signature in the store: a checkpoint of an open run,
/// the seal of a finished one.
pub async fn checkpoint(store: &SharedStore, run: &RunId, key: &SecretKey) -> Result<SideRecord, CheckpointError> {
    let chain = store.chain(run).await?.ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
    let finished = chain.terminal().is_some();
    let statement = chain.statement().ok_or_else(|| CheckpointError::Empty { run: run.clone() })?;
    let seal = statement.sign(key.signing_key());
    let record = if finished { SideRecord::Seal(seal) } else { SideRecord::Checkpoint(seal) };
    store.add_side_record(run, record.clone()).await?;
    Ok(record)
}

/// The signatures over exactly this size.
pub fn signatures_at(side_records: &[SideRecord], size: u64) -> impl Iterator<Item = &Seal> {
    side_records.iter().filter_map(move |record| match record {
        SideRecord::Seal(seal) | SideRecord::Checkpoint(seal) => (seal.statement.size == size).then_some(seal),
        SideRecord::Erase(_) | SideRecord::Prune(_) | SideRecord::Other(_) => None,
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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
