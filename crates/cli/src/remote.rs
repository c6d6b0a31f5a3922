//! The same commands, against a daemon: `--url`, or `R1_URL`.
//!
//! - [`At`]: what is typed to say which daemon.
//! - [`Remote`]: asks it; every failure says what to do.
//! - [`events::follow`]: a run's events, live, over as many connections as it takes.

mod client;
pub(crate) mod events;
mod token;

use std::path::PathBuf;

use crate::context::Context;
use crate::error::CliError;

pub(crate) use client::Remote;

/// Which daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct At {
    /// Ask the daemon at this address (see `r1 serve`) instead of the store
    #[arg(long, value_name = "URL", env = "R1_URL", hide_env_values = true, help_heading = "Daemon")]
    url: Option<String>,
    /// Read its token from this file [default: R1_TOKEN, or `token` in the home]
    #[arg(long, value_name = "FILE", requires = "url", help_heading = "Daemon")]
    token_file: Option<PathBuf>,
}

impl At {
    /// The daemon, if one was named.
    pub(crate) fn open(&self, context: &Context) -> Result<Option<Remote>, CliError> {
        let Some(url) = &self.url else { return Ok(None) };
        let token = token::find(self.token_file.as_deref(), context)?;
        Remote::new(url, token).map(Some)
    }
}
