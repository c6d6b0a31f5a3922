use std::io::Write as _;

use r1_runtime::keys::manage::{self, NewKey};

use super::{ScopeArg, parse_time, to_json};
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};

/// Make a signing key
///
/// The private half stays in the home, readable for you alone. Give the public half to whoever is to check your
/// receipts: `r1 key export`. To sign runs that ended before, say with --not-before since when it counts.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key new
  r1 key new --scope team --subject team:parser --not-after 2027-12-31T00:00:00Z")]
pub(crate) struct Args {
    /// For whom it speaks
    #[arg(long, value_name = "SCOPE", default_value = "agent")]
    scope: ScopeArg,
    /// Who holds it [default: agent:NAME]
    #[arg(long, value_name = "WHO")]
    subject: Option<String>,
    /// From when it counts [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_before: Option<i64>,
    /// Until when it counts
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_after: Option<i64>,
    /// Print its entry as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let subject = args.subject.clone().unwrap_or_else(|| format!("agent:{}", environment::user()));
    let new = NewKey { scope: args.scope.into(), subject, not_before: args.not_before, not_after: args.not_after };
    let made = manage::new(&context.home, new, context.now())?;
    if args.json {
        print_json(&to_json(context, &made.entry))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}  {} {}", made.entry.kid(), made.entry.scope.word(), made.entry.subject)?;
    writeln!(out, "  {DIM}private half in {}{DIM:#}", made.path.display())?;
    out.flush()?;
    Ok(Exit::Ok)
}
