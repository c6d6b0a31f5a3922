//! `r1 log`: everything about a log as such.

mod checkpoint;
mod export;
mod import;
mod proof;
mod show;
mod validate;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Show, check, prove, export and import logs
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(validate::Args),
    Show(show::Args),
    Export(export::Args),
    Import(import::Args),
    Proof(proof::Args),
    Checkpoint(checkpoint::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Validate(args) => validate::run(args, context).await,
        Command::Show(args) => show::run(args, context).await,
        Command::Export(args) => export::run(args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Proof(args) => proof::run(args, context).await,
        Command::Checkpoint(args) => checkpoint::run(args, context).await,
    }
}
