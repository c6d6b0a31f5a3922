//! Files as runs of a store.

use std::time::Duration;

use bytes::Bytes;
use r1_event::cbor::write::NULL;
use r1_event::finding::Verdict;
use r1_event::side_record::Erase;
use r1_event::{Batch, Chain, ChainError, Position, Record, RunId, Seq, SideRecord, Version};
use r1_store::{AppendError, Lease, LeaseError, SharedStore, StoreError};
use tokio::runtime::Handle;

use super::check::{self, blocking};
use super::view;
use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError, StoredRun};

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
    let (batch, known, stored) = match store.chain(&run).await? {
        None => (start, pruned, None),
        Some(chain) if chain.size() < pruned => {
            return Err(ImportError::Gap { run, known: chain.size(), through: pruned });
        }
        Some(chain) if chain.size() == 0 => return Err(ImportError::Damaged { run, seq: Seq::FIRST }),
        Some(chain) => {
            let summary = store.run(&run).await?;
            let gone = summary.and_then(|summary| summary.pruned_through).map_or(0, Seq::get);
            let log = StoredRun::open(store.clone(), run.clone()).await?;
            (Batch::new(&chain), chain.size(), Some(Stored { log: Log::Stored(log), gone }))
        }
    };
    let side_records = log.side_records().to_vec();
    let writer = Writer { store: store.clone(), lease: lease.clone(), handle: Handle::current() };
    blocking(move || {
        if let Some(stored) = stored {
            stored.compare(&log, batch.before(), pruned, known.min(end))?;
        }
        writer.write(&log, batch, pruned)
    })
    .await?;
    add_side_records(store, &run, side_records, known).await?;
    Ok(Imported { run_id: run, known: known.min(end) - pruned, added: end.saturating_sub(known) })
}

/// Takes over what stands beside the log, unless it was kept with the first events; nothing that the store still
/// has is erased or pruned by an import.
async fn add_side_records(
    store: &SharedStore,
    run: &RunId,
    records: Vec<SideRecord>,
    known: u64,
) -> Result<(), StoreError> {
    // In the order of the file, and erasures that stand together at once: each call clears the store's files.
    let mut erasures = Vec::new();
    for record in records {
        match record {
            SideRecord::Erase(erase) if erase.seq.get() > known => erasures.push(erase),
            SideRecord::Erase(_) | SideRecord::Prune(_) => {}
            SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) | SideRecord::Damaged(_) => {
                erase(store, &mut erasures).await?;
                store.add_side_record(run, record).await?;
            }
        }
    }
    erase(store, &mut erasures).await
}

async fn erase(store: &SharedStore, erasures: &mut Vec<Erase>) -> Result<(), StoreError> {
    if erasures.is_empty() {
        return Ok(());
    }
    // Their payloads never were in this store, so nothing of them can be left in its files.
    store.erase(std::mem::take(erasures)).await.map(drop)
}

/// What the store has of a run.
struct Stored {
    log: Log,
    /// How many of the first events were pruned.
    gone: u64,
}

impl Stored {
    /// Whether the events up to `shared` are the same here, where the log ends with `end`, and in `file`, which
    /// lacks the first `pruned`.
    ///
    /// The hash of one event names everything before it: if the last one is the same, both are one run. That its
    /// events are there does not follow: the end of a chain is remembered apart from them, so each is looked at.
    fn compare(&self, file: &Log, end: &Position, pruned: u64, shared: u64) -> Result<(), ImportError> {
        let seq_of = |record: &Record| view::place(record).map(|place| place.seq);
        let mut here = records(&self.log).peekable();
        let mut damaged = None;
        for (seq, record) in (pruned + 1..=shared).zip(records(file)) {
            let hash = record?.hash();
            // What cannot be read is as good as gone.
            let is_before = |found: &Record| seq_of(found).is_none_or(|place| place < seq);
            while here.next_if(|found| found.as_ref().is_ok_and(is_before)).is_some() {}
            let is_here = |found: &Record| seq_of(found) == Some(seq);
            let stored = here.next_if(|found| found.as_ref().map_or(true, is_here)).transpose()?;
            let stored = stored.map(|record| record.hash());
            if stored != Some(hash) && seq > self.gone {
                damaged = damaged.or(Seq::new(seq));
            }
            let last = if shared == end.size() { end.head() } else { stored };
            if seq == shared && last.is_some_and(|last| last != hash) {
                return Err(ImportError::Different { run: end.run().clone(), shared });
            }
        }
        match damaged {
            Some(seq) => Err(ImportError::Damaged { run: end.run().clone(), seq }),
            None => Ok(()),
        }
    }
}

/// The events of a log, as the store would keep them.
fn records(log: &Log) -> impl Iterator<Item = Result<Record, SourceError>> {
    log.pages().flat_map(|page| {
        let (page, failed) = match page {
            Ok(page) => (page, None),
            Err(err) => (Vec::new(), Some(err)),
        };
        page.into_iter().map(with_written_null).map(Ok).chain(failed.map(Err))
    })
}

struct Writer {
    store: SharedStore,
    lease: Lease,
    handle: Handle,
}

impl Writer {
    /// Stores all events behind those of the batch's chain; the log lacks the first `pruned`.
    fn write(&self, log: &Log, mut batch: Batch, pruned: u64) -> Result<(), ImportError> {
        let known = batch.after().size();
        let mut bytes = 0;
        for (seq, record) in (pruned + 1..).zip(records(log)) {
            let record = record?;
            if seq <= known {
                continue;
            }
            bytes += record.size();
            batch.adopt(record)?;
            if bytes >= ONE_COMMIT {
                batch = self.commit(batch)?;
                bytes = 0;
            }
        }
        if !batch.records().is_empty() {
            self.commit(batch)?;
        }
        Ok(())
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
    /// The store says that it has events which are not there.
    #[error("the store's log of run {run} is damaged: event {seq} is missing or was changed; nothing was stored")]
    Damaged {
        /// The run.
        run: RunId,
        /// The first such event.
        seq: Seq,
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
