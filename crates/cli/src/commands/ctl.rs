//! `r1 ctl`: a word with the server of this home.

mod discover;
mod info;
mod open;
mod shutdown;
mod token;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Find, look at, open and end the server of this home, and make tokens for it
///
/// Exit code 3 means that no server answers.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Discover(discover::Args),
    Info(info::Args),
    #[command(subcommand)]
    Token(token::Command),
    Open(open::Args),
    Shutdown(shutdown::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Discover(args) => discover::run(&args, context).await,
        Command::Info(args) => info::run(&args, context).await,
        Command::Token(command) => token::run(command, context).await,
        Command::Open(args) => open::run(&args, context).await,
        Command::Shutdown(args) => shutdown::run(&args, context).await,
    }
}
