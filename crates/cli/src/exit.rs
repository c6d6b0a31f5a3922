//! How `r1` ends.

use std::process::ExitCode;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and all is well.
    Ok,
    /// Done, and the answer is no: a corrupt log, a proof that does not hold, something to mend.
    Failed,
    /// Not done: wrong use, or something could not be read or written.
    Usage,
    /// A sound log that is still open.
    Open,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Open => 3,
        })
    }
}
