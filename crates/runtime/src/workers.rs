//! The queue: runs that nobody works on, and workers that take them.
//!
//! There is no queue beside the logs. A run is in the queue if it is open and nobody holds its lease;
//! which of them comes first is read from their logs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use r1_event::{RunId, Seq, UnixNanos};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{Phase, RunState};
use crate::engine::{Claim, Engine, EngineError, Outcome, pause_abandoned};
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
    /// Runs that were looked at and are not for us, as long as their log stays as it is.
    passed_over: HashMap<RunId, Seq>,
    at_work: BTreeMap<RunId, ()>,
    tasks: JoinSet<(RunId, Result<Outcome, EngineError>)>,
}

impl Workers {
    /// `slots` runs are worked on at a time.
    #[must_use]
    pub fn new(engine: Arc<Engine>, slots: usize) -> Self {
        let (passed_over, at_work, tasks) = (HashMap::new(), BTreeMap::new(), JoinSet::new());
        Self { engine, slots: slots.max(1), wake: Arc::default(), passed_over, at_work, tasks }
    }

    /// Wakes the workers: there may be a new run.
    #[must_use]
    pub fn bell(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Works until `stop` is called, then hands all runs over. With `drain` it also ends by itself once
    /// there is nothing left to do.
    pub async fn run(mut self, stop: CancellationToken, drain: bool) {
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
                () = tokio::time::sleep(SEARCH_EVERY) => {}
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
        waiting.sort_by_key(|state| urgency(state, world::now()));
        for state in waiting.into_iter().take(self.slots - self.at_work.len()) {
            let (engine, stop, run) = (self.engine.clone(), stop.clone(), state.run);
            self.at_work.insert(run.clone(), ());
            self.tasks.spawn(async move {
                let outcome = engine.work(&run, Claim::default(), stop).await;
                (run, outcome)
            });
        }
    }

    async fn search(&mut self) -> Vec<RunState> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let Ok(page) = self.engine.store().open_runs(after, PAGE).await else { return found };
            let full = page.len() == PAGE;
            for open in page {
                after = Some(open.position);
                let (run, next) = (open.summary.run_id, open.summary.head.next);
                if self.at_work.contains_key(&run) || self.passed_over.get(&run) == Some(&next) {
                    continue;
                }
                match load(self.engine.store(), &run).await {
                    Ok(state) if self.is_for_us(&state).await => found.push(state),
                    _ => {
                        self.passed_over.insert(run, next);
                    }
                }
            }
            if !full {
                return found;
            }
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

/// Lower comes first: class, then age; long waiting lifts a run by a class.
fn urgency(state: &RunState, now: UnixNanos) -> (i64, UnixNanos) {
    let class = match state.priority.as_str() {
        "high" => 0,
        "low" => 2,
        _ => 1,
    };
    let lifted = now.0.saturating_sub(state.created_at.0) / AGEING;
    (class - lifted, state.created_at)
}
