use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use r1_receipt::key::Scope;
use r1_receipt::{Builder, GatePolicy, Options, Reason, Receipt, Report, Verdict, file, verify};
use r1_runtime::control::receipt::{Child, check_children, gate_policy, read_file, rebuild};
use r1_runtime::keys::KnownKeys;
use serde_json::json;

use crate::commands::key::ScopeArg;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::render::receipt as render;
use crate::target::Target;
use crate::trust::Trust;

/// Check what someone signed
///
/// Needs the file and a public key, nothing else: no store, no network. Says in its first line whether the
/// receipt is VALID, INVALID, UNTRUSTED (it holds, but the key does not count here) or INCOMPLETE (it holds as
/// far as it goes), with the first reason that was found; then what the receipt says, what that proves, and
/// what it does not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 valid, 1 invalid, 2 usage or I/O, 3 the key is unknown or does not count, 4 incomplete.

Examples:
  r1 receipt verify run.receipt.json
  r1 receipt verify run.receipt.json --key alice.json --scope team
  r1 receipt verify run.receipt.json --log run.cborseq   # of this very log?
  r1 receipt verify run.receipt.json --gates strict --json | jq .reason")]
pub(crate) struct Args {
    /// The receipt
    #[arg(value_name = "FILE")]
    receipt: PathBuf,
    #[command(flatten)]
    trust: Trust,
    /// Demand that the key speaks for one of these
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ScopeArg>,
    /// Demand that this one holds the key
    #[arg(long, value_name = "WHO")]
    subject: Option<String>,
    /// Compare with the log: a run id or a file
    #[arg(long, value_name = "RUN|FILE")]
    log: Option<String>,
    /// Check the receipts of child runs in this directory, too
    #[arg(long, value_name = "DIR")]
    children: Option<PathBuf>,
    /// Demand the gates of this preset: default, strict, fast or a file
    #[arg(long, value_name = "PRESET")]
    gates: Option<String>,
    /// Stop before looking at what events say: for receipts of other makers
    #[arg(long)]
    integrity: bool,
    /// Take JSON in any spelling, and say so
    #[arg(long)]
    lenient_format: bool,
    /// Print the whole report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let given = match Given::read(&args, context).await {
        Ok(given) => given,
        Err(err) => {
            tell_not_made(if err.is_io() { Reason::Io } else { Reason::Usage }, args.json)?;
            return Err(err);
        }
    };
    let options = given.options(&args);
    let mut report = verify(&given.bytes, &options);
    report.warnings.extend(given.warnings());
    let children = args.children.as_deref().map(|directory| check_children(&report, directory, &options));
    let children = children.unwrap_or_default();
    let verdict = overall(&report, &children);
    if args.json {
        print_json(&json_of(&report, verdict, &children))?;
    } else {
        // What a broken receipt tells is nobody's word.
        let believed = !matches!(report.verdict(), Verdict::Invalid(_));
        let receipt = believed.then(|| Receipt::read(&given.bytes).ok()).flatten();
        let text = render::text(&args.receipt, &report, receipt.as_ref(), verdict, &children);
        let mut out = output::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(exit(verdict))
}

/// Gives whoever waits for a verdict one, if the arguments were meant for this command but cannot be read.
pub(crate) fn tell_wrong_use(arguments: impl Iterator<Item = OsString>) {
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.windows(2).any(|pair| pair[0] == "receipt" && pair[1] == "verify") {
        // Without a reader nobody misses it.
        let _ = tell_not_made(Reason::Usage, arguments.iter().any(|argument| argument == "--json"));
    }
}

/// The verdict of a check that cannot be made; why is told as with any other command.
fn tell_not_made(reason: Reason, json: bool) -> Result<(), CliError> {
    let report = Report::not_made(reason);
    if json {
        return print_json(&json_of(&report, report.verdict(), &[]));
    }
    let mut out = output::stdout();
    writeln!(out, "{}", render::verdict_line(report.verdict()))?;
    out.flush()?;
    Ok(())
}

/// All that a check draws on.
struct Given {
    bytes: Vec<u8>,
    respelled: bool,
    known: KnownKeys,
    gates: Option<GatePolicy>,
    log: Option<Builder>,
}

impl Given {
    async fn read(args: &Args, context: &Context) -> Result<Self, CliError> {
        let mut bytes = read_file(&args.receipt)?;
        let respelled = args.lenient_format && respell(&mut bytes);
        let known = args.trust.known_keys(context)?;
        let gates = args.gates.as_deref().map(|choice| gate_policy(Path::new("."), choice)).transpose()?;
        let log = match &args.log {
            Some(log) => Some(read_log(context, log).await?),
            None => None,
        };
        Ok(Self { bytes, respelled, known, gates, log })
    }

    fn options<'a>(&'a self, args: &'a Args) -> Options<'a> {
        Options {
            keys: &self.known.keys,
            scope: args.scope.map(Scope::from),
            subject: args.subject.as_deref(),
            integrity_only: args.integrity,
            gates: self.gates.as_ref(),
            log: self.log.as_ref(),
        }
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let respelled = "the file was not in its canonical spelling; what was checked is that spelling of it";
        self.respelled.then(|| respelled.to_owned()).into_iter().chain(self.known.complaints())
    }
}

/// The canonical spelling of a receipt that is right in all else; anything else stays as it is.
fn respell(bytes: &mut Vec<u8>) -> bool {
    match file::canonicalise(bytes) {
        Ok(canonical) if canonical != *bytes => {
            *bytes = canonical;
            true
        }
        Ok(_) | Err(_) => false,
    }
}

async fn read_log(context: &Context, given: &str) -> Result<Builder, CliError> {
    let (log, store) = Target::open(context, given).await?.single()?;
    Ok(rebuild(log, store.as_ref()).await?)
}

/// The first thing that is wrong, here or with a child.
fn overall(report: &Report, children: &[Child]) -> Verdict {
    let own = report.verdict();
    let wrong = || children.iter().map(|child| child.verdict).find(|verdict| verdict.reason().is_some());
    if own.reason().is_some() { own } else { wrong().unwrap_or(own) }
}

fn json_of(report: &Report, verdict: Verdict, children: &[Child]) -> serde_json::Value {
    let mut value = report.to_json();
    let told = children.iter().map(|child| {
        json!({
            "run_id": child.run_id,
            "file": child.path.as_ref().map(|path| path.display().to_string()),
            "verdict": child.verdict.word(),
            "reason": child.verdict.reason().map(Reason::word),
            "event_index": child.event_index,
        })
    });
    value["children"] = told.collect();
    value["ok"] = (verdict == Verdict::Valid).into();
    value["verdict"] = verdict.word().into();
    value["reason"] = verdict.reason().map(Reason::word).into();
    value["stage"] = verdict.reason().map(|reason| reason.stage().word()).into();
    value
}

pub(super) const fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Valid => Exit::Ok,
        Verdict::Invalid(Reason::Usage | Reason::Io) => Exit::Usage,
        Verdict::Invalid(_) => Exit::Failed,
        Verdict::Untrusted(_) => Exit::Untrusted,
        Verdict::Incomplete(_) => Exit::Incomplete,
    }
}
