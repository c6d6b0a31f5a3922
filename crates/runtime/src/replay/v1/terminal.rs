//! How a run ends.

use bytes::Bytes;
use r1_event::payload::{RunCancelled, RunFailed};
use r1_event::v1::Quoted;
use r1_event::{Digest, Payload};

use super::Judgement;
use super::budget::WALL_CLOCK;
use super::calls::Failure;
use super::state::{Loop, Phase, Place};

const OVER_BUDGET: &str = "step: budget exceeded";
const OUT_OF_TURNS: &str = "starling: max turns exceeded";
const CANCELED: &str = "context_canceled";
const DEADLINE: &str = "deadline_exceeded";

impl Loop {
    /// What the loop would write if it ended here on its own, after so many milliseconds.
    pub(super) fn end(&self, place: &Place, duration_ms: i64) -> Option<Payload> {
        match &self.phase {
            Phase::Answered => Some(Payload::RunCompleted(self.totals.completed(&place.root, duration_ms))),
            Phase::Exceeded(exceeded) => {
                // The time that was too long is the time that the run took.
                #[expect(clippy::cast_possible_truncation, reason = "milliseconds are whole")]
                let duration_ms = if exceeded.limit == WALL_CLOCK { exceeded.actual as i64 } else { duration_ms };
                Some(failed(OVER_BUDGET.into(), "budget", place, duration_ms))
            }
            Phase::Calling => match self.calls.failure()? {
                Failure::Failed { tool, call, error } => {
                    Some(failed(format!("{}{error}", blame(tool, call)), "tool", place, duration_ms))
                }
                Failure::Lost { .. } => None,
            },
            Phase::Asking | Phase::Listening { .. } | Phase::Telling { .. } | Phase::Ended => None,
        }
    }

    pub(super) fn judge_failed(&self, place: &Place, found: &RunFailed) -> Judgement {
        let writes = |error: &str, error_type: &str| {
            Judgement::Writes(failed(error.into(), error_type, place, found.duration_ms))
        };
        match (&self.phase, found.error_type.as_str()) {
            (Phase::Ended, _) => Judgement::Refuses,
            (Phase::Answered, _) => self.due(place, found.duration_ms),
            (Phase::Exceeded(exceeded), _) if exceeded.limit == WALL_CLOCK => match self.end(place, 0) {
                // In whose words the deadline came is nothing that the log tells.
                Some(Payload::RunFailed(end)) => {
                    Judgement::Writes(Payload::RunFailed(RunFailed { error: found.error.clone(), ..end }))
                }
                _ => Judgement::Refuses,
            },
            (Phase::Exceeded(_), _) => self.due(place, found.duration_ms),
            (Phase::Asking, "max_turns") => writes(OUT_OF_TURNS, "max_turns"),
            (Phase::Listening { .. }, "provider") | (_, "internal") => writes(&found.error, &found.error_type),
            (Phase::Listening { .. }, _) => writes(&found.error, "internal"),
            (Phase::Calling, _) => match self.calls.failure() {
                Some(Failure::Lost { tool, call }) => {
                    let blame = blame(tool, call);
                    writes(if found.error.starts_with(&blame) { &found.error } else { &blame }, "tool")
                }
                Some(Failure::Failed { .. }) | None => self.due(place, found.duration_ms),
            },
            (Phase::Asking | Phase::Telling { .. }, _) => self.due(place, found.duration_ms),
        }
    }

    pub(super) fn judge_cancelled(&self, place: &Place, found: &RunCancelled) -> Judgement {
        if matches!(self.phase, Phase::Ended | Phase::Answered | Phase::Exceeded(_)) {
            return self.due(place, found.duration_ms);
        }
        let reason = match self.calls.stopped_with() {
            Some("context canceled") => CANCELED,
            Some("context deadline exceeded") => DEADLINE,
            Some(_) | None if found.reason == DEADLINE => DEADLINE,
            Some(_) | None => CANCELED,
        };
        if reason == DEADLINE && self.limits().max_wall_clock_ms > 0 {
            #[expect(clippy::cast_precision_loss, reason = "Starling rounds as well")]
            return Judgement::Writes(self.out_of_time(found.duration_ms as f64));
        }
        Judgement::Writes(Payload::RunCancelled(RunCancelled {
            reason: reason.into(),
            merkle_root: root(&place.root),
            duration_ms: found.duration_ms,
            ..RunCancelled::default()
        }))
    }
}

fn failed(error: String, error_type: &str, place: &Place, duration_ms: i64) -> Payload {
    let merkle_root = root(&place.root);
    Payload::RunFailed(RunFailed {
        error,
        error_type: error_type.into(),
        merkle_root,
        duration_ms,
        ..RunFailed::default()
    })
}

/// How an error begins that a call is to blame for.
fn blame(tool: &str, call: &str) -> String {
    format!("starling: tool {} (call {call}): ", Quoted(tool))
}

pub(super) fn root(root: &Digest) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(root.as_bytes()))
}
