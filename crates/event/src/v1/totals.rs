//! What RunCompleted sums up, against what the log shows.

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
    /// Whether an event that counts could not be read.
    incomplete: bool,
}

impl Totals {
    /// An event that cannot be read.
    pub(super) const fn skip(&mut self, kind: u8) {
        self.incomplete |= matches!(kind, 3 | 5 | 6);
    }

    pub(super) const fn turn(&mut self) {
        self.turns += 1;
    }

    pub(super) fn answer(&mut self, message: &Fields) {
        self.input_tokens = self.input_tokens.wrapping_add(message.int("input_tokens"));
        self.output_tokens = self.output_tokens.wrapping_add(message.int("output_tokens"));
        self.cost_usd += message.float("cost_usd");
        self.last_text = Some(message.text_bytes("text"));
    }

    pub(super) fn call(&mut self, attempt: u64) {
        self.calls += 1;
        self.first_attempts += u64::from(attempt == 1);
    }

    /// Compares what RunCompleted sums up with the log before it.
    pub(super) fn check(&self, fields: &Fields, report: &mut Report<'_>) {
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
