use std::io::Write as _;

use r1_event::finding::{State, Verdict};
use r1_runtime::Keyring;
use r1_runtime::control::check;
use r1_runtime::location::Purpose;
use r1_runtime::source::{Log, Progress};
use r1_store::SharedStore;

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
Of several targets the gravest counts, 1 before 2 before 3. What cannot be read is told on stderr
and takes no verdict from the others.

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
    let mut outcome = Outcome::default();
    if args.targets.is_empty() {
        let store = context.open_store(Purpose::Read).await?;
        outcome.take(Target::all(store).await, &args, &keyring).await;
    }
    for target in &args.targets {
        outcome.take(Target::open_to_check(context, target).await, &args, &keyring).await;
    }
    outcome.tell(args.json)
}

/// What came of all that was to be checked.
#[derive(Default)]
struct Outcome {
    verdicts: Vec<Verdict>,
    /// Why the rest could not be judged.
    unreadable: Vec<CliError>,
}

impl Outcome {
    /// Judges all logs of a target. What cannot be read takes no verdict from the others.
    async fn take(&mut self, opened: Result<Target, CliError>, args: &Args, keyring: &Keyring) {
        let target = match opened.and_then(|target| target.only(args.run.as_deref())) {
            Ok(target) => target,
            Err(err) => return self.unreadable.push(err),
        };
        let (logs, damaged, store) = target.into_parts();
        let progress = Progress::default();
        let _ticker = Ticker::start(&progress, "checked");
        for log in logs {
            match judge(log, store.as_ref(), keyring, &progress).await {
                Ok(verdict) => self.verdicts.push(verdict),
                Err(err) => self.unreadable.push(err),
            }
        }
        self.verdicts.extend(damaged.iter().map(check::damaged_entry));
    }

    fn tell(mut self, json: bool) -> Result<Exit, CliError> {
        if self.verdicts.is_empty()
            && let Some(last) = self.unreadable.pop()
        {
            self.unreadable.iter().for_each(output::print_error);
            return Err(last);
        }
        let (exit, Self { verdicts, unreadable }) = (self.exit(), self);
        if json {
            print_json(&Report { runs: verdicts.into_iter().map(Into::into).collect() })?;
        } else {
            print(&verdicts)?;
        }
        unreadable.iter().for_each(output::print_error);
        Ok(exit)
    }

    /// The gravest: a corrupt log, then one that could not be read, then one that is open.
    fn exit(&self) -> Exit {
        match (verdict::exit(&self.verdicts), self.unreadable.last()) {
            (Exit::Failed, _) => Exit::Failed,
            (_, Some(err)) => err.exit(),
            (exit, None) => exit,
        }
    }
}

async fn judge(
    log: Log,
    store: Option<&SharedStore>,
    keyring: &Keyring,
    progress: &Progress,
) -> Result<Verdict, CliError> {
    let options = check::options(log.side_records(), keyring, store).await?;
    Ok(check::check_log(log, options, progress.clone()).await?)
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
