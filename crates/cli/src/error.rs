//! Failures as a person reads them: what happened, why, and what to do next. Worded once, here.

mod gate;
mod log;
mod memory;
mod receipt;
mod run;
mod serve;
mod stream;

use std::error::Error;
use std::fmt;
use std::io;

use r1_runtime::ResolveError;
use r1_runtime::config::ConfigError;
use r1_runtime::home::HomeError;
use r1_runtime::location::LocationError;
use r1_runtime::world::NoRandomness;
use r1_runtime::writer::WriterError;
use r1_store::{LeaseError, OpenError, StoreError};

pub(crate) use self::log::READABLE;
use crate::exit::Exit;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
    exit: Exit,
}

impl CliError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, hint: None, exit: Exit::Usage }
    }

    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For an answer that is no, rather than a failure to answer.
    pub(crate) const fn failed(mut self) -> Self {
        self.exit = Exit::Failed;
        self
    }

    /// For a server that is not there.
    pub(crate) const fn no_daemon(mut self) -> Self {
        self.exit = Exit::NoDaemon;
        self
    }

    /// For what cannot be done yet.
    pub(crate) const fn open(mut self) -> Self {
        self.exit = Exit::Open;
        self
    }

    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Every cause, outermost first, each said once.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.cause.as_deref().map(|cause| cause as &dyn Error);
        while let Some(cause) = next {
            let text = cause.to_string();
            if !self.message.contains(&text) && causes.last() != Some(&text) {
                causes.push(text);
            }
            next = cause.source();
        }
        causes
    }

    /// Whether something could not be read or written.
    pub(crate) fn is_io(&self) -> bool {
        self.is_caused_by(|cause| cause.is::<io::Error>())
    }

    /// Whether all that went wrong is that nobody reads our output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let is_closed = |cause: &(dyn Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|err| err.kind() == io::ErrorKind::BrokenPipe)
        };
        self.is_caused_by(is_closed)
    }

    /// Whether what failed is the store, and not what was asked of it.
    pub(crate) fn is_of_the_store(&self) -> bool {
        self.is_caused_by(|cause| cause.is::<StoreError>() || cause.is::<OpenError>() || cause.is::<LocationError>())
    }

    fn is_caused_by(&self, is_it: impl Fn(&(dyn Error + 'static)) -> bool) -> bool {
        let mut next = self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static));
        while let Some(cause) = next {
            if is_it(cause) {
                return true;
            }
            next = cause.source();
        }
        false
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Takes an error's own words as the message, and its causes as ours.
fn worded(err: impl Error + Send + Sync + 'static) -> CliError {
    CliError::new(err.to_string()).because(err)
}

impl From<io::Error> for CliError {
    fn from(err: io::Error) -> Self {
        Self::new("cannot write the output").because(err)
    }
}

impl From<NoRandomness> for CliError {
    fn from(err: NoRandomness) -> Self {
        worded(err)
    }
}

/// For whoever put the address of a store where something else was wanted.
pub(crate) const NAME_STORE: &str = "name a PostgreSQL store with `--store` or R1_STORE";

impl From<HomeError> for CliError {
    fn from(err: HomeError) -> Self {
        worded(err).hint("set R1_HOME to a directory that you can write to")
    }
}

impl From<LocationError> for CliError {
    fn from(err: LocationError) -> Self {
        match err {
            err @ LocationError::Home(_) => {
                worded(err).hint("name a place that you can write to with `--store` or R1_HOME")
            }
            LocationError::Open(err) => err.into(),
            err @ LocationError::Missing { .. } => {
                worded(err).hint("name another with `--store`, or see what r1 does with `r1 demo`")
            }
        }
    }
}

impl From<OpenError> for CliError {
    fn from(err: OpenError) -> Self {
        let hint = match &err {
            OpenError::Foreign { .. } => "name an R1 store with `--store`; `r1 log validate FILE` reads other logs",
            OpenError::Missing { .. } => "name another with `--store`",
            OpenError::Address { .. } => "it is not repeated here, for it may hold a password",
            OpenError::Newer { .. } => "the store was left as it is",
            OpenError::Damaged { .. } => "restore a backup; what can be read, `r1 log export` saves",
            OpenError::Unavailable { .. } => {
                "check that it exists, that you may write there, and that the disk has room"
            }
        };
        worded(err).hint(hint)
    }
}

impl From<StoreError> for CliError {
    fn from(err: StoreError) -> Self {
        let hint = match &err {
            StoreError::NoRun { .. } => Some("list the runs with `r1 runs`"),
            StoreError::NoEvent { .. } => Some("see its events with `r1 log show RUN`"),
            StoreError::Damaged { .. } => {
                Some("see what is wrong with `r1 log validate RUN`; what can be read, `r1 log export RUN` saves")
            }
            StoreError::Backend { .. } => Some("see `r1 doctor`"),
            StoreError::Refused { .. }
            | StoreError::UnfitDocument { .. }
            | StoreError::Poisoned { .. }
            | StoreError::Closed => None,
        };
        let error = worded(err);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl From<LeaseError> for CliError {
    fn from(err: LeaseError) -> Self {
        match err {
            LeaseError::Store(err) => err.into(),
            err @ LeaseError::Held { .. } => worded(err).hint("try again when it has ended, or stop that process"),
            err @ LeaseError::Lost { .. } => worded(err),
        }
    }
}

impl From<WriterError> for CliError {
    fn from(err: WriterError) -> Self {
        match err {
            WriterError::Lease(err) => err.into(),
            WriterError::Store(err) => err.into(),
            err @ (WriterError::Chain(_) | WriterError::Append(_)) => worded(err),
        }
    }
}

impl From<ResolveError> for CliError {
    fn from(err: ResolveError) -> Self {
        let hint = match err {
            ResolveError::Store(err) => return err.into(),
            ResolveError::Address => NAME_STORE.into(),
            ResolveError::NotFound { .. } => "list the runs with `r1 runs`".into(),
            ResolveError::Ambiguous { ref matches, ref shortest, .. } => {
                let ids: Vec<_> = matches.iter().map(ToString::to_string).collect();
                format!("type more of the id, for example `{shortest}`; it could be {}", ids.join(", "))
            }
            ResolveError::Damaged(_) => {
                "name another run; `r1 runs` lists them all, and `r1 log validate` says what is wrong".into()
            }
            ResolveError::NoRuns => "see what r1 does with `r1 demo`".into(),
        };
        worded(err).hint(hint)
    }
}

impl From<ConfigError> for CliError {
    fn from(err: ConfigError) -> Self {
        worded(err).hint("`r1 init` writes a file in which every setting is explained")
    }
}
