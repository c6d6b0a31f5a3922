use jiff::Timestamp;
use r1_receipt::key::{Revocation, RevocationReason, moment};
use r1_runtime::keys::manage;

use super::{parse_time, to_json};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{print_json, print_line};

/// Say that a key no longer counts
///
/// A retired key counts for what it signed before; a compromised one for nothing, ever. That cannot be made less
/// strict later. This changes your own keyring: give the entry to whoever else has it (`r1 key export`), who
/// imports it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key revoke kPrK --reason retired
  r1 key revoke kPrK --reason compromised")]
pub(crate) struct Args {
    /// The key: how its id begins
    key: String,
    /// Why
    #[arg(long, value_name = "REASON")]
    reason: ReasonArg,
    /// Since when [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<Timestamp>,
    /// Print its entry as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ReasonArg {
    /// Someone else may have it
    Compromised,
    /// Another one takes its place
    Retired,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let entry = manage::find(&context.home, &args.key)?;
    let reason = match args.reason {
        ReasonArg::Compromised => RevocationReason::Compromised,
        ReasonArg::Retired => RevocationReason::Retired,
    };
    let at = args.at.unwrap_or_else(|| moment(context.now()));
    let revocation = Revocation { at, reason };
    let entry = manage::revoke(&context.home, &entry, revocation)?;
    if args.json {
        print_json(&to_json(context, &entry))?;
    } else {
        print_line(&format!("{}  {}", entry.kid(), revocation))?;
    }
    Ok(Exit::Ok)
}
