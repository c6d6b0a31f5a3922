use std::io::Write as _;

use anstyle::Style;
use r1_protocol::api::{List, Run};
use r1_protocol::data::Time;
use r1_runtime::control::list::{self, RunRow};
use r1_runtime::history;
use r1_runtime::location::Purpose;
use r1_store::{DamagedRun, SharedStore};
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTICE, print_json};
use crate::remote::{At, Remote};
use crate::render::table::{Align, Cell, Table};
use crate::render::terminal;
use crate::render::text::{one_line, visible};
use crate::render::time::{date_time, day_and_minute};

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 all can be read, 1 the store has entries that are damaged, 2 usage or I/O.

Examples:
  r1 runs
  r1 runs --limit 5
  r1 runs --kind operator      # what you did outside of runs, or to old ones
  r1 runs --url http://127.0.0.1:3948
  r1 runs --json | jq -r '.runs[] | select(.state == \"open\") | .run_id'")]
pub(crate) struct Args {
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Only runs of this kind: agent_loop, recorded, shell, operator, … [default: all but operator and control]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Serialize)]
struct Report<T> {
    runs: Vec<T>,
    /// Entries of the store that can no longer be read as runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
}

#[derive(Serialize)]
struct Damaged {
    /// The row of the store's runs.
    row: i64,
    /// What stands where its id should: text, other bytes in hex behind `0x`, or nothing.
    id: String,
    reason: String,
}

impl From<DamagedRun> for Damaged {
    fn from(DamagedRun { position, id, reason }: DamagedRun) -> Self {
        Self { row: position.0.cast_signed(), id, reason }
    }
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: RunRow,
    /// How it stands, as its log tells: running, awaiting_approval, …
    status: &'static str,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if let Some(remote) = args.at.open(context)? {
        return of_daemon(&args, &remote).await;
    }
    let store = context.open_store(Purpose::Read).await?;
    let (mut runs, mut damaged, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut after = None;
    let mut hidden = 0;
    let mut more = false;
    while lines.len() < args.limit {
        let wanted = args.limit - lines.len();
        let page = list::list(&store, args.kind.as_deref(), after, wanted.clamp(FEWEST, 500)).await?;
        more = page.next.is_some() || page.rows.len() > wanted;
        hidden += page.hidden;
        for row in page.rows.into_iter().take(wanted) {
            match row {
                list::Row::Run(run) => {
                    let row = Row { status: status(&store, &run).await, run };
                    lines.push(line(&row));
                    runs.push(row);
                }
                list::Row::Damaged(entry) => {
                    lines.push(damaged_line(&entry));
                    damaged.push(Damaged::from(entry));
                }
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let exit = if damaged.is_empty() { Exit::Ok } else { Exit::Failed };
    if args.json {
        print_json(&Report { runs, damaged })?;
        return Ok(exit);
    }
    if lines.is_empty() && hidden > 0 {
        output::note("there are no runs but those of operators");
    } else {
        print(&lines, more && lines.len() >= args.limit, &args)?;
    }
    if hidden > 0 {
        let (what, them) = if hidden == 1 { ("operator run is", "it") } else { ("operator runs are", "them") };
        output::note(&format!("{hidden} {what} not shown; see {them} with `r1 runs --kind operator`"));
    }
    if !damaged.is_empty() {
        output::note("some entries of the store are damaged: restore a backup; `r1 log validate` checks all others");
    }
    Ok(exit)
}

/// So many are looked at in one go, even if fewer are wanted: some may be passed over.
const FEWEST: usize = 20;

/// The runs of a daemon.
async fn of_daemon(args: &Args, remote: &Remote) -> Result<Exit, CliError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut cursor: Option<String> = None;
    while runs.len() < args.limit {
        let limit = (args.limit - runs.len()).min(200).to_string();
        let mut query = vec![("limit", limit.as_str())];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        query.extend(args.kind.as_deref().map(|kind| ("kind", kind)));
        let page: List<Run> = remote.get("runs", &query).await?;
        runs.extend(page.data);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if args.json {
        print_json(&Report { runs, damaged: Vec::new() })?;
        return Ok(Exit::Ok);
    }
    let lines: Vec<_> = runs
        .iter()
        .map(|run| {
            let goal = Cell::new(Style::new(), one_line(&run.title, 60));
            columns(&run.id, &run.created_at, run.status.as_str(), run.last_sequence + 1, goal)
        })
        .collect();
    print(&lines, cursor.is_some(), args)?;
    Ok(Exit::Ok)
}

/// A run, column by column.
type Line = [Cell; 5];

const COLUMNS: [(&str, Align); 5] = [
    ("run", Align::Left),
    ("started", Align::Left),
    ("status", Align::Left),
    ("events", Align::Right),
    ("goal", Align::Left),
];

/// Where there are fewer columns, a goal is worth more than a year and seconds.
const NARROW: usize = 100;

fn print(lines: &[Line], more: bool, args: &Args) -> Result<(), CliError> {
    if lines.is_empty() {
        match &args.kind {
            Some(kind) => output::note(&format!("there are no runs of the kind `{}`", visible(kind))),
            None => output::note("there are no runs yet: see what r1 does with `r1 demo`"),
        }
        return Ok(());
    }
    let mut out = output::stdout();
    let mut table = Table::new(COLUMNS);
    lines.iter().for_each(|line| table.push(line.clone()));
    for line in table.lines(terminal::width()) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    if more {
        output::note(&format!("more with `--limit {}`", args.limit * 2));
    }
    Ok(())
}

/// What an open run is doing; one whose log cannot be folded is just open.
async fn status(store: &SharedStore, run: &RunRow) -> &'static str {
    let Ok(id) = run.run_id.parse() else { return run.state };
    if run.state != "open" {
        return run.state;
    }
    history::status(store, &id).await.map_or(run.state, |status| status.as_str())
}

fn line(row: &Row) -> Line {
    let Row { run, status } = row;
    let goal = match (&run.goal, run.pruned_through) {
        (Some(goal), _) => Cell::new(Style::new(), one_line(goal, 60)),
        (None, Some(through)) => Cell::new(DIM, format!("(pruned through {through})")),
        (None, None) => Cell::new(DIM, "(erased)"),
    };
    columns(&run.run_id, &run.started_at, status, run.events, goal)
}

fn damaged_line(entry: &DamagedRun) -> Line {
    // Anything may stand where its id should: it is not to push the columns of the others aside.
    let id = if entry.id.is_empty() { "(no run id)".into() } else { one_line(&entry.id, 40) };
    let reason = format!("row {}: {}", entry.position.0.cast_signed(), entry.reason);
    let plain = |text: &str| Cell::new(Style::new(), text);
    [Cell::new(BOLD, id), plain(""), Cell::new(BAD, "damaged"), plain(""), plain(&one_line(&reason, 100))]
}

fn columns(id: &str, started_at: &Time, status: &str, events: u64, goal: Cell) -> Line {
    let style = match status {
        "completed" => GOOD,
        "failed" | "cancelled" => BAD,
        _ => NOTICE,
    };
    let started_at = started_at.nanos().map_or(0, |at| at.0);
    let is_narrow = terminal::width().is_some_and(|width| width < NARROW);
    let started = if is_narrow { day_and_minute(started_at) } else { date_time(started_at) };
    [
        Cell::new(BOLD, visible(id)),
        Cell::new(Style::new(), started),
        Cell::new(style, status.replace('_', " ")),
        Cell::new(Style::new(), events.to_string()),
        goal,
    ]
}
