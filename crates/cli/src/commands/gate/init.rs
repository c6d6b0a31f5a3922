use std::path::PathBuf;

use r1_runtime::control::gate::{self, Prepared};
use r1_runtime::gate::Preset;

use super::project;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::render::text::visible;

/// Make .stoke/ with a preset to edit
///
/// Writes `.stoke/gates.yaml`, and a `.gitignore` for what R1 itself writes there. What is there
/// already stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 gate init
  r1 gate init --preset strict")]
pub(crate) struct Args {
    /// What to begin with
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = Preset::BUILTIN)]
    preset: String,
    /// Where [default: the repository that the current directory is in]
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    for Prepared { path, is_new } in gate::prepare(&project(&args.workspace)?, &args.preset)? {
        let path = visible(&path.display().to_string());
        output::note(&if is_new { format!("wrote {path}") } else { format!("{path} is there already; left as it is") });
    }
    Ok(Exit::Ok)
}
