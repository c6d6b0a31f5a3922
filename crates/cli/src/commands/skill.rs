//! `r1 skill`: instructions that agents follow, made with care.

mod interview;
mod new;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Make skills for agents
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    New(new::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::New(args) => new::run(args, context).await,
    }
}
