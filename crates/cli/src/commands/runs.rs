use std::io::Write as _;

use r1_runtime::control::list::{self, RunRow};
use r1_runtime::history;
use r1_runtime::location::Purpose;
use r1_store::SharedStore;
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTICE, print_json};
use crate::render::text::{one_line, visible};
use crate::render::time::date_time;

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 runs
  r1 runs --limit 5
  r1 runs --json | jq -r '.runs[] | select(.state == \"open\") | .run_id'")]
pub(crate) struct Args {
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    runs: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: RunRow,
    /// How it stands, as its log tells: running, awaiting_approval, …
    status: &'static str,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Read).await?;
    let mut runs = Vec::new();
    let mut after = None;
    let mut more = false;
    while runs.len() < args.limit {
        let (page, next) = list::list(&store, after, (args.limit - runs.len()).min(500)).await?;
        let ended = page.is_empty();
        for run in page {
            let status = status(&store, &run).await;
            runs.push(Row { run, status });
        }
        after = next;
        more = next.is_some();
        if ended || next.is_none() {
            break;
        }
    }
    if args.json {
        print_json(&Report { runs })?;
        return Ok(Exit::Ok);
    }
    if runs.is_empty() {
        output::note("there are no runs yet: see what r1 does with `r1 demo`");
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    writeln!(out, "{DIM}{:<30}  {:<19}  {:<17}  {:>7}  goal{DIM:#}", "run", "started", "status", "events")?;
    for run in &runs {
        writeln!(out, "{}", line(run))?;
    }
    out.flush()?;
    if more && runs.len() >= args.limit {
        output::note(&format!("more with `--limit {}`", args.limit * 2));
    }
    Ok(Exit::Ok)
}

/// What an open run is doing; one whose log cannot be folded is just open.
async fn status(store: &SharedStore, run: &RunRow) -> &'static str {
    let Ok(id) = run.run_id.parse() else { return run.state };
    if run.state != "open" {
        return run.state;
    }
    history::load(store, &id).await.map_or(run.state, |state| state.status().as_str())
}

fn line(row: &Row) -> String {
    let Row { run, status } = row;
    let style = match run.state {
        "completed" => GOOD,
        "failed" | "cancelled" => BAD,
        _ => NOTICE,
    };
    let goal = match (&run.goal, run.pruned_through) {
        (Some(goal), _) => one_line(goal, 60),
        (None, Some(through)) => format!("{DIM}(pruned through {through}){DIM:#}"),
        (None, None) => format!("{DIM}(erased){DIM:#}"),
    };
    let (id, started, events) = (visible(&run.run_id), date_time(run.started_at), run.events);
    format!("{BOLD}{id:<30}{BOLD:#}  {started}  {style}{:<17}{style:#}  {events:>7}  {goal}", status.replace('_', " "))
        .trim_end()
        .to_owned()
}
