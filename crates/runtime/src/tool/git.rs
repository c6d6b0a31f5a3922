//! The user's own git.

mod reads_only;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ArtifactKind, Object, ToolGitCompleted, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::commits::Watch;
use super::output::{Listing, encoded, line};
use super::work::lost;
use super::{
    BadInput, Failure, MAX_OUTPUT, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input,
};
use crate::artifact::NewArtifact;
use crate::sandbox::{Captured, CommandRequest, Ended, RunError};
use reads_only::reads_only;

/// The most that is kept of each stream.
const MAX_STREAM: usize = 8 << 20;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Runs git in the workspace.
#[derive(Debug)]
pub struct Git {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    args: Vec<String>,
    cwd: Option<String>,
}

impl Git {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = "Runs git in the workspace, without a shell: `{\"args\": [\"commit\", \"-m\", \"text\"]}`. \
            Commands that only look (status, diff, log, show, blame, …) run at once; the others may need to be \
            allowed. There is no editor and nobody to answer questions: give messages and choices as arguments.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "args": {
                    "type": "array",
                    "minItems": 1,
                    "items": { "type": "string" },
                    "description": "Arguments after `git`, one by one.",
                },
                "cwd": { "type": "string", "description": "Directory, relative to the workspace. Default: its root." },
            },
            "required": ["args"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "git".into(),
            kind: ToolKind::Git,
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
        let changes = !reads_only(&input.args);
        let head_before = if changes { head(&input, context).await } else { None };
        let watch = changes.then(|| Watch::begin(context));
        let request = CommandRequest {
            argv: argv.clone(),
            cwd: input.cwd.clone().unwrap_or_default(),
            env: environment(changes),
            timeout: Some(TIMEOUT),
            network: uses_network(&input.args),
            ..Default::default()
        };
        let captured = context.sandbox.capture(request, &context.cancel, MAX_STREAM).await.map_err(not_run)?;
        let head_after = if changes { head(&input, context).await } else { None };
        let completed = ToolGitCompleted {
            tool_call_id: call.call_id.clone(),
            argv: argv.clone(),
            exit_code: captured.finished.exit_code.into(),
            head_before,
            head_after,
            ..Default::default()
        };
        context.events.emit(completed).await.map_err(lost)?;
        if let Some(watch) = watch {
            watch.keep(call, context).await?;
        }
        let whole = whole(&captured);
        let (text, artifact_id) = if encoded(&whole) + 2 <= MAX_OUTPUT && !captured.truncated {
            (whole, None)
        } else {
            let id = keep(call, context, &argv, &captured, &whole).await?;
            let mut listing = Listing::new();
            let shown = whole.lines().take_while(|line| listing.push(line)).count();
            let last = format!("[{} more lines; ask for less]", whole.lines().count() - shown);
            (listing.finish(Some(&last)), Some(id))
        };
        let command = line(&argv.join(" "));
        if captured.finished.success() {
            return Ok(ToolOutput { output: text.into(), summary: command, artifact_id });
        }
        let status = captured.finished.status();
        let failure = match captured.finished.ended {
            Ended::Cancelled => return Err(ToolError::cancelled()),
            Ended::TimedOut { after_ms } => Failure::TimedOut { after_ms },
            Ended::Itself | Ended::TooManyProcesses => Failure::Tool,
        };
        let summary = format!("{command}: {status}");
        Err(ToolError { failure, message: status, output: Some(text.into()), artifact_id, summary })
    }
}

impl Default for Git {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Git {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let input = read(input)?;
        let cwd = input.cwd.clone().unwrap_or_default();
        Ok(Subject::Command { argv: argv(&input), cwd, reads_only: reads_only(&input.args) })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.execute(call, context))
    }
}

fn read(input: &Value) -> Result<Input, BadInput> {
    let input: Input = input::read(input)?;
    match input.args.first().map(String::as_str) {
        None => Err(BadInput("`args` is empty; give the arguments after `git`".into())),
        Some("git") => Err(BadInput("leave out the first `git`: `args` are the arguments after it".into())),
        Some(_) => Ok(input),
    }
}

fn argv(input: &Input) -> Vec<String> {
    std::iter::once("git".to_owned()).chain(input.args.iter().cloned()).collect()
}

/// Nobody is there to be asked, and looking must not start programs that the repository names.
fn environment(changes: bool) -> BTreeMap<String, String> {
    let mut env = vec![
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "true"),
        ("GIT_SEQUENCE_EDITOR", "true"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ];
    if !changes {
        env.extend([
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_1", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_1", "/dev/null"),
        ]);
    }
    env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn uses_network(args: &[String]) -> bool {
    const REMOTE: &[&str] = &["clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"];
    args.iter().find(|arg| !arg.starts_with('-')).is_some_and(|command| REMOTE.contains(&command.as_str()))
}

/// The commit that is checked out; `None` outside of a repository and before the first commit.
async fn head(input: &Input, context: &ToolContext) -> Option<String> {
    let request = CommandRequest {
        argv: ["git", "rev-parse", "--verify", "--quiet", "HEAD"].map(Into::into).into(),
        cwd: input.cwd.clone().unwrap_or_default(),
        env: environment(false),
        timeout: Some(TIMEOUT),
        ..Default::default()
    };
    let captured = context.sandbox.capture(request, &context.cancel, 1 << 10).await.ok()?;
    let head = String::from_utf8(captured.stdout).ok()?.trim().to_owned();
    Some(head).filter(|head| captured.finished.success() && !head.is_empty())
}

fn not_run(err: RunError) -> ToolError {
    ToolError { failure: Failure::Spawn, ..lost(err) }
}

/// Both streams, one after the other: git says its result on one and its remarks on the other.
fn whole(captured: &Captured) -> String {
    let mut text = String::from_utf8_lossy(&captured.stdout).into_owned();
    if !captured.stderr.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&String::from_utf8_lossy(&captured.stderr));
    }
    text
}

async fn keep(
    call: &ToolCall,
    context: &ToolContext,
    argv: &[String],
    captured: &Captured,
    whole: &str,
) -> Result<String, ToolError> {
    let mut metadata = Object::new();
    metadata.insert("argv".into(), json!(argv));
    metadata.insert("exit_code".into(), captured.finished.exit_code.into());
    metadata.insert("truncated".into(), captured.truncated.into());
    let new = NewArtifact {
        kind: ArtifactKind::CommandOutput,
        summary: line(&argv.join(" ")),
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        mime: Some("text/plain".into()),
        metadata,
        ..Default::default()
    };
    Ok(context.artifacts.put(new, whole.to_owned()).await.map_err(lost)?.id)
}
