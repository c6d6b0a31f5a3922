//! What R1 and a supervisor tell each other, as lines of JSON over one socket.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Limits;
use super::confine::Confinement;

/// The first line that a supervisor gets; `stdin` bytes of standard input for the program follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it may use.
    pub limits: Limits,
    /// What the kernel keeps it from, if that is the supervisor's to see to.
    pub confinement: Option<Confinement>,
    /// Length of its standard input; without one it is closed.
    pub stdin: Option<u64>,
}

/// The line after that, if any: end everything.
pub(super) const STOP: &[u8] = b"stop\n";

/// What a supervisor says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The supervisor is there, with all that was put around it, and now starts the program.
    Starting,
    /// It could not be started; nothing follows.
    Failed {
        /// Why.
        reason: String,
    },
    /// It ended; what it left behind is being ended.
    Exited(Status),
}

/// A program's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    /// −1 if a signal killed it.
    pub code: i32,
    /// The number of that signal.
    pub signal: Option<i32>,
    /// Whether it was killed because of its many processes.
    pub too_many_processes: bool,
}
