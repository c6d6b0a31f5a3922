//! `r1 init`: settings for a project.

use std::io::Write as _;
use std::path::PathBuf;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Write a commented r1.toml, in which every setting is explained
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 init
  r1 init --workspace ../other-project")]
pub(crate) struct Args {
    /// Where [default: the current directory]
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let path = args.workspace.join("r1.toml");
    let failed = |err: std::io::Error| match err.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::new(format!("{} is there already", path.display())).hint("edit it, or move it away first")
        }
        _ => CliError::new(format!("cannot write {}", path.display())).because(err),
    };
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    file.write_all(r1_runtime::config::template().as_bytes()).map_err(failed)?;
    output::note(&format!("wrote {}; uncomment what you want to change", path.display()));
    Ok(Exit::Ok)
}
