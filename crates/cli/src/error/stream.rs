//! Failures of a run that is followed as events or lines.

use r1_runtime::control::events::EventsError;
use r1_runtime::control::stoke::{NodesError, OutletError, PrintError, StokeExportError};

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
            PrintError::Outlet(err) => err.into(),
        }
    }
}

impl From<OutletError> for CliError {
    fn from(err: OutletError) -> Self {
        match err {
            err @ OutletError::Closed => worded(err),
            err @ OutletError::Broken(_) => worded(err).hint("check that there is room where it goes"),
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
