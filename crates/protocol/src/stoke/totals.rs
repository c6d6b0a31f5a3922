//! What a run has used up, as its `result` tells it.

use std::collections::BTreeMap;

use r1_event::payload::AssistantMessageCompleted;
use serde_json::{Value, json};

use super::money::usd;
use crate::envelope::micros;
use crate::review::Review;

/// Sums over the turns and reviews of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) turns: u64,
    pub(super) model_ms: u64,
    pub(super) stop_reason: String,
    by_model: BTreeMap<String, Used>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    input: i64,
    output: i64,
    cache_read: i64,
    cache_write: i64,
    micros_usd: u64,
}

impl Totals {
    pub(super) fn add(&mut self, answer: &AssistantMessageCompleted, model: &str) {
        self.turns += 1;
        self.model_ms = self.model_ms.saturating_add(answer.duration_ms.unwrap_or(0));
        self.stop_reason.clone_from(&answer.stop_reason);
        let counted = || micros(answer.cost_usd).and_then(|micros| u64::try_from(micros).ok());
        let cost = answer.cost_micros_usd.or_else(counted).unwrap_or(0);
        let used = self.by_model.entry(model.to_owned()).or_default();
        used.input = used.input.saturating_add(answer.input_tokens);
        used.output = used.output.saturating_add(answer.output_tokens);
        used.cache_read = used.cache_read.saturating_add(answer.cache_read_tokens);
        used.cache_write = used.cache_write.saturating_add(answer.cache_create_tokens);
        used.micros_usd = used.micros_usd.saturating_add(cost);
    }

    /// A review is paid for like a turn, and is none.
    pub(super) fn add_review(&mut self, review: &Review) {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let used = self.by_model.entry(review.model.clone()).or_default();
        used.input = used.input.saturating_add(count(review.input_tokens));
        used.output = used.output.saturating_add(count(review.output_tokens));
        used.cache_read = used.cache_read.saturating_add(count(review.cache_read_tokens));
        used.cache_write = used.cache_write.saturating_add(count(review.cache_write_tokens));
        used.micros_usd = used.micros_usd.saturating_add(review.cost_micros_usd);
    }

    pub(super) fn micros_usd(&self) -> u64 {
        self.by_model.values().fold(0, |sum, used| sum.saturating_add(used.micros_usd))
    }

    pub(super) fn usage(&self) -> Value {
        let sum = |count: fn(&Used) -> i64| self.by_model.values().map(count).fold(0, i64::saturating_add);
        json!({
            "input_tokens": sum(|used| used.input),
            "output_tokens": sum(|used| used.output),
            "cache_read_input_tokens": sum(|used| used.cache_read),
            "cache_creation_input_tokens": sum(|used| used.cache_write),
        })
    }

    pub(super) fn by_model(&self) -> Value {
        let told = |used: &Used| {
            json!({
                "inputTokens": used.input,
                "outputTokens": used.output,
                "cacheReadInputTokens": used.cache_read,
                "cacheCreationInputTokens": used.cache_write,
                "costUSD": usd(used.micros_usd),
            })
        };
        Value::Object(self.by_model.iter().map(|(model, used)| (model.clone(), told(used))).collect())
    }
}
