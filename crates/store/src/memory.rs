//! A store that lives as long as the process: for tests and for runs that nobody wants to keep.
//!
//! Everything is behind one lock that is never held across an `.await`; events are shared `Bytes`, so
//! neither appending nor reading copies one.

mod blobs;
mod documents;
mod shelf;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, RunId, Seq, SideRecord};

use self::blobs::MemoryBlobs;
use self::shelf::Shelf;
use crate::blob::BlobStore;
use crate::command::Command;
use crate::document::{Document, DocumentChange, DocumentQuery};
use crate::error::{AppendError, CommandError, LeaseError, StoreError};
use crate::feed::{FeedCursor, FeedPage};
use crate::lease::{Acquired, Lease};
use crate::page::LogPage;
use crate::run::{Head, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
use crate::store::{PageLimit, Renewals, Store, StoreFacts, Traces};
use crate::watch::{CommandWatch, FeedWatch, HeadWatch, Watches};
use crate::{clock, rules};

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    opening: Opening,
    blobs: MemoryBlobs,
}

/// One way into the shared content; closing it leaves other openings alone.
#[derive(Clone, Debug)]
struct Opening {
    shelf: Arc<Mutex<Shelf>>,
    watches: Watches,
    closed: Arc<AtomicBool>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::open(Arc::default())
    }

    /// Another opening of the same store, as a second process would have it: it sees the same logs and
    /// is closed on its own.
    #[must_use]
    pub fn reopen(&self) -> Self {
        Self::open(Arc::clone(&self.opening.shelf))
    }

    fn open(shelf: Arc<Mutex<Shelf>>) -> Self {
        let opening = Opening { shelf, watches: Watches::default(), closed: Arc::default() };
        opening.lock().openings.push(opening.watches.clone());
        Self { blobs: MemoryBlobs::new(opening.clone()), opening }
    }

    /// Does `work` on the content, now: nothing in memory is worth waiting for.
    fn with<T, E>(&self, work: impl FnOnce(&mut Shelf) -> Result<T, E>) -> BoxFuture<'static, Result<T, E>>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        future::ready(self.opening.enter().map_err(E::from).and_then(|mut shelf| work(&mut shelf))).boxed()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.opening.close();
    }
}

impl Opening {
    fn enter(&self) -> Result<MutexGuard<'_, Shelf>, StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(self.lock()) }
    }

    fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.watches.close();
            self.lock().openings.retain(|watches| !watches.is_closed());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        // Every change is checked before it begins and cannot fail half way.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn append(&self, lease: &Lease, batch: Batch) -> BoxFuture<'_, Result<Head, AppendError>> {
        let appended = match self.opening.enter() {
            Ok(mut shelf) => shelf.append(lease, batch),
            Err(closed) => Err(AppendError::Failed { run: batch.before().run().clone(), source: Box::new(closed) }),
        };
        future::ready(appended).boxed()
    }

    fn head(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Head>, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map(|log| Head::from(&log.chain))))
    }

    fn chain(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Chain>, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map(|log| log.chain.clone())))
    }

    fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> BoxFuture<'_, Result<LogPage, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map_or_else(|| LogPage::empty(from), |log| log.page(from, limit))))
    }

    fn read_feed(&self, after: FeedCursor, limit: PageLimit) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.with(|shelf| Ok(shelf.feed_page(after, limit)))
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedCursor, StoreError>> {
        self.with(|shelf| Ok(shelf.feed_end()))
    }

    fn watch(&self, run: &RunId) -> HeadWatch {
        self.opening.watches.watch(run)
    }

    fn watch_feed(&self) -> FeedWatch {
        self.opening.watches.watch_feed()
    }

    fn run(&self, run: &RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map(shelf::RunLog::summary)))
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        self.with(|shelf| Ok(shelf.list(&filter)))
    }

    fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> BoxFuture<'_, Result<Acquired, LeaseError>> {
        self.with(|shelf| {
            let acquired = Lease::take(shelf.lease(run).cloned(), run, owner, ttl, clock::now())?;
            shelf.keep_lease(acquired.lease.clone());
            Ok(acquired)
        })
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> BoxFuture<'_, Result<Lease, LeaseError>> {
        self.with(|shelf| shelf.renew(lease, ttl, clock::now()))
    }

    fn renew_all(&self, leases: &[Lease], ttl: Duration) -> BoxFuture<'_, Result<Renewals, StoreError>> {
        self.with(|shelf| {
            let now = clock::now();
            Ok(leases.iter().map(|lease| shelf.renew(lease, ttl, now)).collect())
        })
    }

    fn release(&self, lease: &Lease) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.with(|shelf| {
            if let Some(held) = shelf.lease_mut(&lease.run).filter(|held| held.token == lease.token) {
                held.give_back();
            }
            Ok(())
        })
    }

    fn lease(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.with(|shelf| Ok(shelf.lease(run).cloned().and_then(Lease::unless_given_back)))
    }

    fn leases(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<Option<Lease>>, StoreError>> {
        self.with(|shelf| {
            let lease = |run| shelf.lease(run).cloned().and_then(Lease::unless_given_back);
            Ok(runs.iter().map(lease).collect())
        })
    }

    fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.with(|shelf| Ok(shelf.open_runs(after, limit, clock::now())))
    }

    fn leave_command(&self, run: &RunId, command: Command) -> BoxFuture<'_, Result<(), CommandError>> {
        self.with(|shelf| shelf.leave_command(run, command))
    }

    fn commands(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map_or_else(Vec::new, |log| log.commands.clone())))
    }

    fn withdraw_command(&self, run: &RunId, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.with(|shelf| Ok(shelf.withdraw_command(run, id)))
    }

    fn watch_commands(&self, run: &RunId) -> CommandWatch {
        self.opening.watches.watch_commands(run)
    }

    fn side_records(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<SideRecord>, StoreError>> {
        self.with(|shelf| Ok(shelf.run(run).map_or_else(Vec::new, shelf::RunLog::side_records)))
    }

    fn add_side_record(&self, run: &RunId, record: SideRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.with(|shelf| shelf.add_side_record(run, record))
    }

    fn erase(&self, erasures: Vec<Erase>) -> BoxFuture<'_, Result<Traces, StoreError>> {
        self.with(|shelf| shelf.erase(erasures).map(|()| Traces::Gone))
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'_, Result<(), StoreError>> {
        self.with(|shelf| shelf.prune(prune))
    }

    fn compact(&self) -> BoxFuture<'_, Result<Traces, StoreError>> {
        self.with(|shelf| {
            shelf.compact();
            Ok(Traces::Gone)
        })
    }

    fn document(&self, collection: &str, key: &str) -> BoxFuture<'_, Result<Option<Document>, StoreError>> {
        self.with(|shelf| Ok(shelf.documents.get(collection, key, clock::now()).cloned()))
    }

    fn documents(&self, collection: &str, query: DocumentQuery) -> BoxFuture<'_, Result<Vec<Document>, StoreError>> {
        self.with(|shelf| Ok(shelf.documents.find(collection, &query, clock::now())))
    }

    fn change_documents(&self, changes: Vec<DocumentChange>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.with(|shelf| {
            rules::check_documents(&changes)?;
            Ok(shelf.documents.change(&changes, clock::now()))
        })
    }

    fn blobs(&self) -> &dyn BlobStore {
        &self.blobs
    }

    fn collect_blobs(&self, grace: Duration) -> BoxFuture<'_, Result<Vec<Digest>, StoreError>> {
        self.with(|shelf| Ok(shelf.collect_blobs(clock::before(clock::now(), grace))))
    }

    fn describe(&self) -> BoxFuture<'_, Result<StoreFacts, StoreError>> {
        self.with(|shelf| Ok(shelf.describe()))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.opening.close();
        future::ready(Ok(())).boxed()
    }
}
