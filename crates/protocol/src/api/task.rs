//! Tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::RunStatus;
use crate::data::{Object, Time};

/// Something that is to be done, in one run or several: a fold over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// `task_` and a ULID.
    pub id: String,
    /// In a few words.
    pub title: String,
    /// agent_loop, shell, git or file.
    pub kind: String,
    /// How its newest run of its own stands.
    pub status: RunStatus,
    /// That run.
    pub latest_run_id: String,
    /// How many runs of its own it has; children and operator runs do not count.
    pub run_count: u64,
    /// low, normal or high.
    pub priority: String,
    /// What its owner calls it, as given.
    pub tags: Object,
    /// What it may use up, over all its runs.
    pub budget: Budget,
    /// What it has cost, all runs and children together.
    pub cost_micros_usd: u64,
    /// When it was made.
    pub created_at: Time,
    /// When one of its runs last wrote something.
    pub updated_at: Time,
}

/// Limits; 0 means none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Money, in millionths of a US dollar.
    pub micros_usd: u64,
    /// Tokens that the model reads.
    pub input_tokens: u64,
    /// Tokens that the model writes.
    pub output_tokens: u64,
    /// Model calls.
    pub turns: u64,
    /// Milliseconds of one run, while it is worked on.
    pub wall_clock_ms: u64,
    /// Percentages of the money at which a warning is written.
    #[schemars(inner(range(min = 1, max = 100)))]
    pub warning_pct: Vec<u64>,
}
