//! `r1 cancel`: ending a run, whoever works on it.

use r1_runtime::agent::command::{Command, Refusal};
use r1_runtime::control::command::{CommandError, command};

use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::workshop::Workshop;

/// End a run, whichever process works on it
///
/// Its model call and its programs are stopped, and its log is closed. `r1 resume` can take it up again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 cancel last
  r1 cancel 01K0E8 --reason \"wrong branch\"")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT", default_value = "requested")]
    reason: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let workshop = Workshop::here(context).await?;
    let run = workshop.run(&args.run).await?;
    let cancel = Command::Cancel { reason: args.reason, by: "operator".into(), actor: Some(ask::me()) };
    match command(&workshop.engine, &run, cancel).await {
        Ok(state) => output::note(&format!("run {run} is {}", state.status().as_str())),
        Err(CommandError::Refused(Refusal::AlreadySo)) => output::note(&format!("run {run} had ended already")),
        Err(err) => return Err(err.into()),
    }
    workshop.close().await?;
    Ok(Exit::Ok)
}
