//! PostgreSQL: one log for many machines.
//!
//! - Whatever is written is decided under row locks and enforced by the primary key `(run, seq)`.
//! - All appends that wait in a process share one transaction (`commit`, `append`).
//! - Nothing is prepared and no session state is relied on, so a pooler may stand in between.
//!   Notifications are hints; polling finds what they miss (`wake`).
//! - A server that restarts is waited for; a commit that was on its way is looked up and finished, so
//!   an error says "unknown" only if the server does not come back in time.
//! - The feed shows an event once every older transaction of the database cluster has ended. One that
//!   stays open for hours holds the feed back for hours; nothing is lost, and runs are read as ever.
//! - Durability is the server's: with `fsync = off` there is none. `describe` says so.

mod address;
mod append;
mod blobs;
mod columns;
mod commands;
mod commit;
mod database;
mod documents;
mod layout;
mod leases;
mod notes;
mod options;
mod password;
mod read;
mod rows;
mod side;
mod wake;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use address::PostgresUrl;
use futures_util::future::BoxFuture;
pub use options::PostgresOptions;
pub use password::Passwords;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, RunId, Seq, SideRecord};
use tokio::task::JoinSet;

use self::append::Request;
use self::blobs::Blobs;
use self::commit::Committers;
use self::database::{Database, Patience};
use self::options::Target;
use self::read::{End, Settled};
use self::wake::Wake;
use crate::blob::BlobStore;
use crate::command::Command;
use crate::document::{Document, DocumentChange, DocumentQuery};
use crate::error::{AppendError, CommandError, LeaseError, OpenError, StoreError};
use crate::feed::{FeedCursor, FeedPage};
use crate::lease::{Acquired, Lease};
use crate::page::LogPage;
use crate::run::{Head, OpenRun, RunFilter, RunPage, RunPosition, RunSummary};
use crate::store::{PageLimit, Renewals, Store, StoreFacts};
use crate::watch::{CommandWatch, FeedWatch, HeadWatch};

/// How long a reader of the feed waits for older transactions to end.
const SETTLE: Patience = Patience { total: Duration::from_secs(1), pause: Duration::from_millis(2) };

/// Logs in a PostgreSQL database.
pub struct PostgresStore {
    db: Arc<Database>,
    blobs: Blobs,
    wake: Wake,
    /// `None` once closed.
    committers: Mutex<Option<Committers>>,
    /// Drained by closing.
    committing: tokio::sync::Mutex<JoinSet<()>>,
    /// Stopped by closing or dropping.
    background: Mutex<JoinSet<()>>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("location", &self.db.location).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens the store at a `postgres://` URL, whose `?schema=` may name the schema; makes the tables
    /// if there are none, unless the options say otherwise, and brings older ones up to date.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, OpenError> {
        let db = Arc::new(Database::new(Target::parse(url, &options)?, &options)?);
        let unavailable =
            |err: tokio_postgres::Error| OpenError::Unavailable { location: db.location.clone(), source: err.into() };
        let client = db.connect().await.map_err(unavailable)?;
        layout::prepare(&client, &db, options.create).await?;
        columns::check(&client, &db).await?;
        db.learn_durability(&client).await.map_err(unavailable)?;
        drop(client);

        let (mut background, mut committing) = (JoinSet::new(), JoinSet::new());
        let wake = Wake::start(&db, &options, &mut background);
        let committers = Committers::start(options.committers, &db, &wake, &mut committing);
        Ok(Self {
            blobs: Blobs { db: Arc::clone(&db) },
            db,
            wake,
            committers: Mutex::new(Some(committers)),
            committing: committing.into(),
            background: background.into(),
        })
    }

    async fn facts(&self) -> Result<StoreFacts, StoreError> {
        let rows = self
            .db
            .query(
                "SELECT (SELECT count(*) FROM @runs), current_setting('server_version'), current_setting('fsync'),
                        current_setting('full_page_writes'), current_setting('synchronous_commit'),
                        (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                         JOIN pg_namespace n ON n.oid = c.relnamespace
                         WHERE n.nspname = $1 AND c.relkind = 'r')",
                &[(&self.db.schema, tokio_postgres::types::Type::TEXT)],
            )
            .await?;
        let mut facts = StoreFacts {
            backend: "postgres",
            location: self.db.location.clone(),
            layout_version: layout::CURRENT,
            runs: 0,
            bytes: None,
            notes: Vec::new(),
            faults: Vec::new(),
        };
        let Some(row) = rows.first() else { return Ok(facts) };
        facts.runs = row.get::<_, i64>(0).cast_unsigned();
        facts.bytes = row.get::<_, Option<i64>>(5).map(i64::cast_unsigned);
        facts.notes.push(format!("server: PostgreSQL {}", row.get::<_, &str>(1)));
        for (setting, column) in [("fsync", 2), ("full_page_writes", 3)] {
            if row.get::<_, &str>(column) == "off" {
                facts
                    .notes
                    .push(format!("the server runs with {setting} = off: a power cut can lose or damage events"));
            }
        }
        if row.get::<_, &str>(4) == "off" {
            facts.notes.push("synchronous_commit is off by default here; R1 turns it on for its own commits".into());
        }
        facts.notes.push(match self.wake.hears().await {
            true => "notifications: listening".into(),
            false => "notifications: none arrive; other processes' events are found by polling".into(),
        });
        Ok(facts)
    }
}

impl Store for PostgresStore {
    fn append(&self, lease: &Lease, batch: Batch) -> BoxFuture<'_, Result<Head, AppendError>> {
        let request = Request { lease: lease.clone(), batch };
        let committers = self.committers.lock().unwrap_or_else(PoisonError::into_inner);
        match &*committers {
            Some(committers) => Box::pin(committers.submit(request)),
            None => Box::pin(async move {
                Err(AppendError::Failed { run: request.run().clone(), source: StoreError::Closed.into() })
            }),
        }
    }

    fn head(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Head>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { Ok(self.db.summary(&run).await?.map(|summary| summary.head)) })
    }

    fn chain(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Chain>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.chain(&run).await })
    }

    fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> BoxFuture<'_, Result<LogPage, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.read(&run, from, limit).await })
    }

    fn read_feed(&self, after: FeedCursor, limit: PageLimit) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        Box::pin(async move {
            let mut patience = SETTLE.start();
            // Most transactions take milliseconds: what is committed by now is worth the wait.
            let mut committed = None;
            loop {
                let Settled { page, is_full, below, newest } = self.db.feed(after, limit).await?;
                let wanted = *committed.get_or_insert(newest);
                if is_full || wanted.is_none_or(|xid| xid < below) {
                    return Ok(page);
                }
                if !patience.pause().await {
                    // Nobody will tell when the old transaction ends, so whoever waits looks again.
                    self.wake.watches().publish_feed();
                    return Ok(page);
                }
            }
        })
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedCursor, StoreError>> {
        Box::pin(async move {
            let mut patience = SETTLE.start();
            let mut committed = None;
            loop {
                let End { settled, below, newest } = self.db.feed_end().await?;
                let wanted = *committed.get_or_insert(newest);
                // What an older transaction still writes will stand before what is committed by now.
                if wanted.is_none_or(|xid| xid < below) || !patience.pause().await {
                    return Ok(settled);
                }
            }
        })
    }

    fn watch(&self, run: &RunId) -> HeadWatch {
        self.wake.watches().watch(run)
    }

    fn watch_feed(&self) -> FeedWatch {
        self.wake.watches().watch_feed()
    }

    fn run(&self, run: &RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.summary(&run).await })
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<RunPage, StoreError>> {
        Box::pin(async move { self.db.list(&filter).await })
    }

    fn acquire(&self, run: &RunId, owner: &str, ttl: Duration) -> BoxFuture<'_, Result<Acquired, LeaseError>> {
        let (run, owner) = (run.clone(), owner.to_owned());
        Box::pin(async move { self.db.acquire(&run, &owner, ttl).await })
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> BoxFuture<'_, Result<Lease, LeaseError>> {
        let lease = lease.clone();
        Box::pin(async move { self.db.renew(&lease, ttl).await })
    }

    fn renew_all(&self, leases: &[Lease], ttl: Duration) -> BoxFuture<'_, Result<Renewals, StoreError>> {
        let leases = leases.to_vec();
        Box::pin(async move { self.db.renew_all(&leases, ttl).await })
    }

    fn release(&self, lease: &Lease) -> BoxFuture<'_, Result<(), LeaseError>> {
        let lease = lease.clone();
        Box::pin(async move { self.db.release(&lease).await })
    }

    fn lease(&self, run: &RunId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.lease(&run).await })
    }

    fn leases(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<Option<Lease>>, StoreError>> {
        let runs = runs.to_vec();
        Box::pin(async move { self.db.leases(&runs).await })
    }

    fn open_runs(&self, after: Option<RunPosition>, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        Box::pin(self.db.open_runs(after, limit))
    }

    fn leave_command(&self, run: &RunId, command: Command) -> BoxFuture<'_, Result<(), CommandError>> {
        let run = run.clone();
        Box::pin(async move {
            let announce = |position| self.wake.announcement(&self.db, &run, position);
            if let Some(position) = self.db.leave_command(&run, &command, announce).await? {
                self.wake.watches().publish_command(&run, position);
            }
            Ok(())
        })
    }

    fn commands(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.commands(&run).await })
    }

    fn withdraw_command(&self, run: &RunId, id: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (run, id) = (run.clone(), id.to_owned());
        Box::pin(async move { self.db.withdraw_command(&run, &id).await })
    }

    fn watch_commands(&self, run: &RunId) -> CommandWatch {
        self.wake.watches().watch_commands(run)
    }

    fn side_records(&self, run: &RunId) -> BoxFuture<'_, Result<Vec<SideRecord>, StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.side_records(&run).await })
    }

    fn add_side_record(&self, run: &RunId, record: SideRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        let run = run.clone();
        Box::pin(async move { self.db.add_side_record(&run, &record).await })
    }

    fn erase(&self, erasures: Vec<Erase>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.db.erase(&erasures).await })
    }

    fn prune(&self, prune: Prune) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.db.prune(&prune).await })
    }

    fn compact(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.db.vacuum("FULL", layout::TABLES))
    }

    fn document(&self, collection: &str, key: &str) -> BoxFuture<'_, Result<Option<Document>, StoreError>> {
        let (collection, key) = (collection.to_owned(), key.to_owned());
        Box::pin(async move { self.db.document(&collection, &key).await })
    }

    fn documents(&self, collection: &str, query: DocumentQuery) -> BoxFuture<'_, Result<Vec<Document>, StoreError>> {
        let collection = collection.to_owned();
        Box::pin(async move { self.db.documents(&collection, &query).await })
    }

    fn change_documents(&self, changes: Vec<DocumentChange>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { self.db.change_documents(&changes).await })
    }

    fn blobs(&self) -> &dyn BlobStore {
        &self.blobs
    }

    fn collect_blobs(&self, grace: Duration) -> BoxFuture<'_, Result<Vec<Digest>, StoreError>> {
        Box::pin(self.db.collect_blobs(grace))
    }

    fn describe(&self) -> BoxFuture<'_, Result<StoreFacts, StoreError>> {
        Box::pin(self.facts())
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            // Without queues the committers store what they have and end.
            drop(self.committers.lock().unwrap_or_else(PoisonError::into_inner).take());
            while self.committing.lock().await.join_next().await.is_some() {}
            self.background.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
            self.wake.watches().close();
            self.db.close();
            Ok(())
        })
    }
}
