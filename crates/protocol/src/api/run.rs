//! Runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Object, Time};

/// One run: a fold over its log, and whose lease it is under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// `run_` and a ULID.
    pub id: String,
    /// Its task, if it has one.
    pub task_id: Option<String>,
    /// `chat_` and a ULID; none on logs of Starling.
    pub session_id: Option<String>,
    /// Its number in its task, from 1.
    pub number: Option<u64>,
    /// In a few words.
    pub title: String,
    /// agent_loop, shell, git, file, recorded, operator or control.
    pub kind: String,
    /// How it stands.
    pub status: RunStatus,
    /// Whether someone asked it to end and it has not yet.
    pub cancelling: bool,
    /// Which model; `none` for runs without one.
    pub model: String,
    /// Who serves it.
    pub provider: String,
    /// Where it works.
    pub workspace_path: Option<String>,
    /// clone, worktree, in_place or none.
    pub workspace_mode: Option<String>,
    /// The run of the same task before it.
    pub prior_run_id: Option<String>,
    /// The run that started it as a part of its own work, or that it is about.
    pub parent_run_id: Option<String>,
    /// The run that it shares its beginning with.
    pub forked_from: Option<ForkedFrom>,
    /// Of a recorded run: what it was recorded from.
    pub source: Option<Object>,
    /// Time of its first event.
    pub created_at: Time,
    /// When a worker first took it.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Place of its last event.
    pub last_sequence: u64,
    /// Model calls that were completed.
    pub turns: u64,
    /// Tool calls that were decided to run.
    pub tool_calls: u64,
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// What it has cost.
    pub cost_micros_usd: u64,
    /// What its task had cost before it.
    pub prior_cost_micros_usd: u64,
    /// Questions that wait for a person.
    pub pending_approvals: u64,
    /// Why it failed.
    pub error: Option<RunError>,
    /// The worker that has it, or had it last.
    pub worker_id: Option<String>,
    /// Until when its lease holds, if anyone has one.
    pub lease_until: Option<Time>,
    /// How often a worker took it.
    pub attempt: u64,
    /// Whether its end is signed.
    pub sealed: bool,
    /// The last event that was pruned.
    pub pruned_through: Option<u64>,
    /// The trace that it belongs to: 32 hexadecimal digits.
    pub trace_id: Option<String>,
}

/// Where a fork leaves its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    /// The run.
    pub run_id: String,
    /// The last event that both share.
    pub sequence: u64,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Held back until it is released.
    NotStarted,
    /// Waits for a worker.
    Queued,
    /// Being worked on.
    Running,
    /// Waits for a person, and nothing else can go on.
    AwaitingApproval,
    /// A session that waits for the next message, or a recorded run without its recorder.
    Idle,
    /// A session whose worker is gone.
    Paused,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Stopped.
    Cancelled,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NotStarted,
        Self::Queued,
        Self::Running,
        Self::AwaitingApproval,
        Self::Idle,
        Self::Paused,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Idle => "idle",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing can come any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
