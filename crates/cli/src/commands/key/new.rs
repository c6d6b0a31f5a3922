use std::io::Write as _;

use jiff::Timestamp;
use r1_receipt::export::is_name;
use r1_receipt::key::Usage;
use r1_runtime::keys::manage::{self, About};

use super::{ScopeArg, UseArg, parse_time, to_json};
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};

/// Make a signing key
///
/// The private half stays in the home, readable for you alone. Give the public half to whoever is to check your
/// receipts: `r1 key export`. Statements for tools of others are signed with a key of its own (P-256, --use
/// attest), and so are checkpoints of logs (--use log), under the log's name. To sign runs that ended before, say with --not-before since when it counts.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key new
  r1 key new --use attest
  r1 key new --use log --name example.org/r1
  r1 key new --scope team --subject team:parser \\
      --not-after 2027-12-31T00:00:00Z")]
pub(crate) struct Args {
    /// What it signs
    #[arg(long, value_name = "USE", default_value = "receipt")]
    r#use: UseArg,
    /// The log that it signs for [default: local/ and a hash of the key]
    #[arg(long, value_name = "NAME", conflicts_with = "subject")]
    name: Option<String>,
    /// For whom it speaks
    #[arg(long, value_name = "SCOPE", default_value = "agent")]
    scope: ScopeArg,
    /// Who holds it [default: agent:NAME]
    #[arg(long, value_name = "WHO")]
    subject: Option<String>,
    /// From when it counts [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_before: Option<Timestamp>,
    /// Until when it counts
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_after: Option<Timestamp>,
    /// Print its entry as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let usage = Usage::from(args.r#use);
    let subject = match (usage, &args.name, &args.subject) {
        (Usage::Log, None, None) => String::new(),
        (Usage::Log, Some(name), _) | (Usage::Log, None, Some(name)) if !is_name(name) => {
            return Err(CliError::new(format!("`{name}` cannot name a log"))
                .hint("use something like example.org/r1, without spaces and +"));
        }
        (Usage::Log, Some(name), _) | (_, None, Some(name)) => name.clone(),
        (Usage::Receipt | Usage::Attest, Some(_), _) => {
            return Err(CliError::new("only a key for a log has its name").hint("add `--use log`"));
        }
        (Usage::Receipt | Usage::Attest, None, None) => format!("agent:{}", environment::user()),
    };
    let about =
        About { not_before: args.not_before, not_after: args.not_after, ..About::new(args.scope.into(), subject) };
    let made = manage::new(&context.home, usage, about, context.now())?;
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
