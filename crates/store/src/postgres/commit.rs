//! Group commit: everyone who waits shares the next transaction, and with it one sync of the disk.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Error};

use super::append::{self, GroupError, KnownRuns, Outcomes, Request, Restored};
use super::database::Database;
use super::failure::{is_locked_out, is_lost};
use super::locks::LockedOut;
use super::wake::Wake;
use crate::error::{AppendError, Source, StoreError};
use crate::run::Head;

/// Most batches in one transaction: each holds a row lock until the commit.
const GROUP_REQUESTS: usize = 1024;

/// Most bytes in one transaction, unless a single batch is larger.
const GROUP_BYTES: usize = 32 << 20;

/// Longest wait for requests that may join a transaction.
const LONGEST_WAIT: Duration = Duration::from_millis(2);

/// How often others get their turn before anyone is waited for.
const YIELDS: usize = 2;

/// How often a group starts over at once when another transaction was in its way.
const TRIES_AT_ONCE: usize = 8;

/// The queues, one per committer. A run always goes to the same one, so its batches stay in order and
/// two committers never wait for each other.
pub(super) struct Committers {
    queues: Vec<mpsc::Sender<Waiting>>,
}

struct Waiting {
    request: Request,
    answer: oneshot::Sender<Result<Head, AppendError>>,
}

impl Committers {
    /// Starts `count` committers; they end once this is dropped and what was accepted is stored.
    pub(super) fn start(count: usize, db: &Arc<Database>, wake: &Wake, tasks: &mut JoinSet<()>) -> Self {
        let queues = (0..count.max(1)).map(|_| {
            let (queue, waiting) = mpsc::channel(GROUP_REQUESTS);
            let committer = Committer {
                db: Arc::clone(db),
                wake: wake.clone(),
                waiting,
                client: None,
                last: Group::default(),
                known: KnownRuns::default(),
            };
            tasks.spawn(committer.run());
            queue
        });
        Self { queues: queues.collect() }
    }

    /// The queue for a request.
    fn queue(&self, request: &Request) -> mpsc::Sender<Waiting> {
        let mut hasher = DefaultHasher::new();
        request.run().hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % self.queues.len() as u64).unwrap_or(0);
        self.queues[index].clone()
    }

    /// Hands a request over; the future ends once its fate is known.
    pub(super) fn submit(&self, request: Request) -> impl Future<Output = Result<Head, AppendError>> + Send + use<> {
        let queue = self.queue(&request);
        async move {
            let run = request.run().clone();
            let (answer, answered) = oneshot::channel();
            if queue.send(Waiting { request, answer }).await.is_err() {
                return Err(AppendError::Failed { run, source: StoreError::Closed.into() });
            }
            // A committer that vanished did so with its runtime: it may have been at work.
            drop(queue);
            answered.await.unwrap_or_else(|gone| Err(AppendError::OutcomeUnknown { run, source: gone.into() }))
        }
    }
}

struct Committer {
    db: Arc<Database>,
    wake: Wake,
    waiting: mpsc::Receiver<Waiting>,
    client: Option<Client>,
    last: Group,
    known: KnownRuns,
}

/// The transaction before.
#[derive(Default)]
struct Group {
    /// How many requests it had, and how many more were waiting at its end.
    active: usize,
    took: Duration,
}

impl Committer {
    async fn run(mut self) {
        let mut arrived = Vec::new();
        while self.gather(&mut arrived).await {
            let mut rest = arrived.drain(..).peekable();
            while rest.peek().is_some() {
                let mut bytes = 0;
                let mut group = Vec::new();
                while let Some(next) = rest.next_if(|next| bytes == 0 || bytes + next.request.bytes() <= GROUP_BYTES) {
                    bytes += next.request.bytes().max(1);
                    group.push(next);
                }
                self.store(group).await;
            }
        }
    }

    /// Waits for requests; false once no more can come.
    ///
    /// Whoever was just answered comes back in a moment. To begin with the first of them would leave
    /// the others to the next transaction, so as many as were active are waited for, but not for long.
    async fn gather(&mut self, arrived: &mut Vec<Waiting>) -> bool {
        if self.waiting.recv_many(arrived, GROUP_REQUESTS).await == 0 {
            return false;
        }
        // Those who are ready to run come without a wake-up of this task for each of them.
        for _ in 0..YIELDS {
            if arrived.len() >= self.last.active {
                break;
            }
            tokio::task::yield_now().await;
            while arrived.len() < GROUP_REQUESTS
                && let Ok(next) = self.waiting.try_recv()
            {
                arrived.push(next);
            }
        }
        let until = Instant::now() + (self.last.took / 4).min(LONGEST_WAIT);
        while arrived.len() < self.last.active.min(GROUP_REQUESTS) {
            let room = GROUP_REQUESTS.saturating_sub(arrived.len());
            match timeout_at(until, self.waiting.recv_many(arrived, room)).await {
                Ok(more) if more > 0 => {}
                Ok(_) | Err(_) => break,
            }
        }
        true
    }

    async fn store(&mut self, group: Vec<Waiting>) {
        let (requests, answers): (Vec<_>, Vec<_>) = group.into_iter().map(|w| (w.request, w.answer)).unzip();
        let begun = Instant::now();
        let outcomes = self.outcomes(&requests, false).await;
        self.last = Group { active: requests.len() + self.waiting.len(), took: begun.elapsed() };
        let stored = outcomes
            .iter()
            .zip(&requests)
            .filter_map(|(outcome, request)| outcome.as_ref().ok().map(|head| (request.run().clone(), head.next)));
        self.wake.stored(stored.collect());
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // Whoever no longer waits does not want to know.
            drop(answer.send(outcome));
        }
    }

    /// Stores what can be stored and tells what became of each request.
    async fn outcomes(&mut self, requests: &[Request], mut doubtful: bool) -> Outcomes {
        let mut patience = self.db.patience.start();
        let mut at_once = TRIES_AT_ONCE;
        let failure = loop {
            let failure = match self.attempt(requests, doubtful).await {
                Ok(outcomes) => return outcomes,
                Err(GroupError::OutOfOrder | GroupError::Outdated | GroupError::Stuck | GroupError::Collided)
                    if at_once > 0 =>
                {
                    at_once -= 1;
                    continue;
                }
                Err(GroupError::OutOfOrder | GroupError::Outdated | GroupError::Stuck | GroupError::Collided) => {
                    Failure::Contended
                }
                Err(GroupError::Restored(err)) => break Failure::Restored(err),
                Err(GroupError::Refused(err)) if is_locked_out(&err) => {
                    break Failure::LockedOut(self.db.locked_out(err).await);
                }
                Err(GroupError::Refused(err)) => break Failure::Server(err),
                Err(GroupError::Lost(err)) => Failure::Server(err),
                Err(GroupError::Unconfirmed(err)) => {
                    doubtful = true;
                    Failure::Server(err)
                }
            };
            if !patience.pause().await {
                break failure;
            }
        };
        if requests.len() == 1 || failure.concerns_all() {
            return give_up(requests, doubtful, failure);
        }
        // One of them is at fault. Each on its own, none pays for another.
        let mut outcomes = Vec::with_capacity(requests.len());
        let mut unavailable = 0;
        for (index, request) in requests.iter().enumerate() {
            // Not only these few: whoever holds them up, or whatever is away, is in the way of all.
            if unavailable > 1 {
                outcomes.extend(give_up(&requests[index..], doubtful, failure));
                break;
            }
            let outcome = Box::pin(self.outcomes(std::slice::from_ref(request), doubtful)).await;
            let is_unavailable = |outcome: &Result<_, AppendError>| {
                matches!(outcome, Err(AppendError::Unavailable { .. } | AppendError::OutcomeUnknown { .. }))
            };
            unavailable += outcome.iter().filter(|outcome| is_unavailable(outcome)).count();
            outcomes.extend(outcome);
        }
        outcomes
    }

    async fn attempt(&mut self, requests: &[Request], doubtful: bool) -> Result<Outcomes, GroupError> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.db.connect().await.map_err(GroupError::Lost)?,
        };
        let stored = append::store(&client, &self.db, requests, &mut self.known, doubtful).await;
        // A connection whose transaction cannot be ended is not used again.
        let is_usable = match &stored {
            Ok(_) => true,
            Err(GroupError::Stuck) => false,
            Err(_) => client.batch_execute("ROLLBACK").await.is_ok(),
        };
        if is_usable {
            self.client = Some(client);
        }
        stored
    }
}

/// Why a group was given up.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Server(Error),
    #[error(transparent)]
    Restored(Restored),
    #[error(transparent)]
    LockedOut(LockedOut),
    #[error("other transactions were in the way each time; try again when there are fewer")]
    Contended,
}

impl Failure {
    /// Whether each request on its own would fail in the same way.
    fn concerns_all(&self) -> bool {
        match self {
            Self::Server(err) => is_lost(err),
            Self::Restored(_) | Self::LockedOut(_) | Self::Contended => false,
        }
    }

    /// Whether the same may work later.
    fn passes(&self) -> bool {
        match self {
            Self::Server(err) => is_lost(err),
            Self::Restored(_) => false,
            Self::LockedOut(_) | Self::Contended => true,
        }
    }
}

fn give_up(requests: &[Request], doubtful: bool, failure: Failure) -> Outcomes {
    let cause: Arc<Failure> = Arc::new(failure);
    let outcome = |request: &Request| {
        let (run, source): (_, Source) = (request.run().clone(), Arc::clone(&cause).into());
        Err(if doubtful {
            AppendError::OutcomeUnknown { run, source }
        } else if cause.passes() {
            AppendError::Unavailable { run, source }
        } else {
            AppendError::Failed { run, source }
        })
    };
    requests.iter().map(outcome).collect()
}
