use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;
use crate::exit::Exit;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 completions bash > ~/.local/share/bash-completion/completions/r1
  r1 completions zsh > ~/.zfunc/_r1")]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    // Into memory first: the generator panics where standard output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "r1", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Exit::Ok)
}
