//! `r1 gate override`: a person lets a task pass.

use r1_runtime::agent::command::Command;
use r1_runtime::control::command::command;

use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow;
use crate::output;
use crate::workshop::Workshop;

/// Let a task pass a gate, and say why
///
/// For one decision of the round that is under way. Who did it and why stands in the log, and in the receipt.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 gate override last tests --reason \"the flaky test is known\"
  r1 gate override 01K0E8 VERIFY.exit/review --reason \"read it myself\"
  r1 gate override 01K0E8 sha256:3f9a41 --reason \"see #42\"")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Which decision: the gate's name, or any unique beginning of its id in the receipt
    #[arg(value_name = "DECISION")]
    decision: String,
    /// Why; it stands in the receipt
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let Args { run, decision, reason } = args;
    let workshop = Workshop::here(context).await?;
    let run = workshop.run(&run).await?;
    let overrule = Command::Override { decision: decision.clone(), reason };
    command(&workshop.engine, &run, overrule, &ask::caller()).await?;
    output::note(&format!("{decision} is overridden"));
    if !follow::is_held(workshop.engine.store(), &run).await? {
        output::note(&format!("nobody works on the run now: go on with `r1 resume {run}`"));
    }
    workshop.close().await?;
    Ok(Exit::Ok)
}
