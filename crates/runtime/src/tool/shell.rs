//! Running commands.

mod chunk;
mod collect;
mod excerpt;

use std::time::Duration;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ArtifactKind, Object, ToolKind, ToolShellCommand, ToolShellExited};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::commits::Watch;
use super::output::line;
use super::work::lost;
use super::{BadInput, Failure, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};
use crate::artifact::NewArtifact;
use crate::process::{Ended, Finished};
use crate::sandbox::{CommandRequest, RunError, SandboxLayer};
use collect::{Collected, collect};

/// What runs a command line. A constant, so that a call means the same everywhere.
const SHELL: &str = "bash";

/// How long a command may take if the call does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a call may let it take.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// Pieces of output that may wait to be told; then the command waits.
const QUEUE: usize = 16;

/// Runs commands in the sandbox.
#[derive(Debug)]
pub struct Shell {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    command: Option<String>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    /// For those who read along.
    #[expect(dead_code, reason = "kept in the log with the rest of the input")]
    description: Option<String>,
}

impl Shell {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = "Runs a command in the workspace: a command line for bash (`command`), or a program with \
            its arguments (`argv`). Standard input is closed. The command, and everything it started in the \
            background, is ended with the call, at its timeout, or when it writes too much. Of a long output you \
            get the beginning and the end. Home and temporary files are the run's own; the network may be off.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "Command line, run by `bash -c`." },
                "argv": {
                    "type": "array",
                    "minItems": 1,
                    "items": { "type": "string" },
                    "description": "Program and arguments, run without a shell; instead of `command`.",
                },
                "cwd": { "type": "string", "description": "Directory, relative to the workspace. Default: its root." },
                "timeout_ms": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_TIMEOUT.as_millis(),
                    "description": "When the command is stopped. Default: two minutes.",
                },
                "description": { "type": "string", "description": "What it is for, in a few words." },
            },
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "shell".into(),
            kind: ToolKind::Shell,
            description: description.into(),
            input_schema,
            idempotent: false,
            prepares: false,
            mcp: None,
        };
        Self { spec }
    }

    async fn execute(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input = read(&call.input)?;
        let argv = argv(&input);
        let timeout = input.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
        let request = CommandRequest {
            argv: argv.clone(),
            cwd: input.cwd.clone().unwrap_or_default(),
            timeout: Some(timeout),
            ..CommandRequest::default()
        };
        context.events.emit(announcement(call, &input, &request, context)).await.map_err(lost)?;

        let watch = Watch::begin(context);
        let stop = context.cancel.child_token();
        let (sender, output) = mpsc::channel(QUEUE);
        let (finished, collected) = tokio::join!(
            context.sandbox.run(request, &stop, sender),
            collect(&call.call_id, output, &context.events, &context.redactor, &stop),
        );
        let (finished, collected) = (finished.map_err(not_run)?, collected.map_err(lost)?);

        context.events.emit(exited(call, &finished, &collected)).await.map_err(lost)?;
        watch.keep(call, context).await?;
        let text = collected.excerpt.text();
        let over_limit = collected.over_limit_after_ms;
        let artifact_id = keep(call, context, &argv, &finished, collected).await?;
        conclude(&input, &argv, &finished, over_limit, Shown { text, artifact_id })
    }
}

impl Default for Shell {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let input = read(input)?;
        Ok(Subject::Command { argv: argv(&input), cwd: input.cwd.unwrap_or_default(), reads_only: false })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.execute(call, context))
    }
}

fn read(input: &Value) -> Result<Input, BadInput> {
    let input: Input = input::read(input)?;
    match (&input.command, &input.argv) {
        (Some(_), Some(_)) => Err(BadInput("give `command` or `argv`, not both".into())),
        (None, None) => Err(BadInput("give `command`, a command line, or `argv`, a program with its arguments".into())),
        (None, Some(argv)) if argv.is_empty() => Err(BadInput("`argv` is empty; name a program".into())),
        (Some(_), None) | (None, Some(_)) => Ok(input),
    }
}

fn argv(input: &Input) -> Vec<String> {
    match (&input.command, &input.argv) {
        (Some(command), _) => vec![SHELL.to_owned(), "-c".to_owned(), command.clone()],
        (None, argv) => argv.clone().unwrap_or_default(),
    }
}

fn announcement(call: &ToolCall, input: &Input, request: &CommandRequest, context: &ToolContext) -> ToolShellCommand {
    use r1_protocol::data::SandboxLayer as Told;
    ToolShellCommand {
        tool_call_id: call.call_id.clone(),
        argv: request.argv.clone(),
        cwd: request.cwd.clone(),
        env_keys: context.sandbox.environment(request).into_keys().collect(),
        sandbox_layer: match context.sandbox.layer() {
            SandboxLayer::Bwrap => Told::Bwrap,
            SandboxLayer::Landlock => Told::Landlock,
            SandboxLayer::None => Told::None,
        },
        timeout_ms: request.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
        command_string: input.command.clone(),
        network: Some(context.sandbox.has_network(request)),
        ..Default::default()
    }
}

fn exited(call: &ToolCall, finished: &Finished, collected: &Collected) -> ToolShellExited {
    ToolShellExited {
        tool_call_id: call.call_id.clone(),
        exit_code: finished.exit_code.into(),
        signal: finished.signal.clone(),
        stdout_bytes: collected.stdout_bytes,
        stderr_bytes: collected.stderr_bytes,
        truncated: collected.truncated,
        ..Default::default()
    }
}

/// Stores the whole output; of a silent command there is none.
async fn keep(
    call: &ToolCall,
    context: &ToolContext,
    argv: &[String],
    finished: &Finished,
    collected: Collected,
) -> Result<Option<String>, ToolError> {
    if collected.spooled == 0 {
        return Ok(None);
    }
    let metadata = json!({
        "argv": argv,
        "exit_code": finished.exit_code,
        "signal": finished.signal,
        "truncated": collected.over_limit_after_ms.is_some(),
        "duration_ms": u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
    });
    let new = NewArtifact {
        kind: ArtifactKind::CommandOutput,
        summary: line(&format!("output of {}", argv.join(" "))),
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        mime: Some("text/plain".to_owned()),
        metadata: Object::from_iter(metadata.as_object().cloned().unwrap_or_default()),
        ..Default::default()
    };
    let content = collected.content().map_err(lost)?;
    let stored = context.artifacts.put_stream(new, content).await.map_err(lost)?;
    Ok(Some(stored.id))
}

/// What the model is shown, and where the rest is.
struct Shown {
    text: String,
    artifact_id: Option<String>,
}

fn conclude(
    input: &Input,
    argv: &[String],
    finished: &Finished,
    over_limit_after_ms: Option<u64>,
    shown: Shown,
) -> Result<ToolOutput, ToolError> {
    let Shown { text, artifact_id } = shown;
    let command = line(input.command.as_deref().unwrap_or(&argv.join(" ")));
    let (failure, message) = match (finished.ended, over_limit_after_ms) {
        (Ended::Itself, None) if finished.success() => {
            let output = if text.is_empty() { "(no output)".into() } else { text.into() };
            return Ok(ToolOutput { output, summary: command, artifact_id });
        }
        (_, Some(after_ms)) => (Failure::OutputLimit { after_ms }, "stopped, because it wrote too much".to_owned()),
        (Ended::Itself, None) => (Failure::Tool, finished.status()),
        (Ended::Cancelled, None) => (Failure::Cancelled, "the call was cancelled".to_owned()),
        (Ended::TimedOut { after_ms }, None) => {
            let message =
                format!("stopped after {after_ms} ms; give it more time with `timeout_ms`, or do less at once");
            (Failure::TimedOut { after_ms }, message)
        }
        (Ended::TooManyProcesses, None) => {
            (Failure::Tool, "killed, because it started too many processes at once".to_owned())
        }
    };
    let summary = line(&format!("{command}: {message}"));
    Err(ToolError { failure, message, output: Some(text.into()), artifact_id, summary })
}

fn not_run(err: RunError) -> ToolError {
    let failure = match &err {
        RunError::BadDirectory { .. } | RunError::NoProgram => Failure::Tool,
        RunError::Spawn { .. } => Failure::Spawn,
    };
    ToolError { failure, ..ToolError::tool(err.to_string()) }
}
