//! What a scripted model says, as people write it down.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::StopReason;

/// The answers to the model calls of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The first model call gets the first of them, and so on.
    pub turns: Vec<ScriptedTurn>,
    /// What every call after them gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<ScriptedTurn>,
}

impl Scenario {
    /// Reads YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_saphyr::from_str(text).map_err(|err| ScenarioError::Unreadable(err.to_string()))?;
        let all = (1..).zip(scenario.turns.iter().chain(&scenario.default));
        for (turn, scripted) in all {
            for failure in &scripted.failures {
                if let Failure::Status { status, .. } = failure
                    && !(300..600).contains(status)
                {
                    return Err(ScenarioError::NoFailure { turn, status: *status });
                }
            }
        }
        Ok(scenario)
    }
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedTurn {
    /// What the last message must contain; otherwise the call fails and says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Reasoning, which comes first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// A signature of the reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// Text, which comes next.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Calls, which come last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ScriptedCall>,
    /// Why the model stops; if not given, because it waits for its calls or is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<ScriptedStop>,
    /// The tokens it took.
    pub usage: ScriptedUsage,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros_usd: Option<u64>,
    /// Streams text and thinking in pieces of this many characters; 0: each in one piece.
    pub chunk_chars: usize,
    /// Waits this long before each piece.
    pub delay_ms: u64,
    /// How the first attempts fail: one entry each. The attempt after them succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// A call of a scripted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// Its id; if not given, one made of the turn and its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which tool.
    pub tool: String,
    /// With what.
    #[serde(default)]
    pub input: Map<String, Value>,
}

/// Tokens of a scripted answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedUsage {
    /// Read anew.
    pub input_tokens: u64,
    /// Said.
    pub output_tokens: u64,
    /// Read from the cache.
    pub cache_read_tokens: u64,
    /// Written to it.
    pub cache_write_tokens: u64,
}

/// Why a scripted model stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedStop {
    /// It is done.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It may not say more.
    MaxTokens,
    /// It met a stop sequence.
    StopSequence,
    /// It will not answer.
    Refusal,
}

impl From<ScriptedStop> for StopReason {
    fn from(stop: ScriptedStop) -> Self {
        match stop {
            ScriptedStop::EndTurn => Self::EndTurn,
            ScriptedStop::ToolUse => Self::ToolUse,
            ScriptedStop::MaxTokens => Self::MaxTokens,
            ScriptedStop::StopSequence => Self::StopSequence,
            ScriptedStop::Refusal => Self::Refusal,
        }
    }
}

/// How an attempt fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Failure {
    /// With a status.
    Status {
        /// 300 to 599.
        status: u16,
        /// What the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// When it wants to be asked again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// In the middle of the answer.
    Cut {
        /// How much of thinking and text still comes.
        #[serde(default)]
        after_chars: usize,
    },
    /// By silence, with the error of a real timeout.
    Timeout {
        /// How long the silence really takes.
        #[serde(default)]
        after_ms: u64,
    },
    /// Not even that: nothing comes until the call is cancelled.
    Hang,
}

/// A scenario that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// It is not written as a scenario is.
    #[error("cannot read the scenario: {0}")]
    Unreadable(String),
    /// A failure that is none.
    #[error("turn {turn} of the scenario fails with status {status}: only 300 to 599 are failures")]
    NoFailure {
        /// From 1.
        turn: u64,
        /// The status.
        status: u16,
    },
}
