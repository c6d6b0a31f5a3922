//! The queue: runs that nobody works on, and workers that take them.
//!
//! There is no queue beside the logs. A run is in the queue if it is open and nobody holds its lease;
//! which of them comes first is read from their logs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use r1_event::{RunId, Seq, UnixNanos};
use r1_store::RunFilter;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{Phase, RunState};
use crate::engine::{Claim, Engine, EngineError, Outcome, pause_abandoned, release_the_dead};
use crate::history::load;
use crate::world;

/// How often the store is searched for runs that others left behind.
const SEARCH_EVERY: Duration = Duration::from_secs(10);

/// So long a run waits until it counts as one class higher.
const AGEING: i64 = 600_000_000_000;

/// How many runs are looked at in one search.
const PAGE: usize = 256;

/// Workers of one process.
pub struct Workers {
    engine: Arc<Engine>,
    slots: usize,
    wake: Arc<Notify>,
    /// Runs that were looked at: what was found holds for as long as their log stays as it is.
    known: HashMap<RunId, (Seq, Verdict)>,
    at_work: HashSet<RunId>,
    tasks: JoinSet<(RunId, Result<Outcome, EngineError>)>,
}

/// What a look at a run said.
#[derive(Clone, Copy)]
enum Verdict {
    Waits(Urgency),
    NotForUs,
}

/// What decides which of two runs comes first.
#[derive(Clone, Copy)]
struct Urgency {
    class: i64,
    created_at: UnixNanos,
}

impl Workers {
    /// `slots` runs are worked on at a time.
    #[must_use]
    pub fn new(engine: Arc<Engine>, slots: usize) -> Self {
        let (known, at_work, tasks) = (HashMap::new(), HashSet::new(), JoinSet::new());
        Self { engine, slots: slots.max(1), wake: Arc::default(), known, at_work, tasks }
    }

    /// Wakes the workers: there may be a new run.
    #[must_use]
    pub fn bell(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Works until `stop` is called, then hands all runs over. With `drain` it also ends by itself once
    /// there is nothing left to do.
    pub async fn run(mut self, stop: CancellationToken, drain: bool) {
        let mut rounds = tokio::time::interval(SEARCH_EVERY);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first comes at once: whoever is started after a crash goes on right there.
        rounds.tick().await;
        self.release_all_the_dead().await;
        loop {
            if !stop.is_cancelled() {
                self.fill(&stop).await;
            }
            if (drain || stop.is_cancelled()) && self.tasks.is_empty() {
                return;
            }
            tokio::select! {
                Some(done) = self.tasks.join_next() => self.done(done.ok()),
                () = self.wake.notified() => {}
                _ = rounds.tick() => self.release_all_the_dead().await,
                () = stop.cancelled(), if self.tasks.is_empty() => return,
            }
        }
    }

    fn done(&mut self, done: Option<(RunId, Result<Outcome, EngineError>)>) {
        if let Some((run, _)) = done {
            // Failures are in the run's log, or the lease was lost and others go on.
            self.at_work.remove(&run);
        }
    }

    /// Takes as many runs as there is room for, the most urgent first.
    async fn fill(&mut self, stop: &CancellationToken) {
        if self.at_work.len() >= self.slots {
            return;
        }
        let mut waiting = self.search().await;
        let now = world::now();
        waiting.sort_by_key(|(_, urgency)| urgency.at(now));
        for (run, _) in waiting.into_iter().take(self.slots - self.at_work.len()) {
            let (engine, stop) = (self.engine.clone(), stop.clone());
            self.at_work.insert(run.clone());
            self.tasks.spawn(async move {
                let outcome = engine.work(&run, Claim::default(), stop).await;
                (run, outcome)
            });
        }
    }

    /// Gives back what processes of this machine held when they died: their runs are free at once, not
    /// only when their leases have run out.
    async fn release_all_the_dead(&self) {
        let store = self.engine.store();
        let mut filter = RunFilter { finished: Some(false), limit: PAGE, ..RunFilter::default() };
        // A store that fails now is asked again in the next round; the leases run out by themselves.
        while let Ok(page) = store.list(filter.clone()).await {
            for open in page.runs {
                let _ = release_the_dead(store, &open.run_id).await;
            }
            if page.next.is_none() {
                return;
            }
            filter.after = page.next;
        }
    }

    /// Runs that wait for a worker.
    async fn search(&mut self) -> Vec<(RunId, Urgency)> {
        let mut known = HashMap::new();
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let Ok(page) = self.engine.store().open_runs(after, PAGE).await else { break };
            let full = page.len() == PAGE;
            for open in page {
                after = Some(open.position);
                let (run, next) = (open.summary.run_id, open.summary.head.next);
                if self.at_work.contains(&run) {
                    continue;
                }
                let verdict = match self.known.get(&run) {
                    Some((seen, verdict)) if *seen == next => *verdict,
                    _ => self.look_at(&run).await,
                };
                if let Verdict::Waits(urgency) = verdict {
                    found.push((run.clone(), urgency));
                }
                known.insert(run, (next, verdict));
            }
            if !full {
                break;
            }
        }
        // What is no longer listed has ended or is someone's: nothing of it is kept.
        self.known = known;
        found
    }

    async fn look_at(&self, run: &RunId) -> Verdict {
        match load(self.engine.store(), run).await {
            Ok(state) if self.is_for_us(&state).await => Verdict::Waits(Urgency::of(&state)),
            _ => Verdict::NotForUs,
        }
    }

    /// Whether a worker may take a run unasked. A session that was cut off waits for a person.
    async fn is_for_us(&self, state: &RunState) -> bool {
        if state.run_kind != "agent_loop" || state.phase == Phase::Held {
            return false;
        }
        if state.spec.interactive {
            if state.phase == Phase::Claimed && !state.is_idle() {
                // Its worker is gone: say so, and leave it at that.
                let _ = pause_abandoned(&self.engine, &state.run).await;
            }
            return state.phase == Phase::Queued && !state.is_idle();
        }
        true
    }
}

impl Urgency {
    fn of(state: &RunState) -> Self {
        let class = match state.priority.as_str() {
            "high" => 0,
            "low" => 2,
            _ => 1,
        };
        Self { class, created_at: state.created_at }
    }

    /// Lower comes first: class, then age; long waiting lifts a run by a class.
    fn at(self, now: UnixNanos) -> (i64, UnixNanos) {
        let lifted = now.0.saturating_sub(self.created_at.0) / AGEING;
        (self.class - lifted, self.created_at)
    }
}
