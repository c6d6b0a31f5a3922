//! Two openings of one store behind one face.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, RunId, Seq, SideRecord};

use crate::blob::{BlobContent, BlobInfo, BlobStore};
use crate::command::Command;
use crate::document::{Document, DocumentChange, DocumentQuery};
use crate::error::{AppendError, BlobError, CommandError, LeaseError, StoreError};
use crate::feed::{FeedCursor, FeedPage};
use crate::lease::{Acquired, Lease};
use crate::page::LogPage;
use crate::run::{Head, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
use crate::store::{PageLimit, Renewals, SharedStore, Store, StoreFacts, Traces};
use crate::watch::{CommandWatch, FeedWatch, HeadWatch};

/// A store that sends each call to the other of two openings in turn, so that the whole suite shows
/// whether what one does holds for the other at once.
pub fn twin(one: SharedStore, other: SharedStore) -> SharedStore {
    let sides = Arc::new(Sides { stores: [one, other], calls: AtomicUsize::new(0) });
    Arc::new(Twin { blobs: TwinBlobs(Arc::clone(&sides)), sides })
}

struct Twin {
    sides: Arc<Sides>,
    blobs: TwinBlobs,
}

struct TwinBlobs(Arc<Sides>);

struct Sides {
    stores: [SharedStore; 2],
    calls: AtomicUsize,
}

impl Sides {
    fn next(&self) -> &dyn Store {
        &*self.stores[self.calls.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

impl Store for Twin {
    fn append(&self, lease: &Lease, batch: Batch) -> BoxFuture<'_, Result<Head, AppendError>> {
        self.sides.next().append(lease, batch)
    }

    fn head(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Head>, StoreError>> {
        self.sides.next().head(run)
    }

    fn chain(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Chain>, StoreError>> {
        self.sides.next().chain(run)
    }

    fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> BoxFuture<'_, Result<LogPage, StoreError>> {
        self.sides.next().read(run, from, limit)
    }

    fn read_feed(&self, after: FeedCursor, limit: PageLimit) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.sides.next().read_feed(after, limit)
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedCursor, StoreError>> {
        self.sides.next().feed_end()
    }

    fn watch(&self, run: &RunId) -> HeadWatch {
        self.sides.next().watch(run)
    }

    fn watch_feed(&self) -> FeedWatch {
        self.sides.next().watch_feed()
    }

    fn run(&self, run: &RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        self.sides.next().run(run)
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        self.sides.next().list(filter)
    }

    fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> BoxFuture<'_, Result<Acquired, LeaseError>> {
        self.sides.next().acquire(run, owner, ttl)
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> BoxFuture<'_, Result<Lease, LeaseError>> {
        self.sides.next().renew(lease, ttl)
    }

    fn renew_all(&self, leases: &[Lease], ttl: Duration) -> BoxFuture<'_, Result<Renewals, StoreError>> {
        self.sides.next().renew_all(leases, ttl)
    }

    fn release(&self, lease: &Lease) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.sides.next().release(lease)
    }

    fn lease(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.sides.next().lease(run)
    }

    fn leases(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<Option<Lease>>, StoreError>> {
        self.sides.next().leases(runs)
    }

    fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.sides.next().open_runs(after, limit)
    }

    fn leave_command(&self, run: &RunId, command: Command) -> BoxFuture<'_, Result<(), CommandError>> {
        self.sides.next().leave_command(run, command)
    }

    fn commands(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        self.sides.next().commands(run)
    }

    fn withdraw_command(&self, run: &RunId, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.sides.next().withdraw_command(run, id)
    }

    fn watch_commands(&self, run: &RunId) -> CommandWatch {
        self.sides.next().watch_commands(run)
    }

    fn side_records(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<SideRecord>, StoreError>> {
        self.sides.next().side_records(run)
    }

    fn add_side_record(&self, run: &RunId, record: SideRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.sides.next().add_side_record(run, record)
    }

    fn erase(&self, erasures: Vec<Erase>) -> BoxFuture<'_, Result<Traces, StoreError>> {
        self.sides.next().erase(erasures)
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'_, Result<(), StoreError>> {
        self.sides.next().prune(prune)
    }

    fn compact(&self) -> BoxFuture<'_, Result<Traces, StoreError>> {
        self.sides.next().compact()
    }

    fn document(&self, collection: &str, key: &str) -> BoxFuture<'_, Result<Option<Document>, StoreError>> {
        self.sides.next().document(collection, key)
    }

    fn documents(&self, collection: &str, query: DocumentQuery) -> BoxFuture<'_, Result<Vec<Document>, StoreError>> {
        self.sides.next().documents(collection, query)
    }

    fn change_documents(&self, changes: Vec<DocumentChange>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.sides.next().change_documents(changes)
    }

    fn blobs(&self) -> &dyn BlobStore {
        &self.blobs
    }

    fn collect_blobs(&self, grace: Duration) -> BoxFuture<'_, Result<Vec<Digest>, StoreError>> {
        self.sides.next().collect_blobs(grace)
    }

    fn describe(&self) -> BoxFuture<'_, Result<StoreFacts, StoreError>> {
        self.sides.next().describe()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async {
            let [one, other] = &self.sides.stores;
            let (one, other) = tokio::join!(one.close(), other.close());
            one.and(other)
        }
        .boxed()
    }
}

impl BlobStore for TwinBlobs {
    fn put(&self, content: BlobContent) -> BoxFuture<'_, Result<BlobInfo, BlobError>> {
        self.0.next().blobs().put(content)
    }

    fn stat(&self, hash: Digest) -> BoxFuture<'_, Result<Option<BlobInfo>, BlobError>> {
        self.0.next().blobs().stat(hash)
    }

    fn get(&self, hash: Digest) -> BoxFuture<'_, Result<BlobContent, BlobError>> {
        self.0.next().blobs().get(hash)
    }
}
