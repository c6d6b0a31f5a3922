//! The one thread that writes, and the queue that leads to it.
//!
//! Whatever waits in the queue becomes one transaction: each job looks first and changes only what it
//! may, then a single commit, one sync, stands for all of them, and only then are they answered.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use r1_event::{RunId, Seq};
use rusqlite::{CachedStatement, Connection};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::failure::{self, Failure};
use super::relief::Relief;
use super::standing::Standings;
use crate::watch::Watches;

/// How many jobs may wait before callers do.
const QUEUE: usize = 4096;
/// How many jobs share a commit at most.
const GROUP: usize = 2048;
/// How long the thread stays awake for the next job: a fraction of what a commit takes.
const SOON: Duration = Duration::from_micros(30);

/// The way to the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` once closed.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    poison: Poison,
}

/// Why nothing is written any more, once that is so.
pub(super) type Poison = Arc<OnceLock<Arc<str>>>;

/// What a job may use inside the transaction.
pub(super) struct Session<'a> {
    pub(super) db: &'a Connection,
    pub(super) standings: &'a mut Standings,
    /// Runs that are longer once the transaction is committed.
    pub(super) grown: &'a mut Vec<(RunId, Seq)>,
    /// Inserts an event: the one statement that is worth keeping at hand from job to job.
    insert_event: Option<CachedStatement<'a>>,
}

impl<'a> Session<'a> {
    /// The statement that inserts an event by run, seq, header and payload.
    pub(super) fn insert_event(&mut self) -> rusqlite::Result<&mut CachedStatement<'a>> {
        let statement = match self.insert_event.take() {
            Some(statement) => statement,
            None => self.db.prepare_cached("INSERT INTO events (run, seq, header, payload) VALUES (?1, ?2, ?3, ?4)")?,
        };
        Ok(self.insert_event.insert(statement))
    }
}

enum Job {
    Inside(Box<dyn Inside>),
    Outside(Outside),
}

/// A job between transactions; gets no connection once the writer is poisoned.
type Outside = Box<dyn FnOnce(Result<&mut Connection, Failure>) + Send>;

/// A job that shares its transaction with others.
trait Inside: Send {
    /// Does the work. A failed statement undoes the whole transaction.
    fn apply(&mut self, session: &mut Session<'_>) -> rusqlite::Result<()>;
    /// Tells the caller what became of it.
    fn answer(self: Box<Self>, failure: Option<&Failure>);
}

impl Writer {
    /// Starts the thread, which ends when the writer is closed or dropped.
    pub(super) fn start(db: Connection, relief: Relief, watches: Watches) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let poison = Poison::default();
        let standings = Standings::default();
        let desk = Desk { db, relief, standings, grown: Vec::new(), watches, poison: Arc::clone(&poison) };
        let thread = std::thread::Builder::new().name("r1-sqlite-writer".into()).spawn(move || desk.work(jobs))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), poison })
    }

    /// Runs `work` inside a transaction, together with whatever else waits.
    ///
    /// `work` gives back a refusal without having changed anything, or a result, which is answered
    /// after the commit. The outer error is a failure of the transaction.
    pub(super) async fn inside<T, E>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> rusqlite::Result<Result<T, E>> + Send + 'static,
    ) -> Result<Result<T, E>, Failure>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Inside(Box::new(Task { work, result: None, failure: None, reply: Some(reply) }))).await?;
        answer.await.map_err(|_| Failure::Lost)?.outcome()
    }

    /// Runs `work` between transactions.
    pub(super) async fn outside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Outside(Box::new(move |db| {
            // Whoever asked may have gone away; the work is done all the same.
            drop(reply.send(db.and_then(|db| work(db).map_err(|err| Failure::RolledBack(Arc::new(err))))));
        }));
        self.send(job).await?;
        answer.await.unwrap_or(Err(Failure::Lost))
    }

    async fn send(&self, job: Job) -> Result<(), Failure> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        queue.ok_or(Failure::Closed)?.send(job).await.map_err(|_| Failure::Closed)
    }

    /// Why nothing is written any more, if that is so.
    pub(super) fn poisoned(&self) -> Option<Arc<str>> {
        self.poison.get().cloned()
    }

    /// Whether [`close`](Self::close) was called.
    pub(super) fn is_closed(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Finishes what waits and lets go of the file.
    pub(super) async fn close(&self) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(queue);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was answered as `Failure::Lost` to everyone it concerned.
            drop(tokio::task::spawn_blocking(move || thread.join()).await);
        }
    }
}

/// One caller's work, what came of it, and the way back.
///
/// The whole task goes back to the caller, who frees it with all that the work needed: the writing thread is the
/// one that everybody waits for.
struct Task<T, E, F> {
    work: F,
    result: Option<Result<T, E>>,
    failure: Option<Failure>,
    /// `None` on the way back.
    reply: Option<oneshot::Sender<Box<Self>>>,
}

impl<T, E, F> Task<T, E, F> {
    fn outcome(self) -> Result<Result<T, E>, Failure> {
        match (self.failure, self.result) {
            (None, Some(result)) => Ok(result),
            // A refused job has written nothing, whatever became of the others.
            (Some(Failure::Unknown(err)), Some(Err(_))) => Err(Failure::RolledBack(err)),
            (Some(failure), _) => Err(failure),
            (None, None) => Err(Failure::Lost),
        }
    }
}

impl<T, E, F> Inside for Task<T, E, F>
where
    T: Send,
    E: Send,
    F: FnMut(&mut Session<'_>) -> rusqlite::Result<Result<T, E>> + Send,
{
    fn apply(&mut self, session: &mut Session<'_>) -> rusqlite::Result<()> {
        self.result = Some((self.work)(session)?);
        Ok(())
    }

    fn answer(mut self: Box<Self>, failure: Option<&Failure>) {
        self.failure = failure.cloned();
        if let Some(reply) = self.reply.take() {
            // Whoever asked may have gone away; what was committed stays.
            drop(reply.send(self));
        }
    }
}

/// Jobs that share a transaction.
type Group = Vec<Box<dyn Inside>>;

/// Adds to the group whoever waits, without waiting for more; a job that cannot be in it is given back.
fn gather(jobs: &mut mpsc::Receiver<Job>, group: &mut Group) -> Option<Job> {
    while group.len() < GROUP {
        match jobs.try_recv().ok()? {
            Job::Inside(job) => group.push(job),
            outside @ Job::Outside(_) => return Some(outside),
        }
    }
    None
}

/// The next job, if it comes at once. Whoever was just answered often does, and a thread that sleeps is slow to wake.
fn soon(jobs: &mut mpsc::Receiver<Job>) -> Option<Job> {
    let since = Instant::now();
    while since.elapsed() < SOON {
        match jobs.try_recv() {
            Ok(job) => return Some(job),
            Err(TryRecvError::Empty) => std::thread::yield_now(),
            Err(TryRecvError::Disconnected) => break,
        }
    }
    None
}

/// All that the writing thread owns.
struct Desk {
    db: Connection,
    relief: Relief,
    standings: Standings,
    grown: Vec<(RunId, Seq)>,
    watches: Watches,
    poison: Poison,
}

impl Desk {
    fn work(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut group = Vec::new();
        let mut next = None;
        while let Some(job) = next.take().or_else(|| soon(&mut jobs)).or_else(|| jobs.blocking_recv()) {
            match job {
                Job::Inside(first) => {
                    group.push(first);
                    next = gather(&mut jobs, &mut group);
                    self.finish(&mut group, &mut jobs, &mut next);
                }
                Job::Outside(work) => work(match self.poison.get() {
                    Some(reason) => Err(Failure::Poisoned(Arc::clone(reason))),
                    None => Ok(&mut self.db),
                }),
            }
        }
        // Before the connection, which as the last one leaves no log behind.
        self.relief.end();
    }

    /// Makes one transaction of the group, and of who joins it meanwhile, and answers everyone in it.
    /// What cannot join is left as `next`.
    fn finish(&mut self, group: &mut Group, jobs: &mut mpsc::Receiver<Job>, next: &mut Option<Job>) {
        let failure = self.commit(group, jobs, next).err();
        if failure.is_some() {
            self.standings.clear();
            self.grown.clear();
        }
        for job in group.drain(..) {
            job.answer(failure.as_ref());
        }
        if !self.grown.is_empty() {
            self.watches.publish_all(self.grown.iter().map(|(run, next)| (run, *next)));
            self.grown.clear();
        }
    }

    fn commit(
        &mut self,
        group: &mut Group,
        jobs: &mut mpsc::Receiver<Job>,
        next: &mut Option<Job>,
    ) -> Result<(), Failure> {
        if let Some(reason) = self.poison.get() {
            return Err(Failure::Poisoned(Arc::clone(reason)));
        }
        self.execute("BEGIN IMMEDIATE").map_err(|err| {
            // Waiting for another process in vain is no damage.
            if failure::is_busy(&err) {
                Failure::RolledBack(Arc::new(err))
            } else {
                self.poison(err, Failure::RolledBack)
            }
        })?;
        self.apply(group, jobs, next).map_err(|err| {
            // The statement's failure is the one to tell; the poison keeps what is left undone from mattering.
            self.execute("ROLLBACK").ok();
            self.poison(err, Failure::RolledBack)
        })?;
        self.execute("COMMIT").map_err(|err| {
            self.execute("ROLLBACK").ok();
            self.poison(err, Failure::Unknown)
        })
    }

    fn apply(
        &mut self,
        group: &mut Group,
        jobs: &mut mpsc::Receiver<Job>,
        next: &mut Option<Job>,
    ) -> rusqlite::Result<()> {
        let Self { db, standings, grown, .. } = self;
        standings.forget_if_written_elsewhere(db)?;
        let mut session = Session { db, standings, grown, insert_event: None };
        let mut applied = 0;
        while applied < group.len() {
            group[applied..].iter_mut().try_for_each(|job| job.apply(&mut session))?;
            applied = group.len();
            // Whoever came while these were served shares their sync.
            if next.is_none() {
                *next = gather(jobs, group);
            }
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Refuses every write from now on.
    fn poison(&self, err: rusqlite::Error, failure: fn(Arc<rusqlite::Error>) -> Failure) -> Failure {
        self.poison.get_or_init(|| err.to_string().into());
        failure(Arc::new(err))
    }
}
