//! Which runs wait for a worker, and in which order.

use std::collections::HashMap;
use std::sync::Arc;

use r1_event::{RunId, Seq, UnixNanos};

use crate::agent::{Phase, RunState};
use crate::engine::{Engine, pause_abandoned};
use crate::history::load;

/// So long a run waits until it counts as one class higher.
const AGEING: i64 = 600_000_000_000;

/// How many runs are looked at in one search.
pub(super) const PAGE: usize = 256;

pub(super) struct Queue {
    engine: Arc<Engine>,
    /// Runs that were looked at: what was found holds for as long as their log stays as it is.
    known: HashMap<RunId, (Seq, Option<Waiting>)>,
}

/// A run that waits for a worker.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) run: RunId,
    pub(super) urgency: Urgency,
    pub(super) provider: String,
    /// The limits of which its log says already that it waits for them.
    pub(super) throttled: Vec<String>,
}

/// What decides which of two runs comes first.
#[derive(Clone, Copy)]
pub(super) struct Urgency {
    class: i64,
    created_at: UnixNanos,
}

impl Queue {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, known: HashMap::new() }
    }

    /// Runs that wait for a worker, but for those that are `taken` already.
    pub(super) async fn search(&mut self, taken: impl Fn(&RunId) -> bool) -> Vec<Waiting> {
        let mut known = HashMap::new();
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let Ok(page) = self.engine.store().open_runs(after, PAGE).await else { break };
            let full = page.len() == PAGE;
            for open in page {
                after = Some(open.position);
                let (run, next) = (open.summary.run_id, open.summary.head.next);
                if taken(&run) {
                    continue;
                }
                let waiting = match self.known.remove(&run) {
                    Some((seen, waiting)) if seen == next => waiting,
                    _ => self.look_at(&run).await,
                };
                found.extend(waiting.clone());
                known.insert(run, (next, waiting));
            }
            if !full {
                break;
            }
        }
        // What is no longer listed has ended or is someone's: nothing of it is kept.
        self.known = known;
        found
    }

    async fn look_at(&self, run: &RunId) -> Option<Waiting> {
        let state = load(self.engine.store(), run).await.ok()?;
        self.is_for_us(&state).await.then(|| Waiting {
            run: run.clone(),
            urgency: Urgency::of(&state),
            provider: state.provider,
            throttled: state.throttled,
        })
    }

    /// Whether a worker may take a run unasked. A session that was cut off waits for a person.
    async fn is_for_us(&self, state: &RunState) -> bool {
        let has_work = state.run_kind == "agent_loop" || state.is_planned();
        if !has_work || state.phase == Phase::Held {
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
    pub(super) fn at(self, now: UnixNanos) -> (i64, UnixNanos) {
        let lifted = now.0.saturating_sub(self.created_at.0) / AGEING;
        (self.class - lifted, self.created_at)
    }
}
