use std::io::Write as _;

use r1_runtime::control::view::{EventView, Viewer};
use r1_runtime::source::Log;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, write_json};
use crate::render::event::EventLines;
use crate::render::text::visible;
use crate::render::time;
use crate::target::Target;

/// Show the events of a log
///
/// One line per event: its place, its time, what it is and what it says. `--seq` shows a single event
/// with its hash and everything it says.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 log show last
  r1 log show last --seq 7
  r1 log show run.cborseq --from 100 --to 120
  r1 log show last --json | \\
      jq 'select(.type == \"tool.failed\") | .data.error'")]
pub(crate) struct Args {
    /// A run id (any unique prefix, or `last`) or a file
    #[arg(value_name = "RUN|FILE")]
    target: String,
    /// Only this run of a file that has several
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only this event, in full
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["from", "to"])]
    seq: Option<u64>,
    /// From this event on
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Up to this event
    #[arg(long, value_name = "SEQ")]
    to: Option<u64>,
    /// Print one JSON object per event
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && to < from
    {
        return Err(CliError::new(format!("`--to {to}` lies before `--from {from}`, so nothing is between them"))
            .hint(format!("show them with `--from {to} --to {from}`")));
    }
    let target = Target::open(context, &args.target).await?.only(args.run.as_deref())?;
    let logs = target.whole()?;
    // Reading blocks, and nothing else is to be done meanwhile.
    tokio::task::block_in_place(|| print(&args, &logs))?;
    Ok(Exit::Ok)
}

fn print(args: &Args, logs: &[Log]) -> Result<(), CliError> {
    let mut out = output::stdout();
    let lines = EventLines::here();
    let first = args.seq.or(args.from).unwrap_or(1);
    let last = args.seq.or(args.to).unwrap_or(u64::MAX);
    let mut shown = 0_u64;
    for log in logs {
        if logs.len() > 1 && !args.json {
            writeln!(out, "{BOLD}{}{BOLD:#}", visible(log.run_id().unwrap_or("(no run id)")))?;
        }
        let mut viewer = None;
        let gap = Viewer::new(None, log.side_records());
        let mut position = gap.pruned_through();
        if let Some(marker) = gap.pruned().filter(|_| args.seq.is_none() && first <= position) {
            lines.write_gap(&mut out, &marker, args.json)?;
        }
        'pages: for page in log.pages() {
            for record in page? {
                position += 1;
                let viewer = viewer.get_or_insert_with(|| Viewer::new(Some(&record), log.side_records()));
                if position < first {
                    continue;
                }
                if position > last {
                    break 'pages;
                }
                let view = viewer.view(&record, position);
                shown += 1;
                if args.json {
                    write_json(&mut out, &view)?;
                } else if args.seq.is_some() {
                    write!(out, "{}", in_full(&view))?;
                } else {
                    writeln!(out, "{}", lines.line(&view))?;
                }
            }
        }
        if let (Some(damage), false) = (log.damage(), args.json) {
            out.flush()?;
            output::note(&format!("the rest of the file cannot be read: {damage}"));
        }
    }
    out.flush()?;
    match args.seq {
        Some(seq) if shown == 0 => {
            Err(CliError::new(format!("there is no event {seq}")).hint("see all events without `--seq`"))
        }
        None if shown == 0 && (args.from.is_some() || args.to.is_some()) => {
            output::note("there are no events in this range");
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}

fn in_full(event: &EventView) -> String {
    let data = serde_json::to_string_pretty(&event.data).unwrap_or_default();
    let fact = |name: &str, value: &str| format!("{DIM}{name:<6}{DIM:#} {}\n", visible(value));
    [
        fact("run", &event.run_id),
        fact("seq", &event.seq.to_string()),
        fact("time", &time::date_time(event.ts)),
        fact("kind", &event.kind.to_string()),
        fact("type", &event.type_name),
        fact("hash", &event.hash),
        // JSON escapes all but a few control characters by itself; line ends are its own.
        data.lines().map(|line| format!("{}\n", visible(line))).collect(),
    ]
    .concat()
}
