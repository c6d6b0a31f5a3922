//! Why a run was cancelled.

use serde::{Deserialize, Serialize};

/// What made someone cancel a run. The log keeps it beside the reason, which is free text: whoever gives one
/// cannot be mistaken for anything else by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Someone asked for it.
    #[default]
    Operator,
    /// Ctrl-C in the process that worked on it.
    Sigint,
    /// That process was told to end.
    Sigterm,
    /// Its terminal was closed.
    Sighup,
    /// Nobody reads its output any more, or nobody can.
    StdoutClosed,
    /// The budget is used up.
    Budget,
    /// Another process has the run.
    LeaseLost,
}

const ALL: [Cause; 7] = [
    Cause::Operator,
    Cause::Sigint,
    Cause::Sigterm,
    Cause::Sighup,
    Cause::StdoutClosed,
    Cause::Budget,
    Cause::LeaseLost,
];

impl Cause {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Sigint => "sigint",
            Self::Sigterm => "sigterm",
            Self::Sighup => "sighup",
            Self::StdoutClosed => "stdout_closed",
            Self::Budget => "budget",
            Self::LeaseLost => "lease_lost",
        }
    }

    /// The reason of a run that was cancelled for it, where nobody gives another.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Operator => "requested",
            Self::Sigint => "interrupted at the terminal",
            Self::Sigterm => "terminated",
            Self::Sighup => "hung up",
            Self::StdoutClosed => "stdout_closed",
            Self::Budget => "budget",
            Self::LeaseLost => "lease_lost",
        }
    }

    /// The cause that the log tells. Logs that are older than the word tell it by their reason; a hang-up was
    /// not heard then.
    pub(super) fn told(word: Option<&str>, reason: &str) -> Self {
        let is_it = |cause: &Self| match word {
            Some(word) => cause.as_str() == word,
            None => cause.reason() == reason && *cause != Self::Sighup,
        };
        ALL.into_iter().find(is_it).unwrap_or_default()
    }

    /// What `mission.aborted` says: its `reason`, and which of the signals that it can name.
    pub(super) const fn line(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Operator => ("operator", None),
            Self::Sigint => ("signal", Some("SIGINT")),
            Self::Sigterm => ("signal", Some("SIGTERM")),
            Self::Sighup => ("signal", None),
            Self::StdoutClosed => ("stdout_closed", None),
            Self::Budget => ("budget", None),
            Self::LeaseLost => ("lease_lost", None),
        }
    }
}
