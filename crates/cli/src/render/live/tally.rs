//! What a run has used so far.

use r1_event::UnixNanos;
use r1_event::payload::AssistantMessageCompleted;

use crate::render::number::{duration, grouped, usd};
use crate::render::text::count;

/// Counts kept while events go by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) turns: u64,
    pub(crate) tool_calls: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) cost_micros_usd: u64,
    /// Time spent waiting for the model.
    pub(crate) model_ms: u64,
    /// Whether some of the cost is not known.
    pub(crate) unknown_cost: bool,
    first: Option<UnixNanos>,
    last: Option<UnixNanos>,
}

impl Tally {
    pub(crate) fn moment(&mut self, at: UnixNanos) {
        self.first.get_or_insert(at);
        self.last = Some(at);
    }

    pub(crate) fn turn(&mut self, turn: &AssistantMessageCompleted) {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        self.turns += 1;
        self.input_tokens += count(turn.input_tokens);
        self.output_tokens += count(turn.output_tokens);
        self.cache_read_tokens += count(turn.cache_read_tokens);
        self.cache_write_tokens += count(turn.cache_create_tokens);
        self.cost_micros_usd += turn.cost_micros_usd.unwrap_or(0);
        self.model_ms += turn.duration_ms.unwrap_or(0);
        self.unknown_cost |= turn.cost_source.as_deref() == Some("unknown");
    }

    /// From the first event to the last.
    pub(crate) fn duration_ms(&self) -> u64 {
        let span = self.first.zip(self.last).map_or(0, |(first, last)| last.0.saturating_sub(first.0));
        u64::try_from(span).unwrap_or(0) / 1_000_000
    }

    /// `4 turns`, `5 tool calls`, `3,210 tokens in, 210 out`, `$0.0123`, `2.3 s`.
    pub(crate) fn facts(&self) -> [String; 5] {
        let read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens;
        let mut tokens = format!("{} tokens in, {} out", grouped(read), grouped(self.output_tokens));
        if self.cache_read_tokens > 0 {
            tokens.push_str(&format!(" ({} from cache)", grouped(self.cache_read_tokens)));
        }
        let cost = match (self.cost_micros_usd, self.unknown_cost) {
            (0, true) => "cost unknown".into(),
            (cost, true) => format!("{} and more (a price is unknown)", usd(cost)),
            (cost, false) => usd(cost),
        };
        let spent = duration(self.duration_ms());
        [count(self.turns, "turn"), count(self.tool_calls, "tool call"), tokens, cost, spent]
    }
}
