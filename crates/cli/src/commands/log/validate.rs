use std::io::Write as _;

use r1_event::finding::{State, Verdict};
use r1_runtime::Keyring;
use r1_runtime::control::check;
use r1_runtime::location::Purpose;
use r1_runtime::source::Progress;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::progress::Ticker;
use crate::render::text::count;
use crate::render::verdict::{self, Report};
use crate::target::Target;
use crate::trust::Trust;

/// Check that a log is whole and untampered
///
/// Looks at hashes, chain, Merkle tree, seals and the order of events, and lists everything that is
/// wrong. Takes a run of the store, or a file: an R1 store, any export of R1, a CBOR sequence, a
/// Starling database or a Starling NDJSON export. Without a target it checks every run of the store.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 valid and complete, 1 corrupt, 2 usage or I/O, 3 valid but open.

Examples:
  r1 log validate last
  r1 log validate backup.cborseq
  r1 log validate theirs.cborseq --key alice.json    # is it as she sealed it?
  r1 log validate starling.db --json | jq '.runs[].integrity'")]
pub(crate) struct Args {
    /// Run ids (any unique prefix, or `last`) or files
    #[arg(value_name = "RUN|FILE")]
    targets: Vec<String>,
    /// Only this run of a file that has several
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    trust: Trust,
    /// Print the whole verdict as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let keyring = args.trust.keyring(context)?;
    let mut verdicts = Vec::new();
    if args.targets.is_empty() {
        let store = context.open_store(Purpose::Read).await?;
        verdicts.extend(check_all(Target::all(store).await?.only(args.run.as_deref())?, &keyring).await?);
    }
    for target in &args.targets {
        let target = Target::open_to_check(context, target).await?.only(args.run.as_deref())?;
        verdicts.extend(check_all(target, &keyring).await?);
    }
    let exit = verdict::exit(&verdicts);
    if args.json {
        print_json(&Report { runs: verdicts.into_iter().map(Into::into).collect() })?;
    } else {
        print(&verdicts)?;
    }
    Ok(exit)
}

async fn check_all(target: Target, keyring: &Keyring) -> Result<Vec<Verdict>, CliError> {
    let progress = Progress::default();
    let _ticker = Ticker::start(&progress, "checked");
    let mut verdicts = Vec::new();
    for log in target.logs {
        let options = check::options(log.side_records(), keyring, target.store.as_ref()).await?;
        verdicts.push(check::check_log(log, options, progress.clone()).await?);
    }
    Ok(verdicts)
}

fn print(verdicts: &[Verdict]) -> Result<(), CliError> {
    let mut out = output::stdout();
    for verdict in verdicts {
        write!(out, "{}", verdict::text(verdict))?;
    }
    if verdicts.len() != 1 {
        let corrupt = verdicts.iter().filter(|verdict| verdict.is_corrupt()).count();
        let open = verdicts.iter().filter(|verdict| !verdict.is_corrupt() && verdict.state == State::Open).count();
        writeln!(out, "{}: {corrupt} corrupt, {open} open", count(verdicts.len() as u64, "run"))?;
    }
    Ok(out.flush()?)
}
