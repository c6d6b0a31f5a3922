//! Other programs: started so that nothing of them outlives its call.
//!
//! Every program runs below a small supervisor, which is this same binary started with a hidden word
//! ([`supervisor::entry`]). The supervisor hears from R1 over a socket that takes the place of its
//! standard input. Told to stop, or when the socket closes because R1 is gone, it ends the whole tree:
//! SIGTERM, five seconds, SIGKILL until nothing is left. As a child subreaper it also finds what forked
//! twice or opened a session of its own.
//!
//! Without a supervisor a program gets a process group, and the group is what is ended.

pub(crate) mod confine;
mod control;
pub(crate) mod launch;
mod pump;
mod signal;
pub mod supervisor;
mod tree;

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How long a program may take to end itself after SIGTERM.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// How long what a program left behind may go on, and keep its pipes open, after the program ended.
pub const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// What a program and all that it starts may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes at one time; more, and the whole tree is killed.
    pub processes: u64,
    /// Processes and threads beyond what the machine runs at the start. The kernel refuses more, except to root.
    pub tasks: u64,
    /// Length of each file it writes.
    pub file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 1024, tasks: 4096, file_bytes: 8 << 30 }
    }
}

/// Which of a program's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Something a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where.
    pub stream: Stream,
    /// What; never empty.
    pub bytes: Bytes,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What it returned; −1 if a signal killed it.
    pub exit_code: i32,
    /// The signal that killed it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// Why it ended.
    pub ended: Ended,
    /// From its start until nothing of it was left.
    pub duration: Duration,
}

impl Finished {
    /// Whether it ended by itself and says all is well.
    #[must_use]
    pub fn success(&self) -> bool {
        self.ended == Ended::Itself && self.exit_code == 0
    }

    /// `exit status 7`, or `killed by SIGKILL`.
    #[must_use]
    pub fn status(&self) -> String {
        match &self.signal {
            Some(signal) => format!("killed by {signal}"),
            None => format!("exit status {}", self.exit_code),
        }
    }
}

/// Why a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Itself,
    /// It was stopped on request.
    Cancelled,
    /// It ran too long; noticed after so many milliseconds.
    TimedOut {
        /// Since its start.
        after_ms: u64,
    },
    /// It started more processes than it may.
    TooManyProcesses,
}

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The working directory is not one of the workspace.
    #[error("`{cwd}` is not a directory in the workspace")]
    BadDirectory {
        /// As it was given.
        cwd: String,
    },
    /// There is nothing to run.
    #[error("no program was named")]
    NoProgram,
    /// It could not be started.
    #[error("cannot start `{program}`: {reason}")]
    Spawn {
        /// Which.
        program: String,
        /// Why.
        reason: String,
    },
}
