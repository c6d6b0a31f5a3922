//! What the last event sums up.

use bytes::Bytes;
use r1_event::Digest;
use r1_event::payload::{AssistantMessageCompleted, RunCompleted};

/// Sums over a log, in the order in which Starling adds: sums of floats depend on it.
#[derive(Default)]
pub(super) struct Totals {
    turns: u32,
    calls: u32,
    input_tokens: i64,
    output_tokens: i64,
    cost_usd: f64,
    last_text: String,
}

impl Totals {
    pub(super) const fn turn(&mut self) {
        self.turns = self.turns.wrapping_add(1);
    }

    /// Each attempt counts.
    pub(super) const fn call(&mut self) {
        self.calls = self.calls.wrapping_add(1);
    }

    pub(super) fn answer(&mut self, message: &AssistantMessageCompleted) {
        self.input_tokens = self.input_tokens.wrapping_add(message.input_tokens);
        self.output_tokens = self.output_tokens.wrapping_add(message.output_tokens);
        self.cost_usd += message.cost_usd;
        self.last_text.clone_from(&message.text);
    }

    /// The event that ends a run which went well.
    pub(super) fn completed(&self, root: &Digest, duration_ms: i64) -> RunCompleted {
        let Self { turns, calls, input_tokens, output_tokens, cost_usd, last_text } = self;
        RunCompleted {
            final_text: last_text.clone(),
            turn_count: *turns,
            tool_call_count: *calls,
            total_cost_usd: *cost_usd,
            total_input_tokens: *input_tokens,
            total_output_tokens: *output_tokens,
            duration_ms,
            merkle_root: Some(Bytes::copy_from_slice(root.as_bytes())),
            ..RunCompleted::default()
        }
    }
}
