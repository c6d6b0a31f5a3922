//! The tool calls of a turn.

use r1_event::Payload;
use r1_event::cbor::Value;
use r1_event::payload::{AssistantMessageCompleted, Raw, ToolCallCompleted, ToolCallFailed, ToolCallScheduled};

use super::Judgement;

/// Calls that were asked for or made since the last turn began.
#[derive(Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    /// A resumed run makes the calls that were lost one after the other, under new ids.
    again: bool,
    /// Scheduled since the last turn began by processes that ended before there was an outcome.
    lost: Vec<Call>,
    scheduled: u64,
}

#[derive(Clone)]
struct Call {
    /// Empty while the loop is still to mint it.
    id: String,
    turn: String,
    tool: String,
    args: Raw,
    stage: Stage,
    /// When its last attempt was scheduled, counted in attempts.
    since: u64,
}

#[derive(Clone)]
enum Stage {
    Planned,
    Running {
        attempt: u32,
    },
    /// An attempt failed, and another follows.
    Retrying {
        attempt: u32,
    },
    Completed,
    Failed {
        error: String,
        cancelled: bool,
    },
}

/// A call that ended a run.
pub(super) enum Failure<'a> {
    /// It failed.
    Failed { tool: &'a str, call: &'a str, error: &'a str },
    /// It has no outcome in the log: its result could not be written.
    Lost { tool: &'a str, call: &'a str },
}

impl Calls {
    /// The model asked for these.
    pub(super) fn plan(&mut self, message: &AssistantMessageCompleted) {
        let call = |id: &str, tool: &str, args: &Raw| Call {
            id: id.into(),
            turn: message.turn_id.clone(),
            tool: tool.into(),
            args: args.clone(),
            stage: Stage::Planned,
            since: 0,
        };
        let uses = message.tool_uses.iter().flatten();
        self.list = uses.map(|planned| call(&planned.call_id, &planned.tool, &planned.args)).collect();
        self.again = false;
    }

    /// A turn begins: what was lost before it is forgotten.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many calls a process that resumes the run finds without an outcome.
    pub(super) fn pending(&self) -> usize {
        self.lost.len() + self.running().count()
    }

    /// Another process goes on, under `turn`, and makes the calls without an outcome again.
    pub(super) fn resume(&mut self, turn: &str) {
        let mut running: Vec<_> = self.running().cloned().collect();
        running.sort_by_key(|call| call.since);
        self.lost.append(&mut running);
        self.list = self.lost.iter().map(|lost| lost.made_again(turn)).collect();
        self.again = true;
    }

    /// The first attempt that has to be made next; `found` has the id that was minted for it.
    pub(super) fn due(&self, found: Option<&ToolCallScheduled>) -> Option<ToolCallScheduled> {
        let next = if self.again {
            self.list.iter().find(|call| !matches!(call.stage, Stage::Completed))
        } else {
            self.list.iter().find(|call| matches!(call.stage, Stage::Planned))
        };
        let next = next.filter(|call| matches!(call.stage, Stage::Planned))?;
        let minted = found.map(|found| found.call_id.as_str()).unwrap_or_default();
        Some(next.attempt(if next.id.is_empty() { minted } else { &next.id }, 1))
    }

    /// The next attempt at a call that failed: at the one that `found` names, or else the first.
    pub(super) fn retry(&self, found: &ToolCallScheduled) -> Option<ToolCallScheduled> {
        let retries = || {
            self.list.iter().filter_map(|call| match call.stage {
                Stage::Retrying { attempt } => Some((call, attempt)),
                Stage::Planned | Stage::Running { .. } | Stage::Completed | Stage::Failed { .. } => None,
            })
        };
        let named = retries().find(|(call, _)| call.id == found.call_id);
        named.or_else(|| retries().next()).map(|(call, attempt)| call.attempt(&call.id, attempt.wrapping_add(1)))
    }

    /// Judges a result by the call it belongs to; `None` if none is awaited.
    pub(super) fn judge_result(&self, found: &ToolCallCompleted) -> Option<Judgement> {
        let (call, attempt) = self.outcome_of(&found.call_id, found.attempt)?;
        let expected = ToolCallCompleted { call_id: call.into(), attempt, ..found.clone() };
        Some(Judgement::Hears(Payload::ToolCallCompleted(expected)))
    }

    /// Judges a failure by the call it belongs to; `None` if none is awaited.
    pub(super) fn judge_failure(&self, found: &ToolCallFailed) -> Option<Judgement> {
        let (call, attempt) = self.outcome_of(&found.call_id, found.attempt)?;
        let expected = ToolCallFailed { call_id: call.into(), attempt, ..found.clone() };
        Some(Judgement::Hears(Payload::ToolCallFailed(expected)))
    }

    /// The call and attempt that an outcome belongs to: the one that it names, or else the nearest.
    fn outcome_of(&self, call_id: &str, attempt: u32) -> Option<(&str, u32)> {
        let running = || {
            self.list.iter().filter_map(|call| match call.stage {
                Stage::Running { attempt } => Some((call.id.as_str(), attempt)),
                Stage::Planned | Stage::Retrying { .. } | Stage::Completed | Stage::Failed { .. } => None,
            })
        };
        let exactly = running().find(|running| *running == (call_id, attempt));
        exactly.or_else(|| running().find(|(id, _)| *id == call_id)).or_else(|| running().next())
    }

    /// Whether every call has its outcome.
    pub(super) fn are_completed(&self) -> bool {
        self.list.iter().all(|call| matches!(call.stage, Stage::Completed))
    }

    /// The call that ends the run: the first of the plan that did not go well.
    pub(super) fn failure(&self) -> Option<Failure<'_>> {
        self.list.iter().find_map(|Call { id, tool, stage, .. }| match stage {
            Stage::Failed { error, .. } => Some(Failure::Failed { tool, call: id, error }),
            Stage::Running { .. } => Some(Failure::Lost { tool, call: id }),
            Stage::Planned | Stage::Retrying { .. } | Stage::Completed => None,
        })
    }

    /// With what words the first call that was stopped ended.
    pub(super) fn stopped_with(&self) -> Option<&str> {
        self.list.iter().find_map(|call| match &call.stage {
            Stage::Failed { error, cancelled: true } => Some(error.as_str()),
            Stage::Failed { cancelled: false, .. }
            | Stage::Planned
            | Stage::Running { .. }
            | Stage::Retrying { .. }
            | Stage::Completed => None,
        })
    }

    pub(super) fn schedule(&mut self, scheduled: &ToolCallScheduled) {
        self.scheduled += 1;
        let (since, attempt) = (self.scheduled, scheduled.attempt);
        let known = self.list.iter().position(|call| match call.stage {
            Stage::Planned => attempt == 1 && (call.id == scheduled.call_id || call.id.is_empty()),
            Stage::Retrying { .. } => call.id == scheduled.call_id,
            Stage::Running { .. } | Stage::Completed | Stage::Failed { .. } => false,
        });
        let ToolCallScheduled { call_id: id, turn_id: turn, tool, args, .. } = scheduled.clone();
        let call = Call { id, turn, tool, args, stage: Stage::Running { attempt }, since };
        match known.and_then(|position| self.list.get_mut(position)) {
            Some(known) => *known = call,
            None => self.list.push(call),
        }
    }

    pub(super) fn complete(&mut self, call_id: &str) {
        self.settle(call_id, |_| Stage::Completed);
    }

    pub(super) fn fail(&mut self, failed: &ToolCallFailed) {
        self.settle(&failed.call_id, |attempt| {
            if failed.r#final {
                Stage::Failed { error: failed.error.clone(), cancelled: failed.error_type == "cancelled" }
            } else {
                Stage::Retrying { attempt }
            }
        });
    }

    fn settle(&mut self, call_id: &str, stage: impl FnOnce(u32) -> Stage) {
        for call in &mut self.list {
            if let (true, Stage::Running { attempt }) = (call.id == call_id, &call.stage) {
                call.stage = stage(*attempt);
                return;
            }
        }
    }

    fn running(&self) -> impl Iterator<Item = &Call> {
        self.list.iter().filter(|call| matches!(call.stage, Stage::Running { .. }))
    }
}

impl Call {
    fn attempt(&self, id: &str, attempt: u32) -> ToolCallScheduled {
        ToolCallScheduled {
            call_id: id.into(),
            turn_id: self.turn.clone(),
            tool: self.tool.clone(),
            args: self.args.clone(),
            attempt,
            ..ToolCallScheduled::default()
        }
    }

    fn made_again(&self, turn: &str) -> Self {
        Self {
            id: String::new(),
            turn: turn.into(),
            tool: self.tool.clone(),
            args: through_json(&self.args),
            stage: Stage::Planned,
            since: 0,
        }
    }
}

/// Arguments of a call that is made again. Starling writes them as JSON and reads that: a float that is
/// whole loses its fraction there, and comes back as an integer.
fn through_json(args: &Raw) -> Raw {
    args.value().map_or_else(|_| args.clone(), |value| Raw::from(&whole_floats_as_integers(value)))
}

fn whole_floats_as_integers(value: Value) -> Value {
    const BEYOND_INTEGERS: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Float(float) if float.fract() == 0.0 && (-BEYOND_INTEGERS..BEYOND_INTEGERS).contains(&float) => {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range")]
            let whole = float as i64;
            u64::try_from(whole).map_or_else(|_| Value::Nint(!whole.cast_unsigned()), Value::Uint)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(whole_floats_as_integers).collect()),
        Value::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, whole_floats_as_integers(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_float_of_a_call_that_is_made_again_becomes_an_integer() {
        for (float, again) in [
            (1.0, Value::Uint(1)),
            (-3.0, Value::Nint(2)),
            (-0.0, Value::Uint(0)),
            (1.5, Value::Float(1.5)),
            (9.3e18, Value::Float(9.3e18)),
            (-9_223_372_036_854_775_808.0, Value::Nint(i64::MAX.cast_unsigned())),
        ] {
            let args = Value::Map(vec![(Value::Text("n".into()), Value::Array(vec![Value::Float(float)]))]);
            let expected = Value::Map(vec![(Value::Text("n".into()), Value::Array(vec![again]))]);
            assert_eq!(through_json(&Raw::from(&args)), Raw::from(&expected), "{float}");
        }
    }
}
