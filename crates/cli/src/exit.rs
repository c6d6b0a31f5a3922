//! How `r1` ends.

use std::process::ExitCode;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and all is well.
    Ok,
    /// Done, and the answer is no: a corrupt log, a failed run, a replay that diverged.
    Failed,
    /// Not done: wrong use, or something could not be read or written.
    Usage,
    /// A sound log that is still open.
    Open,
    /// A run that was cancelled, or could not go on because something was refused.
    Aborted,
    /// Gates of which none says no, but one wants a person to decide.
    Escalated,
    /// A run that used up its budget.
    Budget,
    /// No server answers.
    NoDaemon,
    /// A receipt that holds, by a key that does not count here.
    Untrusted,
    /// A receipt that holds as far as it goes.
    Incomplete,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP: the terminal was closed.
    HungUp,
    /// Nobody reads the output any more.
    PipeClosed,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Open | Self::Aborted | Self::Escalated | Self::NoDaemon | Self::Untrusted => 3,
            Self::Budget | Self::Incomplete => 4,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::PipeClosed => 141,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
