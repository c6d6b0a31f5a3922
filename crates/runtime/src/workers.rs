//! The queue: runs that nobody works on, and workers that take them.
//!
//! There is no queue beside the logs. A run is in the queue if it is open and nobody holds its lease;
//! which of them comes first is read from their logs.
//!
//! - [`Workers`]: takes runs and works on them, so many at a time as there are slots.
//! - [`Foreman`]: asks the workers to take a certain run now.

mod queue;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use r1_event::{RunId, Seq};
use r1_store::{Listed, RunFilter};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::queue::{Queue, Waiting};
use crate::engine::{Claim, Engine, EngineError, Slot, release_the_dead, throttle};
use crate::world;

/// How often the store is searched for runs that others left behind.
const SEARCH_EVERY: Duration = Duration::from_secs(10);

/// How often at most it is searched because some log has grown.
const SETTLE: Duration = Duration::from_millis(250);

/// How many runs are told in one round that they were passed over.
const MOST_TOLD: usize = 64;

/// Workers of one process.
pub struct Workers {
    engine: Arc<Engine>,
    limits: Limits,
    queue: Queue,
    at_work: HashMap<RunId, AtWork>,
    tasks: JoinSet<()>,
    asked: (mpsc::Sender<Asked>, mpsc::Receiver<Asked>),
    busy: Arc<AtomicUsize>,
}

/// How much is done at a time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Runs that are worked on.
    pub slots: usize,
    /// Runs that are worked on with one provider, by its name.
    pub providers: HashMap<String, usize>,
}

struct AtWork {
    slot: Arc<Slot>,
    provider: String,
    task: Id,
}

/// A run that someone wants to be taken now.
struct Asked {
    run: RunId,
    why: Claim,
    taken: oneshot::Sender<Result<Seq, EngineError>>,
}

/// Asks the workers of a process to take a run now, whether or not a slot is free.
#[derive(Clone)]
pub struct Foreman {
    asked: mpsc::Sender<Asked>,
}

impl Foreman {
    /// Has a run taken that nobody works on. Gives the event that says so; `None` if the workers have stopped.
    pub async fn take(&self, run: &RunId, why: Claim) -> Option<Result<Seq, EngineError>> {
        let (taken, answer) = oneshot::channel();
        self.asked.send(Asked { run: run.clone(), why, taken }).await.ok()?;
        answer.await.ok()
    }
}

impl Workers {
    /// `slots` runs are worked on at a time.
    #[must_use]
    pub fn new(engine: Arc<Engine>, slots: usize) -> Self {
        Self::within(engine, Limits { slots: slots.max(1), providers: HashMap::new() })
    }

    /// As much is done at a time as the limits allow. Without a slot, only what is asked for.
    #[must_use]
    pub fn within(engine: Arc<Engine>, limits: Limits) -> Self {
        let queue = Queue::new(engine.clone());
        let (at_work, tasks, asked) = (HashMap::new(), JoinSet::new(), mpsc::channel(16));
        Self { engine, limits, queue, at_work, tasks, asked, busy: Arc::default() }
    }

    /// Cancelled by whoever does not want to wait, once they were asked to stop, for calls to finish.
    #[must_use]
    pub fn hurry(&self) -> CancellationToken {
        self.engine.hurry().clone()
    }

    /// For whoever wants a certain run to be taken.
    #[must_use]
    pub fn foreman(&self) -> Foreman {
        Foreman { asked: self.asked.0.clone() }
    }

    /// How many runs are being worked on; kept up to date.
    #[must_use]
    pub fn busy(&self) -> Arc<AtomicUsize> {
        self.busy.clone()
    }

    /// Works until `stop` is called, then hands all runs over. With `drain` it also ends by itself once
    /// there is nothing left to do but to wait for people.
    pub async fn run(mut self, stop: CancellationToken, drain: bool) {
        let stop = stop.child_token();
        let bell = self.engine.bell().clone();
        let mut feed = self.engine.store().watch_feed();
        let mut rounds = tokio::time::interval(SEARCH_EVERY);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first comes at once: whoever is started after a crash goes on right there.
        rounds.tick().await;
        self.release_all_the_dead().await;
        // When the store is searched because some log has grown: not for each event of a busy time.
        let mut search_at: Option<Instant> = None;
        let (mut search, mut is_open) = (true, true);
        loop {
            if std::mem::take(&mut search) && !stop.is_cancelled() {
                self.fill(&stop).await;
            }
            let busy = self.at_work.values().filter(|at_work| !at_work.slot.rests()).count();
            self.busy.store(busy, Ordering::Relaxed);
            if drain && self.at_work.values().all(|at_work| at_work.slot.rests()) {
                stop.cancel();
            }
            if stop.is_cancelled() && self.tasks.is_empty() {
                return;
            }
            tokio::select! {
                Some(done) = self.tasks.join_next_with_id() => {
                    self.done(done.map_or_else(|err| err.id(), |(id, ())| id));
                    search = true;
                }
                () = bell.notified() => search = true,
                grown = feed.grown(), if is_open && search_at.is_none() => {
                    is_open = grown;
                    search_at = Some(Instant::now() + SETTLE);
                }
                () = tokio::time::sleep_until(search_at.unwrap_or_else(Instant::now)), if search_at.is_some() => {
                    search_at = None;
                    search = true;
                }
                _ = rounds.tick() => {
                    self.release_all_the_dead().await;
                    search = true;
                }
                Some(asked) = self.asked.1.recv(), if !stop.is_cancelled() => self.take(asked, &stop),
                () = stop.cancelled(), if self.tasks.is_empty() => return,
            }
        }
    }

    fn done(&mut self, task: Id) {
        self.at_work.retain(|_, at_work| at_work.task != task);
    }

    /// Takes a run because someone asked for it.
    fn take(&mut self, asked: Asked, stop: &CancellationToken) {
        let Asked { run, why, taken } = asked;
        let stop = stop.clone();
        self.employ(run.clone(), String::new(), |engine, slot| async move {
            match engine.claim(&run, why).await {
                Ok(claimed) => {
                    // Whoever asked may be gone by now; the run is taken all the same.
                    let _ = taken.send(Ok(claimed.seq()));
                    let _ = engine.carry_on(claimed, stop, &slot).await;
                }
                Err(err) => drop(taken.send(Err(err))),
            }
        });
    }

    /// Takes as many runs as there is room for, the most urgent first, and tells the others.
    async fn fill(&mut self, stop: &CancellationToken) {
        if self.limits.slots == 0 {
            return;
        }
        let at_work = &self.at_work;
        let mut waiting = self.queue.search(|run| at_work.contains_key(run)).await;
        let now = world::now();
        waiting.sort_by_key(|waiting| waiting.urgency.at(now));
        let mut passed_over = Vec::new();
        for waiting in waiting {
            match self.room_for(&waiting) {
                Ok(()) => self.begin(waiting, stop),
                Err((reason, limit)) if !waiting.throttled.iter().any(|known| known == reason) => {
                    passed_over.push((waiting.run, reason, limit));
                }
                Err(_) => {}
            }
        }
        for (run, reason, limit) in passed_over.into_iter().take(MOST_TOLD) {
            // Someone else may have taken it: so much the better.
            let _ = throttle(&self.engine, &run, reason, limit).await;
        }
    }

    /// The limit that a run would break, if there is one.
    fn room_for(&self, waiting: &Waiting) -> Result<(), (&'static str, usize)> {
        let busy = || self.at_work.values().filter(|at_work| !at_work.slot.rests());
        if busy().count() >= self.limits.slots {
            return Err(("node_limit", self.limits.slots));
        }
        match self.limits.providers.get(&waiting.provider) {
            Some(limit) if busy().filter(|at_work| at_work.provider == waiting.provider).count() >= *limit => {
                Err(("provider_limit", *limit))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn begin(&mut self, waiting: Waiting, stop: &CancellationToken) {
        let Waiting { run, provider, .. } = waiting;
        let stop = stop.clone();
        self.employ(run.clone(), provider, |engine, slot| async move {
            // Failures are in the run's log, or the lease was lost and others go on.
            if let Ok(claimed) = engine.claim(&run, Claim::default()).await {
                let _ = engine.carry_on(claimed, stop, &slot).await;
            }
        });
    }

    fn employ<F>(&mut self, run: RunId, provider: String, work: impl FnOnce(Arc<Engine>, Arc<Slot>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let slot = Arc::new(Slot::with_bell(self.engine.bell().clone()));
        let task = self.tasks.spawn(work(self.engine.clone(), slot.clone())).id();
        self.at_work.insert(run, AtWork { slot, provider, task });
    }

    /// Gives back what processes of this machine held when they died: their runs are free at once, not
    /// only when their leases have run out.
    async fn release_all_the_dead(&self) {
        let store = self.engine.store();
        let mut filter = RunFilter { finished: Some(false), limit: queue::PAGE, ..RunFilter::default() };
        // A store that fails now is asked again in the next round; the leases run out by themselves.
        while let Ok(page) = store.list(filter.clone()).await {
            for open in page.entries.into_iter().filter_map(Listed::sound) {
                let _ = release_the_dead(store, &open.run_id).await;
            }
            if page.next.is_none() {
                return;
            }
            filter.after = page.next;
        }
    }
}
