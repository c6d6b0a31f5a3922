//! Failures of a run that is followed as events or lines.

use r1_runtime::control::events::EventsError;
use r1_runtime::control::stoke::{NodesError, PrintError, StokeExportError};

use super::{CliError, worded};

impl From<EventsError> for CliError {
    fn from(err: EventsError) -> Self {
        match err {
            EventsError::Store(err) => err.into(),
            err @ EventsError::NoRun { .. } => worded(err).hint("list the runs with `r1 runs`"),
        }
    }
}

impl From<PrintError> for CliError {
    fn from(err: PrintError) -> Self {
        match err {
            PrintError::Events(err) => err.into(),
            PrintError::NoRandomness(err) => err.into(),
            err @ PrintError::Closed(_) => worded(err),
        }
    }
}

impl From<NodesError> for CliError {
    fn from(err: NodesError) -> Self {
        match err {
            NodesError::Source(err) => err.into(),
            NodesError::Store(err) => err.into(),
            err @ NodesError::Write { .. } => worded(err).hint("the nodes of a run are in its receipt too"),
        }
    }
}

impl From<StokeExportError> for CliError {
    fn from(err: StokeExportError) -> Self {
        match err {
            StokeExportError::Source(err) => err.into(),
            StokeExportError::Output(err) => err.into(),
            err @ StokeExportError::Unreadable => worded(err).hint("find out more with `r1 log validate`"),
        }
    }
}
