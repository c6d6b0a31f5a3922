//! What a terminal event claims, against what the log shows.

use bytes::Bytes;

use super::fields::Fields;
use super::validate::Report;

/// Sums over a log.
#[derive(Debug, Default)]
pub(super) struct Totals {
    turns: u64,
    calls: u64,
    first_attempts: u64,
    input_tokens: i64,
    output_tokens: i64,
    cost_usd: f64,
    last_text: Option<Bytes>,
    over_budget: bool,
    call_failed: bool,
    /// What happened last that could end a run.
    last: Cause,
    /// Whether an event that counts could not be read.
    incomplete: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cause {
    #[default]
    None,
    /// An answer that asks for no calls.
    Answer,
    Budget,
    /// A call failed for good.
    Failure,
}

/// Clocks are read a little apart.
const CLOCK_SLACK_MS: i64 = 1000;

impl Totals {
    /// An event that cannot be read.
    pub(super) const fn skip(&mut self, kind: u8) {
        self.incomplete |= matches!(kind, 3 | 5 | 6);
    }

    pub(super) const fn turn(&mut self) {
        self.turns += 1;
        self.last = Cause::None;
    }

    pub(super) fn answer(&mut self, message: &Fields, is_final: bool) {
        self.input_tokens = self.input_tokens.wrapping_add(message.int("input_tokens"));
        self.output_tokens = self.output_tokens.wrapping_add(message.int("output_tokens"));
        self.cost_usd += message.float("cost_usd");
        self.last_text = Some(message.text_bytes("text"));
        self.last = if is_final { Cause::Answer } else { Cause::None };
    }

    pub(super) fn call(&mut self, fields: &Fields) {
        self.calls += 1;
        self.first_attempts += u64::from(fields.uint("attempt") == 1);
        self.last = Cause::None;
    }

    pub(super) fn outcome(&mut self, fields: &Fields, failed: bool) {
        self.call_failed |= failed;
        self.last = if failed && fields.bool("final") { Cause::Failure } else { Cause::None };
    }

    pub(super) const fn budget(&mut self) {
        self.over_budget = true;
        self.last = Cause::Budget;
    }

    pub(super) const fn seam(&mut self) {
        self.last = Cause::None;
    }

    /// Compares the terminal event with the log before it; `span` is how many nanoseconds that took.
    pub(super) fn check(&self, kind: u8, fields: &Fields, turn_open: bool, span: i64, report: &mut Report<'_>) {
        match kind {
            12 => self.completed(fields, report),
            13 => self.failed(fields, turn_open, report),
            _ => self.cancelled(fields, turn_open, report),
        }
        let (longest, duration) = (span / 1_000_000 + CLOCK_SLACK_MS, fields.int("duration_ms"));
        if !(0..=longest.max(CLOCK_SLACK_MS)).contains(&duration) {
            let message = "the run claims to have taken longer than its events".into();
            report.notice_with("terminal_duration", message, format_args!("0..={longest}"), duration);
        }
    }

    fn completed(&self, fields: &Fields, report: &mut Report<'_>) {
        if matches!(self.last, Cause::Budget | Cause::Failure) {
            report.notice("terminal_cause", "the run claims success right after it failed".into());
        }
        let text = fields.text("final_text");
        if self.last_text.as_ref().is_some_and(|last| text != &last[..]) {
            report.notice("terminal_final_text", "`final_text` is not the last answer in the log".into());
        }
        if self.incomplete {
            return;
        }
        let calls = fields.uint("tool_call_count");
        if calls != self.calls && calls != self.first_attempts {
            total("terminal_tool_call_count", "tool_call_count", self.calls, calls, report);
        }
        let turns = fields.uint("turn_count");
        if turns != self.turns {
            total("terminal_turn_count", "turn_count", self.turns, turns, report);
        }
        for (code, key, expected) in [
            ("terminal_input_tokens", "total_input_tokens", self.input_tokens),
            ("terminal_output_tokens", "total_output_tokens", self.output_tokens),
        ] {
            let found = fields.int(key);
            if found != expected {
                total(code, key, expected, found, report);
            }
        }
        let cost = fields.float("total_cost_usd");
        if !is_close(cost, self.cost_usd) {
            total("terminal_cost", "total_cost_usd", self.cost_usd, cost, report);
        }
    }

    fn failed(&self, fields: &Fields, turn_open: bool, report: &mut Report<'_>) {
        let error_type = fields.text("error_type");
        if self.last == Cause::Answer {
            report.notice("terminal_cause", "the run claims to have failed right after its final answer".into());
        }
        let (explained, open_turn_explained) = match error_type {
            b"budget" => (self.over_budget, true),
            b"tool" => (self.call_failed, false),
            b"provider" | b"internal" => (true, true),
            b"max_turns" => (true, false),
            _ => {
                let found = String::from_utf8_lossy(error_type);
                let expected = "budget, max_turns, tool, provider or internal";
                report.notice_with("terminal_error_type", "no such class of failure".into(), expected, found);
                (true, false)
            }
        };
        if !explained {
            let error_type = String::from_utf8_lossy(error_type);
            report.notice("terminal_cause", format!("nothing in the log explains a failure of type {error_type}"));
        }
        if turn_open && !open_turn_explained {
            turn_left_open(report);
        }
    }

    fn cancelled(&self, fields: &Fields, turn_open: bool, report: &mut Report<'_>) {
        if self.last == Cause::Answer {
            report.notice("terminal_cause", "the run claims to have been stopped right after its final answer".into());
        }
        if turn_open && !matches!(fields.text("reason"), b"context_canceled" | b"deadline_exceeded") {
            turn_left_open(report);
        }
    }
}

fn turn_left_open(report: &mut Report<'_>) {
    report.notice("turn_left_open", "the run ended inside a turn, and its stated cause does not explain why".into());
}

fn total(
    code: &'static str,
    key: &str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
    report: &mut Report<'_>,
) {
    report.notice_with(code, format!("`{key}` does not add up"), expected, found);
}

/// Sums of floats may differ in their last digits.
fn is_close(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-15
}
