//! The default store: one SQLite file, and a folder of blobs beside it.
//!
//! - [`SqliteStore`]: open it, share it, close it. Several processes may use one file at once.
//!
//! Writes go through one thread that makes one transaction, and one sync, of all that waits
//! (`writer.rs`); an append is nothing but its inserts (`append.rs`, `standing.rs`). Another copies what
//! was written from the log into the database (`relief.rs`). Reads have connections of their own and never
//! wait for a write.

mod append;
mod blobs;
mod commands;
mod documents;
mod erase;
mod failure;
mod layout;
mod lease;
mod notice;
mod open;
mod open_runs;
mod read;
mod readers;
mod relief;
mod row;
mod standing;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, RunId, Seq, SideRecord};
use rusqlite::TransactionBehavior;

use self::blobs::SqliteBlobs;
use self::erase::Left;
use self::failure::{Failure, backend};
use self::notice::Notice;
use self::readers::Readers;
use self::relief::Relief;
use self::row::RunRow;
use self::writer::Writer;
use crate::blob::BlobStore;
use crate::blob::files::BlobFiles;
use crate::command::Command;
use crate::document::{Document, DocumentChange, DocumentQuery};
use crate::error::{AppendError, CommandError, LeaseError, OpenError, StoreError};
use crate::feed::{FeedCursor, FeedPage};
use crate::lease::{Acquired, Lease};
use crate::page::LogPage;
use crate::run::{Head, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
use crate::store::{PageLimit, Renewals, Store, StoreFacts, Traces};
use crate::watch::{CommandWatch, FeedWatch, HeadWatch, Watches};
use crate::{clock, rules};

/// How a [`SqliteStore`] behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The file may not grow beyond this; a write that would is refused as if the disk were full.
    pub max_bytes: Option<u64>,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How many pages the write-ahead log holds before they are copied into the database. More are faster, as each
    /// time ends with syncs of both files that writers wait for; but whoever opens the store after a crash reads
    /// the log twice.
    pub log_pages: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { max_bytes: None, busy_timeout: Duration::from_secs(10), log_pages: 8000 }
    }
}

/// A store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    blobs: SqliteBlobs,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    readers: Readers,
    /// `None` in a store that was opened for reading only.
    writer: Option<Writer>,
    watches: Watches,
    notice: Notice,
    files: BlobFiles,
    notes: Vec<String>,
}

impl SqliteStore {
    /// Opens the store at `path` and creates it if there is none.
    ///
    /// The file, which only its owner may read, and `path-blobs` beside it belong together.
    pub async fn open(path: impl Into<PathBuf>, options: SqliteOptions) -> Result<Self, OpenError> {
        Self::open_blocking(path.into(), move |path| {
            let (door, mut db, notes) = open::open(path, &options)?;
            let unavailable = |source| OpenError::Unavailable { location: path.display().to_string(), source };
            finish_prunes(&mut db).map_err(|err| unavailable(err.into()))?;
            let relief = Relief::attend(&mut db, door.clone(), options.log_pages);
            let relief = relief.map_err(|err| unavailable(err.into()))?;
            let watches = Watches::default();
            let writer = Writer::start(db, relief, watches.clone()).map_err(|err| unavailable(err.into()))?;
            Ok(Self::new(door, Some(writer), watches, notes))
        })
        .await
    }

    /// Opens an existing store and changes no byte of it, also in a directory that cannot be written.
    pub async fn open_read_only(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::open_blocking(path.into(), |path| {
            let (door, notes) = open::open_read_only(path)?;
            Ok(Self::new(door, None, Watches::default(), notes))
        })
        .await
    }

    async fn open_blocking(
        path: PathBuf,
        open: impl FnOnce(&Path) -> Result<Self, OpenError> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let location = path.display().to_string();
        let opened = tokio::task::spawn_blocking(move || open(&path)).await;
        opened.unwrap_or_else(|err| Err(OpenError::Unavailable { location, source: err.into() }))
    }

    fn new(door: open::Door, writer: Option<Writer>, watches: Watches, notes: Vec<String>) -> Self {
        let path = door.path.clone();
        let files = BlobFiles::new(open::beside(&path, "-blobs"));
        let (readers, notice) = (Readers::new(door.clone()), Notice::new(door, watches.clone()));
        let shared = Arc::new(Shared { path, readers, writer, watches, notice, files, notes });
        Self { blobs: SqliteBlobs::new(Arc::clone(&shared)), shared }
    }

    fn reading<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        self.shared.readers.read(work).boxed()
    }

    fn writing<T, E>(
        &self,
        work: impl FnMut(&mut writer::Session<'_>) -> rusqlite::Result<Result<T, E>> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, E>>
    where
        T: Send + 'static,
        E: From<Failure> + Send + 'static,
    {
        async move { self.shared.writer()?.inside(work).await? }.boxed()
    }
}

/// Goes on where a process that ended half way left off.
fn finish_prunes(db: &mut rusqlite::Connection) -> rusqlite::Result<()> {
    for run in erase::unfinished_prunes(db)? {
        loop {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let is_done = erase::remove_pruned(&transaction, &run)?;
            transaction.commit()?;
            if is_done {
                break;
            }
        }
    }
    Ok(())
}

/// How often, and how long apart, a busy write-ahead log is tried.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

impl Shared {
    fn writer(&self) -> Result<&Writer, Failure> {
        self.writer.as_ref().ok_or(Failure::ReadOnly)
    }

    /// Sees to it that what was changed is gone from all files.
    async fn settle(&self, left: Left) -> Result<Traces, StoreError> {
        let writer = self.writer()?;
        match left {
            Left::Nothing => return Ok(Traces::Gone),
            Left::Log => {}
            Left::Pages => writer.outside(|db| erase::compact(db)).await?,
        }
        for _ in 0..ATTEMPTS {
            if writer.outside(|db| erase::empty_log(db)).await? {
                return Ok(Traces::Gone);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(Traces::Left {
            reason: "a reader does not let go of the write-ahead log, which still has it".into(),
            remedy: "end the process that has been reading the store for so long, then try again".into(),
        })
    }
}

impl Store for SqliteStore {
    fn append(&self, lease: &Lease, batch: Batch) -> BoxFuture<'_, Result<Head, AppendError>> {
        let lease = lease.clone();
        async move {
            let run = batch.before().run().clone();
            let writer = match self.shared.writer() {
                Ok(writer) => writer,
                Err(failure) => return Err(failure.append(run)),
            };
            let files = self.shared.files.clone();
            let appended = writer.inside(move |session| append::append(session, &files, &lease, &batch)).await;
            appended.unwrap_or_else(|failure| Err(failure.append(run)))
        }
        .boxed()
    }

    fn head(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| read::head(db, &run))
    }

    fn chain(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Chain>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| read::chain(db, &run))
    }

    fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> BoxFuture<'_, Result<LogPage, StoreError>> {
        let run = run.clone();
        self.reading(move |db| read::page(db, &run, from, limit))
    }

    fn read_feed(&self, after: FeedCursor, limit: PageLimit) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.reading(move |db| read::feed(db, after, limit))
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedCursor, StoreError>> {
        self.reading(read::feed_end)
    }

    fn watch(&self, run: &RunId) -> HeadWatch {
        let watch = self.shared.watches.watch(run);
        self.shared.notice.attend();
        watch
    }

    fn watch_feed(&self) -> FeedWatch {
        let watch = self.shared.watches.watch_feed();
        self.shared.notice.attend();
        watch
    }

    fn run(&self, run: &RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| read::summary(db, &run))
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        self.reading(move |db| read::list(db, &filter))
    }

    fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> BoxFuture<'_, Result<Acquired, LeaseError>> {
        let (run, owner) = (run.clone(), owner.to_owned());
        self.writing(move |session| lease::acquire(session, &run, &owner, ttl))
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> BoxFuture<'_, Result<Lease, LeaseError>> {
        let lease = lease.clone();
        self.writing(move |session| lease::renew(session, &lease, ttl))
    }

    fn renew_all(&self, leases: &[Lease], ttl: Duration) -> BoxFuture<'_, Result<Renewals, StoreError>> {
        let leases = leases.to_vec();
        self.writing(move |session| lease::renew_all(session, &leases, ttl))
    }

    fn release(&self, lease: &Lease) -> BoxFuture<'_, Result<(), LeaseError>> {
        let lease = lease.clone();
        self.writing(move |session| lease::release(session, &lease))
    }

    fn lease(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| Ok(lease::find(db, &run)?.and_then(Lease::unless_given_back)))
    }

    fn leases(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<Option<Lease>>, StoreError>> {
        let runs = runs.to_vec();
        self.reading(move |db| lease::find_all(db, &runs))
    }

    fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.reading(move |db| open_runs::open_runs(db, after, limit, clock::now()))
    }

    fn leave_command(&self, run: &RunId, command: Command) -> BoxFuture<'_, Result<(), CommandError>> {
        let run = run.clone();
        async move {
            rules::check_command(&command)?;
            let of = run.clone();
            if let Some(position) = self.writing(move |session| commands::leave(session, &of, &command)).await? {
                self.shared.watches.publish_command(&run, position);
            }
            Ok(())
        }
        .boxed()
    }

    fn commands(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| commands::pending(db, &run))
    }

    fn withdraw_command(&self, run: &RunId, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (run, id) = (run.clone(), id.to_owned());
        self.writing(move |session| commands::withdraw(session, &run, &id))
    }

    fn watch_commands(&self, run: &RunId) -> CommandWatch {
        let watch = self.shared.watches.watch_commands(run);
        self.shared.notice.attend();
        watch
    }

    fn side_records(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<SideRecord>, StoreError>> {
        let run = run.clone();
        self.reading(move |db| read::side_records(db, &run))
    }

    fn add_side_record(&self, run: &RunId, record: SideRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        let run = run.clone();
        self.writing(move |session| {
            let Some(row) = RunRow::find(session.db, &run)? else {
                return Ok(Err(StoreError::NoRun { run: run.clone() }));
            };
            match rules::check_side_record(&run, &record) {
                Ok(()) => erase::keep(session.db, row.id, &record).map(Ok),
                Err(refusal) => Ok(Err(refusal)),
            }
        })
    }

    fn erase(&self, erasures: Vec<Erase>) -> BoxFuture<'_, Result<Traces, StoreError>> {
        async move {
            let left = self.writing(move |session| erase::erase(session, &erasures)).await?;
            self.shared.settle(left).await
        }
        .boxed()
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let run = prune.run_id.clone();
            self.writing(move |session| erase::prune(session, &prune)).await?;
            loop {
                let run = run.clone();
                let removed =
                    self.writing(move |session| erase::remove_pruned(session.db, &run).map(Ok::<_, StoreError>));
                if removed.await? {
                    break;
                }
            }
            // What is left in the log, compacting clears away and tells.
            self.shared.settle(Left::Log).await.map(drop)
        }
        .boxed()
    }

    fn compact(&self) -> BoxFuture<'_, Result<Traces, StoreError>> {
        self.shared.settle(Left::Pages).boxed()
    }

    fn document(&self, collection: &str, key: &str) -> BoxFuture<'_, Result<Option<Document>, StoreError>> {
        let (collection, key) = (collection.to_owned(), key.to_owned());
        self.reading(move |db| documents::get(db, &collection, &key, clock::now()))
    }

    fn documents(&self, collection: &str, query: DocumentQuery) -> BoxFuture<'_, Result<Vec<Document>, StoreError>> {
        let collection = collection.to_owned();
        self.reading(move |db| documents::find(db, &collection, &query, clock::now()))
    }

    fn change_documents(&self, changes: Vec<DocumentChange>) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move {
            rules::check_documents(&changes)?;
            self.writing(move |session| documents::change(session, &changes, clock::now())).await
        }
        .boxed()
    }

    fn blobs(&self) -> &dyn BlobStore {
        &self.blobs
    }

    fn collect_blobs(&self, grace: Duration) -> BoxFuture<'_, Result<Vec<Digest>, StoreError>> {
        let files = self.shared.files.clone();
        async move {
            let abandoned = files.clone();
            let collected = self.writing(move |session| blobs::collect(session, &files, grace)).await?;
            let removed = tokio::task::spawn_blocking(move || abandoned.remove_abandoned()).await;
            removed.map_err(backend)?.map_err(backend)?;
            Ok(collected)
        }
        .boxed()
    }

    fn describe(&self) -> BoxFuture<'_, Result<StoreFacts, StoreError>> {
        async move {
            let (layout_version, runs, journal_mode, mut faults) = self
                .reading(|db| {
                    let runs = db.query_one("SELECT count(*) FROM runs", [], |row| row::unsigned(row, 0))?;
                    let mode: String = db.query_one("PRAGMA journal_mode", [], |row| row.get(0))?;
                    Ok((layout::version(db)?, runs, mode, layout::faults(db)?))
                })
                .await?;
            let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
            let path = &self.shared.path;
            let mut notes = vec![format!("journal mode {journal_mode}, SQLite {}", rusqlite::version())];
            notes.extend(self.shared.notes.iter().cloned());
            if let Some(reason) = self.shared.writer.as_ref().and_then(Writer::poisoned) {
                faults.push(format!("writes are refused since one failed ({reason}); open the store again"));
            }
            Ok(StoreFacts {
                backend: "sqlite",
                location: path.display().to_string(),
                layout_version,
                runs,
                bytes: Some(size(path) + size(&open::wal_path(path))),
                notes,
                faults,
            })
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            self.shared.watches.close();
            self.shared.notice.close().await;
            // Readers go first: the last connection to close tidies up, and only the writer may.
            self.shared.readers.close().await;
            if let Some(writer) = &self.shared.writer {
                writer.close().await;
            }
            Ok(())
        }
        .boxed()
    }
}
