use std::io::Write;
use std::str::FromStr;

use r1_event::exchange::{Encoder, Format};
use r1_receipt::graph::Notes;
use r1_runtime::control::{export, stoke};
use r1_runtime::source::{Log, Progress};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::lines::Lines;
use crate::output;
use crate::output_file::Output;
use crate::progress::Ticker;
use crate::render::text::count;
use crate::target::Target;

/// Write a log to a file or to standard output, without losing a byte
///
/// `cborseq` is the compact form. `ndjson` and `json` carry the same bytes in base64, and beside them, as
/// `data`, what each event says in plain JSON, as frontends see it; it is for looking only. `r1 log
/// import` reads all three back. `stoke` are the lines of `r1 run --output-format stream-json`: they are for
/// programs that read such a stream, and cannot be imported. For whole envelopes use `r1 log show --json`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 log export last -o run.cborseq
  r1 log export last --format ndjson | jq .data
  r1 log export starling.db --run 01K0E8 --format json -o run.json")]
pub(crate) struct Args {
    /// A run id (any unique prefix, or `last`) or a file
    #[arg(value_name = "RUN|FILE")]
    target: String,
    /// Only this run of a file that has several
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// cborseq, ndjson, json or stoke
    #[arg(long, short, default_value = "cborseq", value_name = "FORMAT")]
    format: Form,
    #[command(flatten)]
    lines: Lines,
    #[command(flatten)]
    output: Output,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The log itself.
    Log(Format),
    /// The lines that `r1 run --output-format stream-json` prints.
    Stoke,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "stoke" => Ok(Self::Stoke),
            word => word.parse().map(Self::Log).map_err(|_| "say cborseq, ndjson, json or stoke".into()),
        }
    }
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if args.format != Form::Stoke {
        args.lines.refuse()?;
    }
    let target = Target::open(context, &args.target).await?.only(args.run.as_deref())?.whole()?;
    if let Some(log) = target.iter().find(|log| log.damage().is_some()) {
        let damage = log.damage().map(ToString::to_string).unwrap_or_default();
        return Err(CliError::new("the file cannot be read to its end, so an export would lose events")
            .because(damage)
            .hint("see what can be read with `r1 log show FILE`"));
    }
    let progress = Progress::default();
    let ticker = Ticker::start(&progress, "exported");
    let mut logs = Vec::new();
    for log in target {
        let notes = if args.format == Form::Stoke { stoke::notes(&log).await? } else { Notes::default() };
        logs.push((log, notes));
    }
    // Reading and writing block, and nothing else is to be done meanwhile.
    tokio::task::block_in_place(|| args.output.write(|out| write(logs, &args, out, &progress)))?;
    drop(ticker);
    if let Some(path) = args.output.file() {
        output::note(&format!("wrote {} to {}", count(progress.events(), "event"), path.display()));
    }
    Ok(Exit::Ok)
}

/// Logs, each with what its lines need beside its events.
type Logs = Vec<(Log, Notes)>;

fn write(logs: Logs, args: &Args, out: &mut dyn Write, progress: &Progress) -> Result<(), CliError> {
    let format = match args.format {
        Form::Log(format) => format,
        Form::Stoke => return write_lines(logs, &args.lines, out, progress),
    };
    let mut encoder = Encoder::new(format);
    for (log, _) in &logs {
        export::export(log, &mut encoder, out, progress)?;
    }
    Ok(export::finish(encoder, out)?)
}

fn write_lines(logs: Logs, lines: &Lines, out: &mut dyn Write, progress: &Progress) -> Result<(), CliError> {
    let options = lines.of_one_log()?;
    for (log, notes) in logs {
        stoke::export(&log, notes, &options, progress, |line| out.write_all(&line.bytes))?;
    }
    Ok(out.flush()?)
}
