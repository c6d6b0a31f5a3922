//! Files as runs of a store.

use std::time::Duration;

use bytes::Bytes;
use r1_event::cbor::write::NULL;
use r1_event::finding::Verdict;
use r1_event::{Batch, Chain, ChainError, Record, RunId, Seq, SideRecord, Version};
use r1_store::{AppendError, Lease, LeaseError, PageLimit, SharedStore, StoreError};
use tokio::runtime::Handle;

use super::check::{self, blocking};
use super::view;
use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError};

/// A run up to this size is stored with one commit, all or nothing. A larger one would not fit in
/// memory twice; it is stored piece by piece, and importing it again goes on where it stopped.
const ONE_COMMIT: usize = 64 << 20;
const LEASE: Duration = Duration::from_secs(60);

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The run.
    pub run_id: RunId,
    /// Events that the store had already.
    pub known: u64,
    /// Events that are new to it.
    pub added: u64,
}

/// Who holds the lease on a run that is being imported: always the same, so that an import that failed
/// half way can be tried again at once. Of two at a time the fencing token stops one.
const OWNER: &str = "r1 log import";

/// Checks a log and stores what the store does not have of it. A different run of the same name is
/// never touched.
pub async fn import(
    store: &SharedStore,
    log: Log,
    keyring: &Keyring,
    progress: Progress,
) -> Result<Imported, ImportError> {
    let options = check::options(log.side_records(), keyring, Some(store)).await?;
    let (log, verdict) = {
        let progress = progress.clone();
        blocking(move || {
            let verdict = check::check(&log, options, 1, &progress);
            (log, verdict)
        })
        .await
    };
    let verdict = verdict?;
    if verdict.is_corrupt() {
        return Err(ImportError::Corrupt(Box::new(verdict)));
    }
    let run: RunId = verdict.run_id.parse().map_err(|_| ImportError::NoName)?;
    let start = match verdict.pruned_through {
        Some(_) => Batch::behind(log.side_records()),
        None if verdict.schema_version == Some(1) => Some(Batch::new(&Chain::empty(run.clone(), Version::V1))),
        None => Some(Batch::new(&Chain::new(run.clone()))),
    };
    let Some(start) = start else { return Err(ImportError::Corrupt(Box::new(verdict))) };
    let lease = store.acquire(&run, OWNER, LEASE).await?.lease;
    let stored = store_events(store, log, &lease, start, verdict.events).await;
    let released = store.release(&lease).await;
    // Why the events were not stored matters more than that the lease could not be given back.
    let imported = stored?;
    released?;
    Ok(imported)
}

async fn store_events(
    store: &SharedStore,
    log: Log,
    lease: &Lease,
    start: Batch,
    events: u64,
) -> Result<Imported, ImportError> {
    let run = lease.run.clone();
    // The file has the events behind `pruned`, up to `end`.
    let pruned = start.before().size();
    let end = pruned + events;
    let (batch, known) = match store.chain(&run).await? {
        None => (start, pruned),
        Some(chain) if chain.size() < pruned => {
            return Err(ImportError::Gap { run, known: chain.size(), through: pruned });
        }
        Some(chain) => (Batch::new(&chain), chain.size()),
    };
    let side_records = log.side_records().to_vec();
    let writer = Writer { store: store.clone(), lease: lease.clone(), handle: Handle::current() };
    blocking(move || writer.write(&log, batch, pruned, known.min(end))).await?;
    for record in side_records {
        add_side_record(store, &run, record, known).await?;
    }
    Ok(Imported { run_id: run, known: known.min(end) - pruned, added: end.saturating_sub(known) })
}

/// Takes over what stands beside the log, unless it was kept with the first events; nothing that the store still
/// has is erased or pruned by an import.
async fn add_side_record(store: &SharedStore, run: &RunId, record: SideRecord, known: u64) -> Result<(), StoreError> {
    match record {
        SideRecord::Erase(erase) if erase.seq.get() > known => store.erase(vec![erase]).await,
        SideRecord::Erase(_) | SideRecord::Prune(_) => Ok(()),
        SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) | SideRecord::Damaged(_) => {
            store.add_side_record(run, record).await
        }
    }
}

struct Writer {
    store: SharedStore,
    lease: Lease,
    handle: Handle,
}

impl Writer {
    /// Stores all events behind the first `shared`, which must be the same on both sides; of those the log lacks
    /// the first `pruned`.
    fn write(&self, log: &Log, mut batch: Batch, pruned: u64, shared: u64) -> Result<(), ImportError> {
        let chain = batch.after().clone();
        let mut seen = pruned;
        let mut bytes = 0;
        for page in log.pages() {
            for record in page? {
                seen += 1;
                if seen == shared {
                    self.compare(&record, &chain, shared)?;
                }
                if seen <= chain.size() {
                    continue;
                }
                bytes += record.size();
                batch.adopt(with_written_null(record))?;
                if bytes >= ONE_COMMIT {
                    batch = self.commit(batch)?;
                    bytes = 0;
                }
            }
        }
        if !batch.records().is_empty() {
            self.commit(batch)?;
        }
        Ok(())
    }

    /// The hash of one event names everything before it: if it is the same, all is.
    fn compare(&self, record: &Record, chain: &Chain, shared: u64) -> Result<(), ImportError> {
        let stored = if shared == chain.size() {
            chain.head()
        } else {
            let seq = Seq::new(shared).unwrap_or(Seq::FIRST);
            let page = self.handle.block_on(self.store.read(&self.lease.run, seq, PageLimit::ONE))?.records;
            page.first().filter(|found| view::place(found).is_some_and(|place| place.seq == shared)).map(Record::hash)
        };
        match stored {
            Some(hash) if hash == record.hash() => Ok(()),
            _ => Err(ImportError::Different { run: self.lease.run.clone(), shared }),
        }
    }

    fn commit(&self, batch: Batch) -> Result<Batch, ImportError> {
        let next = Batch::new(batch.after());
        self.handle.block_on(async {
            self.store.renew(&self.lease, LEASE).await?;
            self.store.append(&self.lease, batch).await.map_err(ImportError::from)
        })?;
        Ok(next)
    }
}

/// A v1 event without a payload is written with null in its place, and stored as that.
fn with_written_null(record: Record) -> Record {
    match (record.version(), &record.payload) {
        (Some(Version::V1), None) => Record { payload: Some(Bytes::from_static(&[NULL])), ..record },
        _ => record,
    }
}

/// A run was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Its log does not hold.
    #[error("the log of run {} is corrupt; nothing of it was stored{}", .0.run_id, check::first_error(.0))]
    Corrupt(Box<Verdict>),
    /// Its name cannot be a key.
    #[error("the run's id is empty or too long")]
    NoName,
    /// Events between what the store has and what is in the file are gone.
    #[error(
        "the store has {known} events of run {run}, and the file begins behind event {through}; nothing was stored"
    )]
    Gap {
        /// The run.
        run: RunId,
        /// How many events the store has.
        known: u64,
        /// The last event that was pruned before the file was written.
        through: u64,
    },
    /// The store has another run of this name.
    #[error("the store has a different run {run}: the first {shared} events are not the same; it was left as it is")]
    Different {
        /// The run.
        run: RunId,
        /// How many events were compared.
        shared: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An event may not stand in a store.
    #[error("an event cannot be stored")]
    Chain(#[from] ChainError),
    /// Someone else writes to the run.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The store did not take it.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
