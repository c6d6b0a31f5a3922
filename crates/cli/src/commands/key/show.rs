use r1_runtime::keys::manage;

use super::to_json;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{print_json, print_line};

/// Show what is said of a key
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key show kid:kPrK
  r1 key show kPrK --json | jq .scope")]
pub(crate) struct Args {
    /// The key: how its id begins
    key: String,
    /// Print it as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let entry = manage::find(&context.home, &args.key)?;
    if args.json {
        print_json(&to_json(context, &entry))?;
    } else {
        print_line(entry.to_json().trim_end())?;
    }
    Ok(Exit::Ok)
}
