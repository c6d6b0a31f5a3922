use std::path::{Path, PathBuf};

use r1_receipt::key::{KnownKey, Scope};
use r1_receipt::{Builder, GatePolicy, Options, Reason, Receipt, Report, Verdict, file, verify};
use r1_runtime::control::receipt::{Child, check_children, gate_policy, read_file, rebuild};
use r1_runtime::keys;
use serde_json::json;

use crate::commands::key::ScopeArg;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::render::receipt as render;
use crate::target::Target;

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
  r1 receipt verify run.receipt.json --log run.cborseq    # is it of this very log?
  r1 receipt verify run.receipt.json --gates strict --json | jq .reason")]
pub(crate) struct Args {
    /// The receipt
    #[arg(value_name = "FILE")]
    receipt: PathBuf,
    /// Check with this public key: a keyring entry, a JWK or an SPKI PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    key: Vec<PathBuf>,
    /// Check with the keys of this directory [default: keyring in the home]
    #[arg(long, value_name = "DIR")]
    keyring: Option<PathBuf>,
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
    let mut bytes = read_file(&args.receipt)?;
    let respelled = args.lenient_format && respell(&mut bytes);
    let keys = keys_of(&args, context)?;
    let gates = args.gates.as_deref().map(|choice| gate_policy(Path::new("."), choice)).transpose()?;
    let log = match &args.log {
        Some(log) => Some(read_log(context, log).await?),
        None => None,
    };
    let options = options(&args, &keys, gates.as_ref(), log.as_ref());
    let mut report = verify(&bytes, &options);
    if respelled {
        report
            .warnings
            .push("the file was not in its canonical spelling; what was checked is that spelling of it".into());
    }
    let children = args.children.as_deref().map(|directory| check_children(&report, directory, &options));
    let children = children.unwrap_or_default();
    let verdict = overall(&report, &children);
    if args.json {
        print_json(&json_of(&report, verdict, &children))?;
    } else {
        // What a broken receipt tells is nobody's word.
        let believed = !matches!(report.verdict(), Verdict::Invalid(_));
        let receipt = believed.then(|| Receipt::read(&bytes).ok()).flatten();
        let text = render::text(&args.receipt, &report, receipt.as_ref(), verdict, &children);
        let mut out = output::stdout();
        std::io::Write::write_all(&mut out, text.as_bytes())?;
        std::io::Write::flush(&mut out)?;
    }
    Ok(exit(verdict))
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

fn keys_of(args: &Args, context: &Context) -> Result<Vec<KnownKey>, CliError> {
    if args.key.is_empty() {
        let directory = args.keyring.clone().unwrap_or_else(|| context.home.keyring());
        return Ok(keys::known_keys(&directory)?);
    }
    args.key.iter().map(|path| read_key(path)).collect()
}

fn read_key(path: &Path) -> Result<KnownKey, CliError> {
    let content = read_file(path)?;
    KnownKey::from_file(&content).map_err(|err| CliError::new(format!("{} is refused", path.display())).because(err))
}

async fn read_log(context: &Context, given: &str) -> Result<Builder, CliError> {
    let (log, store) = Target::open(context, given).await?.single()?;
    Ok(rebuild(log, store.as_ref()).await?)
}

fn options<'a>(
    args: &'a Args,
    keys: &'a [KnownKey],
    gates: Option<&'a GatePolicy>,
    log: Option<&'a Builder>,
) -> Options<'a> {
    Options {
        keys,
        scope: args.scope.map(Scope::from),
        subject: args.subject.as_deref(),
        integrity_only: args.integrity,
        gates,
        log,
    }
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
