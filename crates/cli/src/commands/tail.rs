use std::io::Write as _;
use std::pin::pin;

use futures_util::StreamExt as _;
use r1_event::Seq;
use r1_runtime::control::stoke::{Outlet, OutletError, Pace, PrintError, Printer, Wanted};
use r1_runtime::control::view::Viewer;
use r1_runtime::location::Purpose;
use r1_store::PageLimit;

use crate::args::parse_seq;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::lines::{LineFormat, Lines};
use crate::output::{self, write_json};
use crate::remote::{At, Remote, events};
use crate::render::event::EventLines;
use crate::target::stored_run;

/// Follow a run: what happened so far, then everything as it happens
///
/// Ends when the run does. Nothing is skipped or shown twice, however fast the run writes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 tail last
  r1 tail last --from 120
  r1 tail last --url http://127.0.0.1:3948
  r1 tail 01K0E8 --json | jq -c '{seq, type}'")]
pub(crate) struct Args {
    /// A run id: any unique prefix, or `last`
    run: String,
    /// Start at this event
    #[arg(long, default_value = "1", value_name = "SEQ", value_parser = parse_seq)]
    from: Seq,
    /// Print one JSON object per event
    #[arg(long)]
    json: bool,
    /// Print the lines of `r1 run --output-format stream-json` instead, up to now
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "from", "url"])]
    output_format: Option<LineFormat>,
    /// With stream-json: only lines of events behind this one
    #[arg(long, value_name = "SEQ", requires = "output_format", default_value_t = 0)]
    after_seq: u64,
    /// With stream-json: go on until the run ends
    #[arg(long, requires = "output_format")]
    follow: bool,
    #[command(flatten)]
    lines: Lines,
    #[command(flatten)]
    at: At,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if args.output_format == Some(LineFormat::StreamJson) {
        return lines_of(&args, context).await;
    }
    args.lines.refuse()?;
    let from = args.from;
    if let Some(remote) = args.at.open(context)? {
        return of_daemon(&args, from, &remote).await;
    }
    let (store, run) = stored_run(context, &args.run, Purpose::Read).await?;
    let side_records = store.side_records(&run).await?;
    let first = store.read(&run, Seq::FIRST, PageLimit::ONE).await?.records;
    let viewer = Viewer::new(first.first(), &side_records);
    let mut events = pin!(r1_store::tail(store, run, from));
    let mut position = from.get();
    let mut out = output::stdout();
    let lines = EventLines::here();
    if let Some(marker) = viewer.pruned().filter(|_| from.get() <= viewer.pruned_through()) {
        lines.write_gap(&mut out, &marker, args.json)?;
    }
    while let Some(record) = events.next().await {
        let view = viewer.view(&record?, position);
        position = view.seq + 1;
        if args.json {
            write_json(&mut out, &view)?;
        } else {
            writeln!(out, "{}", lines.line(&view))?;
        }
        // Whoever follows wants to see each event now.
        out.flush()?;
    }
    Ok(Exit::Ok)
}

/// The run as lines for programs.
async fn lines_of(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let (store, run) = stored_run(context, &args.run, Purpose::Read).await?;
    let pace = if args.follow { Pace::Follow } else { Pace::ToTheEnd };
    let printer = Printer::open(store, run, Wanted { after_seq: args.after_seq, pace, ..args.lines.wanted() }).await?;
    let outlet = Outlet::new(std::io::stdout());
    let printed = match printer.print(&outlet).await {
        Ok(()) => outlet.close().await,
        Err(PrintError::Outlet(err)) => Err(err),
        Err(err) => return Err(err.into()),
    };
    match printed {
        // Whoever stopped reading has seen enough.
        Ok(()) | Err(OutletError::Closed) => Ok(Exit::Ok),
        Err(err) => Err(err.into()),
    }
}

/// The events of a daemon's run, as they are served.
async fn of_daemon(args: &Args, from: Seq, remote: &Remote) -> Result<Exit, CliError> {
    let run = remote.run(&args.run).await?;
    let mut events = pin!(events::follow(remote, &run, from.get() - 1));
    let mut out = output::stdout();
    let lines = EventLines::here();
    while let Some(sent) = events.next().await {
        let sent = sent?;
        if args.json {
            writeln!(out, "{}", sent.text)?;
        } else {
            writeln!(out, "{}", lines.line(&sent.view()))?;
        }
        out.flush()?;
    }
    Ok(Exit::Ok)
}
