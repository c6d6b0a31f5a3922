//! `r1 ctl shutdown`: ending the server in order.

use reqwest::Method;

use crate::context::Context;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// End the server: what is under way is handed over, nothing is cancelled
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl shutdown")]
pub(crate) struct Args {}

pub(super) async fn run(_args: &Args, context: &Context) -> Result<Exit, CliError> {
    let daemon = Daemon::find(&context.home).await?;
    daemon.ask(Method::POST, "/v1/daemon/shutdown").await?;
    output::note(&format!("server {} is ending", daemon.at.pid));
    Ok(Exit::Ok)
}
