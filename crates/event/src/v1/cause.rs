//! Why a run ended, against what happened right before.
//!
//! A program that calls tools without Starling's agent may end as it likes; the agent itself ends only in a
//! few ways, each of which leaves its trace in the log.

use bytes::Bytes;

use super::fields::Fields;
use super::validate::{Report, is_terminal, text};

/// What happened last that could end a run.
#[derive(Debug, Default)]
pub(super) struct Causes {
    last: Last,
    /// The errors of the calls, among those made together, that failed for good.
    failures: Vec<Bytes>,
    /// Whether any attempt ever failed.
    call_failed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    /// An answer that asks for no calls.
    Answer,
    Budget,
    /// A call failed for good.
    Failure,
}

/// What is open when the terminal event comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) turn: bool,
    pub(super) calls: u64,
}

impl Causes {
    /// The next event: nothing but the end, or a resumption, follows an exceeded budget.
    pub(super) fn next(&mut self, kind: u8, report: &mut Report<'_>) {
        if self.last == Last::Budget && kind != 15 && !is_terminal(kind) {
            report.notice("budget_ignored", "the run goes on although its budget was exceeded".into());
            self.last = Last::Nothing;
        }
    }

    pub(super) fn turn(&mut self) {
        self.forget();
    }

    pub(super) fn seam(&mut self) {
        self.forget();
    }

    /// An event that cannot be read: what it did is not known.
    pub(super) fn skip(&mut self, kind: u8) {
        if matches!(kind, 3 | 5 | 6 | 7 | 8 | 10 | 15) {
            self.forget();
        }
    }

    pub(super) fn answer(&mut self, is_final: bool) {
        self.forget();
        if is_final {
            self.last = Last::Answer;
        }
    }

    pub(super) fn call(&mut self, attempt: u64) {
        self.last = Last::Nothing;
        // Calls that are made together are all scheduled before the first of them ends.
        if attempt == 1 {
            self.failures.clear();
        }
    }

    pub(super) fn outcome(&mut self, fields: &Fields, failed: bool) {
        self.call_failed |= failed;
        self.last = Last::Nothing;
        if failed && fields.bool("final") {
            self.last = Last::Failure;
            self.failures.push(fields.text_bytes("error"));
        }
    }

    pub(super) const fn budget(&mut self) {
        self.last = Last::Budget;
    }

    fn forget(&mut self) {
        self.last = Last::Nothing;
        self.failures.clear();
    }

    /// Compares what a terminal event claims.
    pub(super) fn check(&self, kind: u8, fields: &Fields, open: Open, report: &mut Report<'_>) {
        match kind {
            12 => self.completed(report),
            13 => self.failed(fields, open, report),
            _ => self.cancelled(fields, open, report),
        }
    }

    fn completed(&self, report: &mut Report<'_>) {
        if matches!(self.last, Last::Budget | Last::Failure) {
            other_cause("the run claims success right after it failed", report);
        }
    }

    fn failed(&self, fields: &Fields, open: Open, report: &mut Report<'_>) {
        let (error_type, error) = (fields.text("error_type"), fields.text("error"));
        let named = self.failures.iter().any(|failure| contains(error, failure));
        match self.last {
            Last::Answer => other_cause("the run claims to have failed right after its final answer", report),
            Last::Budget if error_type != b"budget" => {
                other_cause("the run claims another failure than that its budget was exceeded", report);
            }
            Last::Budget => {}
            // A call without an outcome may be the one that ended the run.
            Last::Nothing | Last::Failure if open.calls == 0 => {
                if let (false, Some(failure)) = (named, self.failures.first()) {
                    let message = "`error` does not say what the call before failed with".into();
                    report.notice_with("terminal_error", message, text(failure), text(error));
                }
                if !self.failures.is_empty() && matches!(error_type, b"provider" | b"internal") {
                    other_cause("the run claims another failure than that of its call", report);
                }
            }
            Last::Nothing | Last::Failure => {}
        }
        let (explained, open_turn_explained) = match error_type {
            // A tool may run an agent of its own, which has budgets too.
            b"budget" => (self.last == Last::Budget || named, true),
            b"tool" => (self.call_failed || open.calls > 0, false),
            b"provider" | b"internal" => (true, true),
            b"max_turns" => (true, false),
            _ => {
                let expected = "budget, max_turns, tool, provider or internal";
                report.notice_with(
                    "terminal_error_type",
                    "no such class of failure".into(),
                    expected,
                    text(error_type),
                );
                (true, false)
            }
        };
        if !explained {
            other_cause(&format!("nothing in the log explains a failure of type {}", text(error_type)), report);
        }
        if open.turn && !open_turn_explained {
            turn_left_open(report);
        }
    }

    fn cancelled(&self, fields: &Fields, open: Open, report: &mut Report<'_>) {
        match self.last {
            Last::Answer => other_cause("the run claims to have been stopped right after its final answer", report),
            Last::Budget => {
                other_cause("the run claims to have been stopped right after its budget was exceeded", report)
            }
            Last::Nothing | Last::Failure => {}
        }
        if open.turn && !matches!(fields.text("reason"), b"context_canceled" | b"deadline_exceeded") {
            turn_left_open(report);
        }
    }
}

fn other_cause(message: &str, report: &mut Report<'_>) {
    report.notice("terminal_cause", message.into());
}

fn turn_left_open(report: &mut Report<'_>) {
    report.notice("turn_left_open", "the run ended inside a turn, and its stated cause does not explain why".into());
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}
