//! Commands of gates, run where the run's own programs run.

use std::fmt::Write as _;
use std::time::Duration;

use super::context::GateContext;
use crate::sandbox::{CommandRequest, Ended};

/// What runs a command line.
const SHELL: &str = "bash";

/// The most that is kept of each stream.
const MOST_OUTPUT: usize = 16 << 20;

/// A command that was run, or could not be.
pub(super) struct Ran {
    pub(super) line: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) end: End,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// With an exit code by which a shell says that its last program was not found, not started or killed.
    Broken(i32),
    /// It took longer than it may.
    TimedOut,
    /// It was not started, killed or stopped as a whole.
    Crashed(String),
}

/// What a shell returns for a program that it may not start, or does not find.
const NOT_STARTED: [i32; 2] = [126, 127];

impl Ran {
    pub(super) fn exit_code(&self) -> Option<i64> {
        match &self.end {
            End::Exited(code) | End::Broken(code) => Some(i64::from(*code)),
            End::TimedOut | End::Crashed(_) => None,
        }
    }

    /// The command, what it wrote and how it ended.
    pub(super) fn evidence(&self) -> String {
        let mut text = format!("$ {}\n", self.line);
        for stream in [&self.stdout, &self.stderr] {
            text.push_str(stream);
            if !stream.is_empty() && !stream.ends_with('\n') {
                text.push('\n');
            }
        }
        let _ = match &self.end {
            End::Exited(code) => writeln!(text, "[exit code {code}]"),
            End::Broken(code) if NOT_STARTED.contains(code) => {
                writeln!(text, "[exit code {code}: it could not be started]")
            }
            End::Broken(code) => writeln!(text, "[exit code {code}: killed by signal {}]", code - 128),
            End::TimedOut => writeln!(text, "[stopped: it took too long]"),
            End::Crashed(why) => writeln!(text, "[{why}]"),
        };
        text
    }
}

/// Runs a line for bash.
pub(super) async fn run(context: &GateContext, line: &str, timeout: Duration) -> Ran {
    let argv = vec![SHELL.to_owned(), "-c".to_owned(), line.to_owned()];
    run_argv(context, line, argv, timeout).await
}

/// Runs a script for bash with arguments.
pub(super) async fn run_script(context: &GateContext, script: &str, arguments: &[String], timeout: Duration) -> Ran {
    let mut argv = vec![SHELL.to_owned(), "-c".to_owned(), script.to_owned(), SHELL.to_owned()];
    argv.extend_from_slice(arguments);
    run_argv(context, script, argv, timeout).await
}

async fn run_argv(context: &GateContext, line: &str, argv: Vec<String>, timeout: Duration) -> Ran {
    let request = CommandRequest { argv, timeout: Some(timeout), ..CommandRequest::default() };
    let ran = |stdout: &[u8], stderr: &[u8], end| Ran {
        line: line.to_owned(),
        stdout: String::from_utf8_lossy(stdout).into_owned(),
        stderr: String::from_utf8_lossy(stderr).into_owned(),
        end,
    };
    match context.sandbox.capture(request, &context.cancel, MOST_OUTPUT).await {
        Ok(captured) => {
            let finished = &captured.finished;
            let end = match (finished.ended, &finished.signal) {
                (Ended::TimedOut { .. }, _) => End::TimedOut,
                (Ended::Cancelled, _) => End::Crashed("it was stopped".into()),
                (Ended::TooManyProcesses, _) => End::Crashed("it started too many processes".into()),
                (Ended::Itself, Some(_)) => End::Crashed(finished.status()),
                (Ended::Itself, None) => ended(finished.exit_code),
            };
            ran(&captured.stdout, &captured.stderr, end)
        }
        Err(err) => ran(b"", b"", End::Crashed(err.to_string())),
    }
}

/// A shell gives the end of its last program as an exit code, also if that could not be started or was killed.
fn ended(code: i32) -> End {
    if NOT_STARTED.contains(&code) || (129..=159).contains(&code) { End::Broken(code) } else { End::Exited(code) }
}
