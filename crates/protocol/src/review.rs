//! What a review has used, as the log tells it: beside what the gate saw, in a side effect.
//!
//! A review is a call of a model, but no turn of the run: it has no place in the conversation. So no
//! `turn.completed` tells of it.

use r1_event::payload::SideEffectRecorded;
use serde::{Deserialize, Serialize};

use crate::json;

/// Name of the side effect that tells what a gate saw: the end of it, and where all of it is.
pub const GATE_EVIDENCE: &str = "gate.evidence";

/// Which model reviewed, and what that took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who serves it.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Tokens read anew.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens said.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Tokens written to it.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Micro-dollars.
    #[serde(default)]
    pub cost_micros_usd: u64,
    /// Who says so: provider, price_book or unknown.
    #[serde(default)]
    pub cost_source: String,
}

impl Review {
    /// The review that a side effect tells of, if it does.
    #[must_use]
    pub fn of(effect: &SideEffectRecorded) -> Option<Self> {
        if effect.name != GATE_EVIDENCE {
            return None;
        }
        let mut told = json::from_raw(&effect.value);
        serde_json::from_value(told.get_mut("review")?.take()).ok()
    }

    /// All tokens that were read.
    #[must_use]
    pub const fn read_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }
}
