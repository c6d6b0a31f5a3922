//! `r1 memory`: what agents know, and having it otherwise.

mod get;
mod history;
mod list;
mod rm;
mod set;
mod whose;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Show and change what agents remember
///
/// L0 identity and L3 semantic belong to a workspace and last; L1 critical and L2 topical belong to a task and are
/// named by one of its runs. What is done here is recorded in runs of its own, or in the log of the open task.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Rm(rm::Args),
    History(history::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::List(args) => list::run(args, context).await,
        Command::Get(args) => get::run(args, context).await,
        Command::Set(args) => set::run(args, context).await,
        Command::Rm(args) => rm::run(args, context).await,
        Command::History(args) => history::run(args, context).await,
    }
}
