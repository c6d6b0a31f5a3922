//! One file per command: its arguments, whose comments are the help, the call of the control layer,
//! and how the answer looks.

mod completions;
mod demo;
mod doctor;
mod log;
mod prune;
mod redact;
mod runs;
mod tail;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// What `r1` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Runs(runs::Args),
    Tail(tail::Args),
    #[command(subcommand)]
    Log(log::Command),
    Prune(prune::Args),
    Redact(redact::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Demo(args) => demo::run(args).await,
        Command::Runs(args) => runs::run(args, context).await,
        Command::Tail(args) => tail::run(args, context).await,
        Command::Log(command) => log::run(command, context).await,
        Command::Prune(args) => prune::run(args, context).await,
        Command::Redact(args) => redact::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Completions(args) => completions::run(&args),
    }
}
