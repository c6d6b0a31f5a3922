//! `r1 receipt`: what a run did, signed, for anyone to check.

mod create;
mod publish;
mod show;
mod tiles;
mod verify;

use clap::Subcommand;

pub(super) use self::create::{keep, usual_key};
pub(super) use self::publish::{log_key, publisher};
pub(crate) use self::verify::tell_wrong_use;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Sign what a run did, and check what others signed
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(create::Args),
    Verify(verify::Args),
    Show(show::Args),
    Tiles(tiles::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Create(args) => create::run(args, context).await,
        Command::Verify(args) => verify::run(args, context).await,
        Command::Show(args) => show::run(&args, context),
        Command::Tiles(args) => tiles::run(&args, context),
    }
}
