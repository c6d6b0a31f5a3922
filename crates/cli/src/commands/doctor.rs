use std::io::Write as _;

use r1_runtime::control::doctor::{self, Checkup, Health};
use r1_runtime::location::{LocationError, Purpose};
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, DIM, GOOD, NOTICE, print_json};
use crate::render::text::visible;

/// Look whether everything is in place: home, store, keys
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 all is well, 1 something needs mending, 2 usage or I/O.

Examples:
  r1 doctor
  r1 doctor --store postgres://db.example/r1 --json")]
pub(crate) struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    version: &'static str,
    checks: Vec<Checkup>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let mut checks = doctor::examine_home(&context.home, context.now());
    checks.extend(examine_store(context).await);
    let ok = checks.iter().all(|check| check.health != Health::Bad);
    let report = Report { ok, version: env!("CARGO_PKG_VERSION"), checks };
    if args.json {
        print_json(&report)?
    } else {
        print(&report)?
    }
    Ok(if ok { Exit::Ok } else { Exit::Failed })
}

async fn examine_store(context: &Context) -> Vec<Checkup> {
    let bad = |err: CliError| {
        let detail = std::iter::once(err.to_string()).chain(err.causes()).collect::<Vec<_>>().join(": ");
        Checkup { name: "store", health: Health::Bad, detail, hint: err.hint_text().map(Into::into) }
    };
    match context.location.open(Purpose::Read).await {
        Ok(store) => match doctor::examine_store(&store).await {
            Ok(checks) => checks,
            Err(err) => vec![bad(err.into())],
        },
        // Nothing recorded yet is no fault, unless the user says that there is something.
        Err(err @ LocationError::Missing { .. }) if !context.store_was_named => {
            vec![Checkup { name: "store", health: Health::Notice, detail: err.to_string(), hint: None }]
        }
        Err(err) => vec![bad(err.into())],
    }
}

fn print(report: &Report) -> Result<(), CliError> {
    let mut out = output::stdout();
    writeln!(out, "{DIM}r1 {}{DIM:#}", report.version)?;
    for Checkup { name, health, detail, hint } in &report.checks {
        let (style, word) = match health {
            Health::Good => (GOOD, "good"),
            Health::Notice => (NOTICE, "note"),
            Health::Bad => (BAD, "bad"),
        };
        writeln!(out, "{style}{word:<4}{style:#}  {name:<10} {}", visible(detail))?;
        if let Some(hint) = hint {
            writeln!(out, "                 {DIM}{}{DIM:#}", visible(hint))?;
        }
    }
    Ok(out.flush()?)
}
