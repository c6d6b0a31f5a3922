//! What is asked for. Unknown members are refused, so that a typing error is not taken for a wish.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::task::Budget;
use crate::data::Object;

/// A task that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewTask {
    /// What kind of work.
    pub kind: TaskKind,
    /// What the agent is to do; of kind agent_loop.
    pub prompt: Option<String>,
    /// A program and its arguments, or a line for a shell; of the kinds shell and git.
    pub command: Option<CommandLine>,
    /// What is to be done to files; of kind file.
    pub operations: Option<Vec<FileOperation>>,
    /// In a few words; the beginning of the prompt if not given.
    pub title: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// Who serves it.
    pub provider: Option<String>,
    /// What the model is told first, instead of the usual.
    pub system_prompt: Option<String>,
    /// Where to work.
    pub workspace: Option<WorkspaceRequest>,
    /// How programs are confined.
    pub sandbox: Option<SandboxRequest>,
    /// What it may use up.
    pub budget: Option<Budget>,
    /// What is allowed without asking.
    pub approval: Option<ApprovalWish>,
    /// Servers whose tools are offered too, as in r1.toml.
    pub mcp_servers: Option<Vec<Object>>,
    /// How soon.
    pub priority: Option<Priority>,
    /// What its owner calls it: short texts by name.
    pub tags: Option<Object>,
    /// Whether it may begin; true if not given.
    pub start: Option<bool>,
}

/// What kind of work a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A model with tools.
    #[default]
    AgentLoop,
    /// One command.
    Shell,
    /// One git command.
    Git,
    /// Changes to files.
    File,
}

impl TaskKind {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentLoop => "agent_loop",
            Self::Shell => "shell",
            Self::Git => "git",
            Self::File => "file",
        }
    }
}

/// A command, taken apart or as one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// The program and its arguments.
    Argv(Vec<String>),
    /// A line for a shell.
    Line(String),
}

/// One change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileOperation {
    /// What to do.
    pub op: Operation,
    /// To which file, relative to the workspace.
    pub path: String,
    /// What to write or append.
    #[serde(default)]
    pub content: Option<String>,
}

/// What can be done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Its whole content.
    Write,
    /// More at its end.
    Append,
    /// Away with it.
    Delete,
}

/// Where to work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceRequest {
    /// A directory of the machine that does the work.
    pub path: Option<String>,
    /// clone, worktree, in_place or none.
    pub mode: Option<String>,
    /// Of a clone or worktree: the revision to begin with.
    pub base: Option<String>,
}

/// How programs are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxRequest {
    /// Whether programs may use the network.
    pub network: Option<bool>,
    /// Whether they may only look at the workspace.
    pub read_only: Option<bool>,
}

/// What is allowed without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalWish {
    /// How much.
    pub policy: Option<ApprovalPolicy>,
    /// How long a question waits for an answer; 0 means for ever.
    pub timeout_seconds: Option<u64>,
}

/// How much is allowed without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Reading.
    Ask,
    /// Reading, and edits of files.
    Edits,
    /// Reading, and nothing else ever.
    ReadOnly,
    /// Everything that no rule forbids.
    Full,
}

/// How soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// When nothing else is to be done.
    Low,
    /// In its turn.
    Normal,
    /// Before the others.
    High,
}

impl Priority {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// What of a task is to change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PatchTask {
    /// In a few words.
    pub title: Option<String>,
    /// How soon.
    pub priority: Option<Priority>,
    /// All its tags.
    pub tags: Option<Object>,
    /// What it may use up; money and tokens may only rise.
    pub budget: Option<Budget>,
}

/// An event from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalEvent {
    /// `external.` and a name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What it says.
    pub data: Object,
}

/// Something said to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageRequest {
    /// What.
    pub text: String,
    /// The sender's own id of it: the same one twice is one message.
    #[serde(default)]
    pub client_message_id: Option<String>,
    /// Artifacts of the run that come with it.
    #[serde(default)]
    pub artifact_ids: Vec<String>,
}

/// Why something is to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CancelRequest {
    /// Why.
    pub reason: Option<String>,
}

/// Why something is to begin again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryRequest {
    /// Why.
    pub reason: Option<String>,
}

/// How a run is to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResumeRequest {
    /// From this checkpoint.
    pub checkpoint_id: Option<String>,
    /// From this event.
    pub from_sequence: Option<u64>,
    /// What to tell the agent.
    pub message: Option<String>,
    /// Another budget.
    pub budget: Option<Budget>,
    /// Why.
    pub reason: Option<String>,
}

/// How a run is to be forked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRequest {
    /// The last event that both share.
    pub at_sequence: u64,
    /// What to tell the agent.
    #[serde(default)]
    pub message: Option<String>,
    /// Another model.
    #[serde(default)]
    pub model: Option<String>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Yes or no.
    pub decision: Decision,
    /// What else there is to say; the model hears it with a no.
    #[serde(default)]
    pub comment: Option<String>,
    /// For how long a yes holds.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// What was shown; another subject is refused.
    #[serde(default)]
    pub subject_hash: Option<String>,
    /// What to run instead.
    #[serde(default)]
    pub edited_input: Option<Value>,
}

/// Yes or no, in the words that people use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes.
    #[serde(alias = "approved")]
    Approve,
    /// No.
    #[serde(alias = "rejected", alias = "denied")]
    Reject,
}

/// For how long a yes holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For this call.
    #[default]
    Once,
    /// For the same call again, until the session ends.
    Session,
}

/// How a patch is to be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PatchRequest {
    /// Why.
    pub reason: Option<String>,
    /// Whether a drifted file is patched where every hunk fits in exactly one place.
    pub allow_offset: Option<bool>,
}

/// What an uploaded body is, in the query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Attach {
    /// image, file_snapshot or tool_result_blob.
    pub kind: Option<String>,
    /// Its name for people.
    pub name: Option<String>,
}
