//! Calls that the model asked for, against calls that were made.

use bytes::Bytes;

use super::fields::Fields;
use super::validate::Report;

/// The calls of the current turn that are not over yet.
#[derive(Debug, Default)]
pub(super) struct Plan {
    turn: Bytes,
    planned: Vec<Planned>,
    /// Scheduled without a final outcome.
    tried: Vec<Tried>,
    /// In flight when a process died: may come again under new ids.
    lost: Vec<Work>,
    resumed: bool,
    /// Whether any model call ended. A program that calls tools without a model has no plan to follow.
    exists: bool,
}

/// What a call does, whatever its id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Work {
    tool: Bytes,
    args: Bytes,
}

#[derive(Debug)]
struct Planned {
    call: Bytes,
    work: Work,
}

#[derive(Debug)]
struct Tried {
    call: Bytes,
    attempt: u64,
    /// Whether the last attempt failed and another may follow.
    failed: bool,
    work: Work,
}

impl Work {
    fn of(fields: &Fields) -> Self {
        Self { tool: fields.text_bytes("tool"), args: fields.raw_bytes("args") }
    }
}

impl Plan {
    /// A model call ended and asks for these calls.
    pub(super) fn planned(&mut self, message: &Fields) {
        self.turn = message.text_bytes("turn_id");
        let uses = message.list("tool_uses");
        self.planned =
            uses.iter().map(|call| Planned { call: call.text_bytes("call_id"), work: Work::of(call) }).collect();
        self.tried.clear();
        self.lost.clear();
        self.resumed = false;
        self.exists = true;
    }

    /// Whether nothing is left to be scheduled.
    pub(super) const fn is_done(&self) -> bool {
        self.planned.is_empty()
    }

    /// How many calls of the turn are neither in flight nor over.
    pub(super) fn waiting(&self) -> u64 {
        (self.planned.len() + self.tried.iter().filter(|tried| tried.failed).count()) as u64
    }

    /// The next turn begins or the run succeeds: every planned call must have run.
    pub(super) fn check_done(&mut self, report: &mut Report<'_>) {
        if self.resumed {
            return;
        }
        for planned in self.planned.drain(..) {
            let call = String::from_utf8_lossy(&planned.call);
            report.notice("planned_call_not_run", format!("call {call} was asked for and never made"));
        }
    }

    /// Another process goes on; what was in flight may come again.
    pub(super) fn resume(&mut self, open_calls: u64) {
        self.resumed = true;
        if open_calls > 0 {
            self.lost.extend(self.tried.drain(..).map(|tried| tried.work));
        }
        self.tried.clear();
    }

    pub(super) fn schedule(&mut self, fields: &Fields, report: &mut Report<'_>) {
        let (call, attempt, work) = (fields.text_bytes("call_id"), fields.uint("attempt"), Work::of(fields));
        match self.tried.iter().position(|tried| tried.call == call) {
            Some(position) => {
                let tried = self.tried.remove(position);
                if attempt != tried.attempt + 1 {
                    attempt_order(&call, tried.attempt + 1, attempt, report);
                } else if !tried.failed {
                    let call = String::from_utf8_lossy(&call);
                    report.notice("attempt_overlaps", format!("call {call} is tried again before it failed"));
                }
                check_same(&call, &tried.work, &work, report);
            }
            None => {
                if attempt != 1 {
                    attempt_order(&call, 1, attempt, report);
                }
                self.first_attempt(&call, &work, fields.text("turn_id"), report);
            }
        }
        self.tried.push(Tried { call, attempt, failed: false, work });
    }

    fn first_attempt(&mut self, call: &Bytes, work: &Work, turn: &[u8], report: &mut Report<'_>) {
        let resumed = self.resumed;
        let named = self.planned.iter().position(|planned| planned.call == *call && !call.is_empty());
        // A provider may give a call no id, and a new process gives lost calls new ones.
        let unnamed =
            || self.planned.iter().position(|planned| (resumed || planned.call.is_empty()) && planned.work == *work);
        if let Some(position) = named.or_else(unnamed) {
            let planned = self.planned.remove(position);
            check_same(call, &planned.work, work, report);
        } else if let Some(position) = self.lost.iter().position(|lost| lost == work) {
            self.lost.remove(position);
        } else {
            if self.exists {
                let call = String::from_utf8_lossy(call);
                report.notice("unplanned_call", format!("no model asked for call {call}"));
            }
            return;
        }
        if turn != &self.turn[..] {
            let (expected, found) = (String::from_utf8_lossy(&self.turn), String::from_utf8_lossy(turn));
            report.notice_with(
                "call_turn_mismatch",
                "the call names another turn than its plan".into(),
                expected,
                found,
            );
        }
    }

    pub(super) fn outcome(&mut self, fields: &Fields, failed: bool) {
        let (call, attempt) = (fields.text("call_id"), fields.uint("attempt"));
        let Some(position) = self.tried.iter().position(|tried| tried.call == call && tried.attempt == attempt) else {
            return;
        };
        if failed && !fields.bool("final") {
            self.tried[position].failed = true;
        } else {
            self.tried.remove(position);
        }
    }
}

fn attempt_order(call: &[u8], expected: u64, found: u64, report: &mut Report<'_>) {
    let message = format!("attempts of call {} do not follow each other", String::from_utf8_lossy(call));
    report.notice_with("attempt_order", message, expected, found);
}

fn check_same(call: &[u8], planned: &Work, made: &Work, report: &mut Report<'_>) {
    if planned != made {
        let call = String::from_utf8_lossy(call);
        report
            .notice("call_differs_from_plan", format!("call {call} has another tool or other arguments than planned"));
    }
}
