//! What a run was asked to do, whole: it is kept in the run's first event, so that whoever resumes,
//! replays or forks it needs nothing but the log.

use r1_event::payload::Raw;
use r1_protocol::{api, json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::phases::PhasePlan;
use crate::mcp::ServerSpec;
use crate::policy::{ApprovalMode, Policy};
use crate::price::Price;
use crate::provider::ProviderSpec;
use crate::tool::ToolSpec;

/// How a run is to be carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSpec {
    /// A session stays open after an answer; a task ends with it.
    pub interactive: bool,
    /// Nobody is there to answer: what would be asked is refused.
    pub unattended: bool,
    /// How much is allowed without asking.
    pub approval: ApprovalMode,
    /// How long an approval waits; 0 means for ever.
    pub approval_timeout_s: u64,
    /// The rules for tool calls.
    pub policy: Policy,
    /// Where the model is and how to talk to it, and what a scripted one says; never a key.
    pub provider: ProviderSpec,
    /// Parameters for the model, as given.
    pub params: Map<String, Value>,
    /// What its tokens cost, if known.
    pub price: Option<Price>,
    /// What the run may use up.
    pub budget: Budget,
    /// Model calls after which the run fails.
    pub max_turns: u64,
    /// The most the model may say in one turn.
    pub max_output_tokens: u64,
    /// How much conversation the model takes; what is more is compacted.
    pub context_tokens: u64,
    /// Attempts at one turn before it has failed.
    pub max_attempts: u64,
    /// Events between two checkpoints of a run that is busy.
    pub checkpoint_events: u64,
    /// What the model may call.
    pub tools: Vec<ToolSpec>,
    /// How programs are confined.
    pub sandbox: SandboxWish,
    /// Servers whose tools are offered too.
    pub mcp_servers: Vec<ServerSpec>,
    /// Whether pieces of reasoning are recorded as they come.
    pub thinking_deltas: bool,
    /// Of a run without a model: the calls to make, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedCall>,
    /// How the task goes through its phases, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhasePlan>,
    /// What a workspace of the run's own is made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_source: Option<WorkspaceSource>,
}

/// A call that nobody has to think of first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedCall {
    /// Which tool.
    pub tool: String,
    /// With what.
    pub input: Map<String, Value>,
}

/// What a clone or worktree is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspaceSource {
    /// The directory.
    pub path: String,
    /// The revision to begin with; of a repository its HEAD if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

impl Default for RunSpec {
    /// The values that hold where nothing else is said.
    fn default() -> Self {
        Self {
            interactive: false,
            unattended: false,
            approval: ApprovalMode::default(),
            approval_timeout_s: 86_400,
            policy: Policy::default(),
            provider: ProviderSpec::default(),
            params: Map::new(),
            price: None,
            budget: Budget { warning_pct: vec![80], ..Budget::default() },
            max_turns: 200,
            max_output_tokens: 16_000,
            context_tokens: 180_000,
            max_attempts: 3,
            checkpoint_events: 200,
            tools: Vec::new(),
            sandbox: SandboxWish::default(),
            mcp_servers: Vec::new(),
            thinking_deltas: false,
            plan: Vec::new(),
            phases: None,
            workspace_source: None,
        }
    }
}

impl RunSpec {
    /// As it is kept in the log.
    #[must_use]
    pub fn to_raw(&self) -> Raw {
        json::to_raw(self)
    }

    /// As the log has it; a log without one gets the usual values. `None` if this R1 cannot read it: to go
    /// on with other rules than the run was given would be worse than not to go on.
    #[must_use]
    pub fn from_raw(raw: Option<&Raw>) -> Option<Self> {
        raw.map_or_else(|| Some(Self::default()), json::read)
    }
}

/// Limits of a run; 0 means none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Micro-dollars.
    pub micros_usd: u64,
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Model calls.
    pub turns: u64,
    /// Milliseconds while running.
    pub wall_clock_ms: u64,
    /// Percentages of the money at which a warning is written.
    pub warning_pct: Vec<u64>,
}

impl Budget {
    /// This budget, with the limits that `other` names instead.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let either = |own: u64, other: u64| if other > 0 { other } else { own };
        Self {
            micros_usd: either(self.micros_usd, other.micros_usd),
            input_tokens: either(self.input_tokens, other.input_tokens),
            output_tokens: either(self.output_tokens, other.output_tokens),
            turns: either(self.turns, other.turns),
            wall_clock_ms: either(self.wall_clock_ms, other.wall_clock_ms),
            warning_pct: if other.warning_pct.is_empty() { &self.warning_pct } else { &other.warning_pct }.clone(),
        }
    }
}

impl From<api::Budget> for Budget {
    fn from(budget: api::Budget) -> Self {
        let api::Budget { micros_usd, input_tokens, output_tokens, turns, wall_clock_ms, warning_pct } = budget;
        Self { micros_usd, input_tokens, output_tokens, turns, wall_clock_ms, warning_pct }
    }
}

impl From<Budget> for api::Budget {
    fn from(budget: Budget) -> Self {
        let Budget { micros_usd, input_tokens, output_tokens, turns, wall_clock_ms, warning_pct } = budget;
        Self { micros_usd, input_tokens, output_tokens, turns, wall_clock_ms, warning_pct }
    }
}

/// How a run's programs are to be confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxWish {
    /// Whether programs may use the network.
    pub network: bool,
    /// Whether they may only look at the workspace.
    pub read_only: bool,
    /// Whether a run without any confinement is refused.
    pub require: bool,
}
