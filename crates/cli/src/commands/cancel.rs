//! `r1 cancel`: ending a run, whoever works on it.

use r1_protocol::api::{CancelRequest, Object, Run};
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::command;
use r1_runtime::history;

use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::remote::{At, Remote};
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
    #[command(flatten)]
    at: At,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if let Some(remote) = args.at.open(context)? {
        return of_daemon(args, &remote).await;
    }
    let workshop = Workshop::here(context).await?;
    let run = workshop.run(&args.run).await?;
    let cancel = Command::cancel(args.reason);
    let answer = command(&workshop.engine, &run, cancel, &ask::caller()).await?;
    output::note(&if answer.was_so {
        format!("run {run} had ended already")
    } else {
        format!("run {run} is {}", history::load(workshop.engine.store(), &run).await?.status().as_str())
    });
    workshop.close().await?;
    Ok(Exit::Ok)
}

async fn of_daemon(args: Args, remote: &Remote) -> Result<Exit, CliError> {
    let found = remote.run(&args.run).await?;
    if found.status.is_final() {
        output::note(&format!("run {} had ended already", found.id));
        return Ok(Exit::Ok);
    }
    let reason = CancelRequest { reason: Some(args.reason) };
    let run: Object<Run> = remote.post(&format!("runs/{}/cancel", found.id), &reason).await?;
    let Run { id, status, cancelling, .. } = run.data;
    output::note(&if cancelling {
        format!("run {id} is being ended")
    } else {
        format!("run {id} is {}", status.as_str())
    });
    Ok(Exit::Ok)
}
