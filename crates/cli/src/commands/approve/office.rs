//! Where requests are answered: at the store, or by a daemon.

use r1_event::RunId;
use r1_runtime::agent::command::Command;

use super::{Pending, here, there};
use crate::error::CliError;
use crate::remote::Remote;
use crate::workshop::Workshop;

pub(super) enum Office {
    Here(Box<Workshop>),
    There(Remote),
}

impl Office {
    /// Every request of every open run, oldest run first.
    pub(super) async fn pending(&self) -> Result<Vec<Pending>, CliError> {
        match self {
            Self::Here(workshop) => here::pending(workshop.engine.store()).await,
            Self::There(remote) => there::pending(remote).await,
        }
    }

    pub(super) async fn answer(&self, run: &RunId, answer: Command) -> Result<(), CliError> {
        match self {
            Self::Here(workshop) => here::answer(workshop, run, answer).await,
            Self::There(remote) => there::answer(remote, answer).await,
        }
    }

    /// How the run stands now.
    pub(super) async fn status(&self, run: &RunId) -> Result<&'static str, CliError> {
        match self {
            Self::Here(workshop) => here::status(workshop, run).await,
            Self::There(remote) => Ok(remote.run(run.as_str()).await?.status.as_str()),
        }
    }

    /// An answer alone moves nothing: somebody must work on the run. A daemon does that by itself.
    pub(super) async fn hint_to_resume(&self, run: &RunId) -> Result<(), CliError> {
        match self {
            Self::Here(workshop) => here::hint_to_resume(workshop, run).await,
            Self::There(_) => Ok(()),
        }
    }

    pub(super) async fn close(self) -> Result<(), CliError> {
        match self {
            Self::Here(workshop) => workshop.close().await,
            Self::There(_) => Ok(()),
        }
    }
}
