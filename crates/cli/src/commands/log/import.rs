use std::io::Write as _;
use std::path::PathBuf;

use r1_runtime::control::import;
use r1_runtime::location::Purpose;
use r1_runtime::source::{Progress, open_file};
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, print_json};
use crate::progress::Ticker;
use crate::render::text::{count, visible};
use crate::target::Target;

/// Take logs from files into the store
///
/// Each log is checked first; a corrupt one is refused. What the store has already is not stored
/// again, and a different run of the same name is never touched.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 log import run.cborseq
  r1 log import starling.db --run 01K0E8 --store audit.db")]
pub(crate) struct Args {
    /// Files: any export of R1, another R1 store, a Starling database or NDJSON export
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only this run of a file that has several
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print what was imported as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    runs: Vec<RunReport>,
}

#[derive(Serialize)]
struct RunReport {
    run_id: String,
    added: u64,
    known: u64,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let mut logs = Vec::new();
    for file in &args.files {
        logs.extend(Target::of_file(open_file(file)?).await?.only(args.run.as_deref())?.whole()?);
    }
    let store = context.open_store(Purpose::Create).await?;
    let keyring = context.keyring()?;
    let progress = Progress::default();
    let ticker = Ticker::start(&progress, "checked");
    let mut runs = Vec::new();
    for log in logs {
        let imported = import::import(&store, log, &keyring, progress.clone()).await?;
        runs.push(RunReport { run_id: imported.run_id.to_string(), added: imported.added, known: imported.known });
    }
    drop(ticker);
    store.close().await?;
    if args.json {
        print_json(&Report { runs })?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    for RunReport { run_id, added, known } in runs {
        let known = if known == 0 { String::new() } else { format!(", {known} were there already") };
        writeln!(out, "{BOLD}{}{BOLD:#}  {} added{known}", visible(&run_id), count(added, "event"))?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
