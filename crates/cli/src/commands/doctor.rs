use std::io::Write as _;

use r1_runtime::control::doctor::{self, Checkup, Health};
use r1_runtime::location::{LocationError, Purpose};
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxLayer, environment as program_environment};
use serde::Serialize;

use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, DIM, GOOD, NOTICE, print_json};
use crate::render::text::visible;
use crate::settings;
use crate::workshop::current_directory;

/// Look whether everything is in place: home, store, keys, settings, sandbox
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
    checks.extend(doctor::examine_room(&context.home, &context.location));
    checks.extend(examine_store(context).await);
    checks.extend(examine_settings(context));
    checks.push(examine_sandbox().await);
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

/// What is set differently from what holds otherwise, and by whom.
fn examine_settings(context: &Context) -> Vec<Checkup> {
    let check = |health, detail, hint| Checkup { name: "settings", health, detail, hint };
    let loaded = match settings::read(context, &current_directory(), Vec::new()) {
        Ok(loaded) => loaded,
        Err(err) => {
            let err = CliError::from(err);
            let detail = std::iter::once(err.to_string()).chain(err.causes()).collect::<Vec<_>>().join(": ");
            return vec![check(Health::Bad, detail, err.hint_text().map(Into::into))];
        }
    };
    let mut checks: Vec<_> =
        loaded.origins.iter().map(|(key, origin)| check(Health::Good, format!("{key} from {origin}"), None)).collect();
    checks.extend(loaded.ignored.iter().map(|ignored| check(Health::Notice, ignored.to_string(), None)));
    if checks.is_empty() {
        let hint = Some("write a file with `r1 init` to change some".to_owned());
        checks.push(check(Health::Good, "all as they are by default".to_owned(), hint));
    }
    checks
}

/// What keeps programs of agents in, on this machine.
async fn examine_sandbox() -> Checkup {
    let config = SandboxConfig {
        workspace: std::env::temp_dir(),
        supervisor: environment::this_program(),
        env: program_environment::allowed(environment::variables(), &[]),
        ..SandboxConfig::default()
    };
    let (health, detail, hint) = match Sandbox::detect(config).await.map(|sandbox| sandbox.layer()) {
        Ok(SandboxLayer::None) => (Health::Notice, "programs are not confined".to_owned(), Some("install bubblewrap")),
        Ok(layer) => (Health::Good, format!("programs are confined by {}", layer.as_str()), None),
        Err(err) => (Health::Bad, err.to_string(), None),
    };
    Checkup { name: "sandbox", health, detail, hint: hint.map(Into::into) }
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
