//! `r1 gate`: what must hold before work goes on.

mod init;
mod overrule;
mod run;
mod show;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Prepare, show, try and override the gates of a project
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Show(show::Args),
    Run(Box<run::Args>),
    Override(overrule::Args),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Init(args) => init::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Run(args) => run::run(*args, context).await,
        Command::Override(args) => overrule::run(args, context).await,
    }
}

/// The directory whose `.stoke/` counts: the root of the repository that `given` is in, or `given` itself.
fn project(given: &Path) -> Result<PathBuf, CliError> {
    let failed = |err| CliError::new(format!("cannot work in {}", given.display())).because(err);
    let directory = given.canonicalize().map_err(failed)?;
    let root = directory.ancestors().find(|path| path.join(".git").exists());
    Ok(root.unwrap_or(&directory).to_path_buf())
}
