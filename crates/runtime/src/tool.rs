//! What an agent can do.
//!
//! A [`Tool`] describes itself ([`ToolSpec`]), says what a call would touch ([`Subject`], which policy
//! looks at) and runs. It writes the events of its own kind through its [`ToolContext`]; the loop writes
//! `tool.invoked`, `tool.started` and the terminal event around it.

pub mod apply_patch;
pub mod builtin;
mod commits;
pub mod edit;
mod editing;
pub mod file_operations;
pub mod file_read;
pub mod file_write;
pub mod git;
pub mod glob;
pub mod grep;
pub mod http;
mod input;
pub mod memory;
pub mod multi_edit;
mod output;
mod replace;
pub mod shell;
pub mod todo_write;
mod walk;
mod web;
pub mod web_fetch;
pub mod web_search;
mod work;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::artifact::Artifacts;
use crate::emit::Emitter;
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;

/// Something the model can call.
pub trait Tool: Send + Sync {
    /// What the model and the log are told of it.
    fn spec(&self) -> &ToolSpec;

    /// What a call with this input would touch. Pure: the same input gives the same subject, also in a
    /// replay on another machine.
    fn subject(&self, input: &Value) -> Result<Subject, BadInput>;

    /// For tools whose effect must be shown before it is allowed (`spec().prepares`): works out what
    /// would change, stores it, and changes nothing. `run` gets the result back.
    fn prepare<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let _ = (call, context);
        Box::pin(async { Ok(Prepared::default()) })
    }

    /// Does it.
    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What is told of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name for the model.
    pub name: String,
    /// Its family.
    pub kind: ToolKind,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
    /// Whether running it twice is as good as once: after a crash it is run again.
    pub idempotent: bool,
    /// Whether [`Tool::prepare`] must run before it is allowed.
    pub prepares: bool,
    /// Server and name there, for tools of an MCP server.
    pub mcp: Option<(String, String)>,
}

/// What a call would touch; what an approval shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Nothing outside of R1.
    Internal,
    /// Reads below this path of the workspace.
    Read {
        /// Relative to the workspace.
        path: String,
    },
    /// Changes these files of the workspace.
    Edit {
        /// Relative to the workspace.
        paths: Vec<String>,
    },
    /// Runs a program.
    Command {
        /// Program and arguments, exactly.
        argv: Vec<String>,
        /// Where, relative to the workspace.
        cwd: String,
        /// Whether it only reads (some git commands).
        reads_only: bool,
    },
    /// Talks to a server.
    Network {
        /// GET, POST, …
        method: String,
        /// The whole URL.
        url: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// Which server.
        server: String,
        /// Which tool there.
        tool: String,
    },
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The model's own id of it.
    pub call_id: String,
    /// From 1.
    pub attempt: u64,
    /// The turn that asked for it.
    pub turn_index: u64,
    /// As the model wrote it, or as an approver changed it.
    pub input: Value,
    /// What [`Tool::prepare`] found.
    pub prepared: Prepared,
    /// The `tool.invoked` event (before it: the proposal), for artifacts that this call makes.
    pub event_id: String,
}

/// What a call would do, worked out before it is allowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// Patches, already stored as artifacts with status `proposed`.
    pub patches: Vec<String>,
    /// Whether one of them seems to hold a secret: then a person must say yes.
    pub contains_secrets: bool,
    /// What the tool itself wants to remember.
    pub state: Value,
    /// Whether the log says that an earlier attempt has done it: it is neither done nor told again.
    pub applied: bool,
}

impl Prepared {
    /// As it is recorded.
    pub(crate) fn to_json(&self, call_id: &str) -> Value {
        // Whether it was applied is told by events of its own.
        let Self { patches, contains_secrets, state, applied: _ } = self;
        json!({
            "tool_call_id": call_id,
            "patches": patches,
            "contains_secrets": contains_secrets,
            "state": state,
        })
    }

    /// As it was recorded.
    pub(crate) fn from_json(value: &Value) -> Self {
        let patches = value.get("patches").and_then(Value::as_array);
        Self {
            patches: patches.into_iter().flatten().filter_map(|id| id.as_str().map(Into::into)).collect(),
            contains_secrets: value.get("contains_secrets").and_then(Value::as_bool).unwrap_or(false),
            state: value.get("state").cloned().unwrap_or_default(),
            applied: false,
        }
    }
}

impl Subject {
    /// What a call would do, in a line.
    #[must_use]
    pub fn summary(&self, tool: &str) -> String {
        match self {
            Self::Internal => tool.to_owned(),
            Self::Read { path } => format!("{tool} {path}"),
            Self::Edit { paths } => format!("{tool} {}", paths.join(", ")),
            Self::Command { argv, .. } => match argv.as_slice() {
                // What a shell is given reads better without the shell.
                [shell, flag, command] if shell.ends_with("sh") && flag == "-c" => format!("run {command}"),
                argv => format!("run {}", argv.join(" ")),
            },
            Self::Network { method, url } => format!("{method} {url}"),
            Self::Mcp { server, tool } => format!("{server}: {tool}"),
        }
    }
}

/// All that a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    /// Where it works.
    pub workspace: Arc<Workspace>,
    /// How it starts programs.
    pub sandbox: Arc<Sandbox>,
    /// Where its events go.
    pub events: Emitter,
    /// Where its content goes.
    pub artifacts: Artifacts,
    /// Finds secrets in streams before they are stored.
    pub redactor: Arc<Redactor>,
    /// What the agent remembers.
    pub memory: Memory,
    /// Ends the call: stop everything that was started, then return.
    pub cancel: CancellationToken,
}

/// A call that succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model receives: text or JSON, at most [`MAX_OUTPUT`] bytes encoded.
    pub output: Value,
    /// What happened, in a line.
    pub summary: String,
    /// Where the whole result is, if the model gets only a part.
    pub artifact_id: Option<String>,
}

/// The most that a model receives of one call: what is larger is cut by the tool, and kept whole as an artifact.
pub const MAX_OUTPUT: usize = 64 << 10;

/// A call that did not succeed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// How.
    pub failure: Failure,
    /// What went wrong; the model reads it.
    pub message: String,
    /// What the model receives beside it, such as the output of a failed command.
    pub output: Option<Value>,
    /// Where the whole result is.
    pub artifact_id: Option<String>,
    /// What happened, in a line.
    pub summary: String,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The tool says no: bad input, a missing file, an exit code.
    Tool,
    /// It could not be started.
    Spawn,
    /// It was not allowed after all.
    Denied,
    /// It ran too long.
    TimedOut {
        /// When that was noticed.
        after_ms: u64,
    },
    /// It said too much.
    OutputLimit {
        /// When that was noticed.
        after_ms: u64,
    },
    /// Someone stopped it.
    Cancelled,
}

impl ToolError {
    /// A plain failure.
    pub fn tool(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { failure: Failure::Tool, summary: message.clone(), message, output: None, artifact_id: None }
    }

    /// The call was stopped.
    #[must_use]
    pub fn cancelled() -> Self {
        Self { failure: Failure::Cancelled, ..Self::tool("the call was cancelled") }
    }
}

/// Input that the tool cannot take. The message tells the model what to send instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);
