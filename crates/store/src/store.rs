//! The promise that every store keeps.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, RunId, Seq, SideRecord};

use crate::blob::BlobStore;
use crate::command::Command;
use crate::document::{Document, DocumentChange, DocumentQuery};
use crate::error::{AppendError, CommandError, LeaseError, StoreError};
use crate::feed::{FeedCursor, FeedPage};
use crate::lease::{Acquired, Lease};
use crate::page::LogPage;
use crate::run::{Head, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
use crate::watch::{CommandWatch, FeedWatch, HeadWatch};

/// A place for many logs, shared by all who hold the `Arc`.
///
/// - **Durable before acknowledged.** When [`append`](Self::append) returns `Ok`, the batch survives
///   `kill -9` and a power cut; readers and watchers see it only from then on.
/// - **All or nothing.** A batch is stored whole, in its place, or not at all.
/// - **One writer per run.** Whoever appends shows a lease; one that was taken over is refused by its
///   fencing token, always.
/// - **Constant cost.** Appending costs the same at any length of the run and any number of runs;
///   opening a store reads no logs.
/// - **Poisoned, not guessing.** After a write that may be half done (failed sync, full disk) every
///   further write is refused with [`AppendError::Poisoned`] until the store is opened again. Reading goes on.
pub trait Store: Send + Sync + 'static {
    /// Appends a batch to the run of its chain.
    ///
    /// Refused with the actual head if the log does not end where the batch begins, and if a blob that
    /// the batch names or a command that it settles is not there, or if the document that it notes itself in
    /// was changed. Settled commands are removed and the note is written in the same transaction; a terminal
    /// event removes all commands of its run. A batch with an [`Origin`](r1_event::Origin) begins a run behind
    /// events that were pruned elsewhere; the records beside its log are kept in the same transaction.
    fn append(&self, lease: &Lease, batch: Batch) -> BoxFuture<'_, Result<Head, AppendError>>;

    /// Where a run's log stands; `None` if there is no such run.
    fn head(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Head>, StoreError>>;

    /// The chain to continue a run with; `None` if there is no such run. Reads a bounded number of events.
    fn chain(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Chain>, StoreError>>;

    /// Up to `limit` events from `from` on. Empty at the end of the log and for an unknown run.
    ///
    /// Begins at the first event that is still there if `from` was pruned. What is stored is handed out in the
    /// order of its rows, whatever its headers say; at [`Seq::MAX`] nothing is read, so that reading on always ends.
    /// Whoever reads on does so by [`Pages`](crate::Pages), or where the page says.
    fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> BoxFuture<'_, Result<LogPage, StoreError>>;

    /// Events of all runs in the order in which they became visible. Those of a run whose id can no longer be read
    /// are passed over; its entry in the listing tells of it.
    fn read_feed(&self, after: FeedCursor, limit: PageLimit) -> BoxFuture<'_, Result<FeedPage, StoreError>>;

    /// Where the feed ends now: reading on from there skips nothing that is committed after the call.
    ///
    /// What was committed before it is not read again, unless the backend has to wait too long for an older
    /// transaction to end; then some of it is.
    fn feed_end(&self) -> BoxFuture<'_, Result<FeedCursor, StoreError>>;

    /// Wakes when a run's log grows. Only a wake-up: what is new is read from the store.
    fn watch(&self, run: &RunId) -> HeadWatch;

    /// Wakes when any log grows.
    fn watch_feed(&self) -> FeedWatch;

    /// One run's row in a listing.
    fn run(&self, run: &RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>>;

    /// Runs, newest first. An entry that cannot be read is one entry, [`Listed::Damaged`](crate::Listed::Damaged), in
    /// its place; it is left out only where what can be read of it does not fit the filter.
    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<RunPage, StoreError>>;

    /// Takes the lease on a run, which need not exist yet.
    ///
    /// Refused while another owner's lease is good; taking over an expired one fences its holder out and
    /// tells, as seen in the same transaction, who it was and until when.
    fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> BoxFuture<'_, Result<Acquired, LeaseError>>;

    /// Extends a lease that was neither taken over nor given back, also one that has run out.
    fn renew(&self, lease: &Lease, ttl: Duration) -> BoxFuture<'_, Result<Lease, LeaseError>>;

    /// Extends many leases in one transaction; each is renewed or lost on its own, in the given order.
    fn renew_all(&self, leases: &[Lease], ttl: Duration) -> BoxFuture<'_, Result<Renewals, StoreError>>;

    /// Gives a lease back. Giving back one that was taken over is no error.
    fn release(&self, lease: &Lease) -> BoxFuture<'_, Result<(), LeaseError>>;

    /// The lease on a run as it stands, expired or not; `None` if nobody has taken it since it was given back.
    fn lease(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;

    /// The leases on many runs as they stand at one moment, in the given order.
    fn leases(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<Option<Lease>>, StoreError>>;

    /// Up to `limit` runs that have not ended and whose lease has run out or was given back, by the store's
    /// clock, oldest first; `after` goes on behind the last of the page before.
    ///
    /// Looks at open runs only: any number of finished ones costs nothing. One whose entry is damaged is left out,
    /// for nobody can go on with it.
    fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>>;

    /// Leaves a command for whoever holds the run's lease, now or later; durable when this returns.
    ///
    /// One whose id is pending already is not left again: the first stays. Refused if there is no such run,
    /// if it has ended, and beyond the limits of [`Command`].
    fn leave_command(&self, run: &RunId, command: Command) -> BoxFuture<'_, Result<(), CommandError>>;

    /// The pending commands of a run in the order in which they were left; none for an unknown run.
    fn commands(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>>;

    /// Takes a command back: true means that no batch has settled it and none will, false that it is not
    /// pending (any more). If this fails, which of the two it is can be read from the log.
    fn withdraw_command(&self, run: &RunId, id: &str) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Wakes when a command may have been left for a run. Watch first, then read what is pending.
    fn watch_commands(&self, run: &RunId) -> CommandWatch;

    /// What is kept beside a run's log, in the order in which it was added; a record that was damaged among it, as
    /// [`SideRecord::Damaged`].
    fn side_records(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<SideRecord>, StoreError>>;

    /// Keeps a seal, a checkpoint or an unknown record beside a run's log; the same record twice is kept once.
    ///
    /// Erasures and prunes are refused: they come into being by [`erase`](Self::erase) and [`prune`](Self::prune).
    fn add_side_record(&self, run: &RunId, record: SideRecord) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Erases payloads of one run and keeps the erase records; tells whether the content is gone from the store's
    /// files too. Erasing twice is no error: what was left in the files is cleared away then. Refused if an event
    /// is not there.
    ///
    /// Reaches events, and what commands and documents said before they were settled, replaced or removed.
    /// A document that still says what was in an event is its owner's to replace first.
    fn erase(&self, erasures: Vec<Erase>) -> BoxFuture<'_, Result<Traces, StoreError>>;

    /// Removes the prefix that the record names and keeps the record.
    ///
    /// Refused unless the run has ended, the terminal event stays, and the record names the hash that
    /// the log has there.
    fn prune(&self, prune: Prune) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Gives free space back to the system, and with it the last traces of pruned events that the backend
    /// may have left where it moved them from. Costs as much as writing the whole store again; call it
    /// once after many prunes.
    fn compact(&self) -> BoxFuture<'_, Result<Traces, StoreError>>;

    /// A document; `None` if there is none or it was to be forgotten by now.
    fn document(&self, collection: &str, key: &str) -> BoxFuture<'_, Result<Option<Document>, StoreError>>;

    /// Documents of a collection, the highest rank first. The cost grows with what is returned, not with what
    /// is there; of several facets, the first should be the rarest.
    fn documents(&self, collection: &str, query: DocumentQuery) -> BoxFuture<'_, Result<Vec<Document>, StoreError>>;

    /// Makes all changes in one transaction, in this order; false if an expectation did not hold, and then
    /// nothing was changed. Refused beyond the limits of [`Document`]. Documents that are to be forgotten are
    /// removed along the way. If this fails, whether anything was changed can be read from the documents.
    fn change_documents(&self, changes: Vec<DocumentChange>) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Content that is too large for an event.
    fn blobs(&self) -> &dyn BlobStore;

    /// Removes blobs that no event names and that are older than `grace`; tells which.
    fn collect_blobs(&self, grace: Duration) -> BoxFuture<'_, Result<Vec<Digest>, StoreError>>;

    /// Facts for `r1 doctor`: what is open, where, and whether it is sound.
    fn describe(&self) -> BoxFuture<'_, Result<StoreFacts, StoreError>>;

    /// Finishes what was accepted and lets go of all files and connections.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Whether content that was taken away is also gone from the store's files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Traces {
    /// Nothing of it is left there.
    Gone,
    /// Nobody can ask for it any more, but its bytes are still there.
    Left {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}

/// What became of each lease that was to be renewed.
pub type Renewals = Vec<Result<Lease, LeaseError>>;

/// A store that any part of the program may hold.
pub type SharedStore = Arc<dyn Store>;

/// How much one read may return: it stops at whichever comes first, but always returns one event if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// At most so many events.
    pub events: usize,
    /// Stop once so many bytes are reached.
    pub bytes: usize,
}

impl PageLimit {
    /// A single event.
    pub const ONE: Self = Self { events: 1, bytes: 0 };
    /// For one reader that goes through a whole log: fewer pages, as large as a processor's own memory.
    pub const BULK: Self = Self { events: 4096, bytes: 1 << 20 };
}

impl Default for PageLimit {
    /// Large enough to be fast, small enough that a thousand readers fit in memory.
    fn default() -> Self {
        Self { events: 1024, bytes: 1 << 20 }
    }
}

impl PageLimit {
    pub(crate) const fn room(self) -> Room {
        Room { left: self, first: true }
    }
}

/// What is left of a page's limit while the page is filled.
pub(crate) struct Room {
    left: PageLimit,
    first: bool,
}

impl Room {
    /// Whether an event of `bytes` still belongs on the page; the first always does.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        let takes = self.first || (self.left.events > 0 && self.left.bytes > 0);
        self.first = false;
        self.left.events = self.left.events.saturating_sub(1);
        self.left.bytes = self.left.bytes.saturating_sub(bytes);
        takes
    }
}

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFacts {
    /// memory, sqlite or postgres.
    pub backend: &'static str,
    /// Where it is, without any password.
    pub location: String,
    /// Version of the store's own layout.
    pub layout_version: u32,
    /// How many runs.
    pub runs: u64,
    /// How many bytes on disk, where that can be told.
    pub bytes: Option<u64>,
    /// One line per fact worth telling: journal mode, recovery at open, notifications lost, …
    pub notes: Vec<String>,
    /// One line per thing that needs mending: a table that is gone, writes that are refused.
    pub faults: Vec<String>,
}
