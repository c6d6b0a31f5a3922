//! Approvals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Object, Time};

/// A question to a person, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// `appr_` and a ULID.
    pub id: String,
    /// The run that asks.
    pub run_id: String,
    /// Its task.
    pub task_id: Option<String>,
    /// The call that it is about.
    pub tool_call_id: Option<String>,
    /// The tool's family, or gate, soft_pass, ac_rewrite, critical_note, consent.
    pub kind: String,
    /// What came of it.
    pub status: ApprovalStatus,
    /// What will be done, in a line.
    pub summary: String,
    /// Why it is asked.
    pub policy_reason: String,
    /// The tool.
    pub tool_name: Option<String>,
    /// Exactly what the tool will be given.
    pub input: Option<Object>,
    /// Exactly what will be executed.
    pub argv: Option<Vec<String>>,
    /// Where.
    pub cwd: Option<String>,
    /// The patches that will be applied.
    pub patch_artifact_ids: Vec<String>,
    /// Names what is asked; give it back with the answer, so that nothing else is approved.
    pub subject_hash: String,
    /// For how long a yes may hold: once, session.
    pub scopes: Vec<String>,
    /// any, or human: then no program may answer.
    pub approver: String,
    /// When it was asked.
    pub requested_at: Time,
    /// When it is too late.
    pub expires_at: Option<Time>,
    /// When it was answered.
    pub resolved_at: Option<Time>,
    /// operator, agent, system, timeout, parent or policy.
    pub by: Option<String>,
    /// What the answer came with.
    pub comment: Option<String>,
    /// For how long the yes holds.
    pub scope: Option<String>,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// It waits for an answer.
    Pending,
    /// Yes.
    Approved,
    /// No.
    Rejected,
    /// Nobody answered in time.
    TimedOut,
    /// What it was about has ended.
    Cancelled,
}

impl ApprovalStatus {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }
}
