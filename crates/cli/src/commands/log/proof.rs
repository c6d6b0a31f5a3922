use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use r1_event::Seq;
use r1_receipt::export::tlog_proof;
use r1_runtime::control::proof::{self, KeyStanding, ProveError, Question, Verification};
use r1_runtime::source::Log;
use serde::Serialize;

use crate::args::parse_seq;
use crate::commands::receipt::log_key;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTICE, print_json};
use crate::output_file::Output;
use crate::render::text::one_line;
use crate::target::Target;
use crate::trust::Trust;

/// Prove that an event is in a log, or that a log extends an earlier state; check such a proof
///
/// A proof is a small JSON file that anyone checks offline with `--verify`. It carries the event, the
/// hashes from it to the root, and, if the run is sealed or has a checkpoint at that size, the
/// signature over the root. Without one, compare the root with one that you trust, or give a log to
/// compare with (`--log`).
///
/// With `--format tlog-proof` the proof is one that stock tools of RFC 6962 check: the event's header, the way
/// to the root with SHA-256, and a checkpoint signed with the newest log key (`r1 key new --use log`).
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("question").required(true).args(["seq", "from_size", "verify"]),
    after_long_help = "\
Exit codes: 0 made or holds, 1 does not hold or its key does not count, 2 usage or I/O.

Examples:
  r1 log proof last --seq 7 -o event-7.json
  r1 log proof last --from-size 100 -o grown.json
  r1 log proof last --seq 7 --format tlog-proof -o event-7.tlog-proof
  r1 log proof --verify event-7.json
  r1 log proof --verify event-7.json --key alice.pem
  r1 log proof --verify event-7.json --log run.cborseq"
)]
pub(crate) struct Args {
    /// A run id (any unique prefix, or `last`) or a file
    #[arg(value_name = "RUN|FILE", required_unless_present = "verify", conflicts_with = "verify")]
    target: Option<String>,
    /// Prove that this event is in the log
    #[arg(long, value_name = "SEQ", value_parser = parse_seq)]
    seq: Option<Seq>,
    /// Prove that the log extends its own first events
    #[arg(long, value_name = "SIZE")]
    from_size: Option<u64>,
    /// Over so many events, instead of all there are
    #[arg(long, value_name = "SIZE")]
    size: Option<u64>,
    /// In which form
    #[arg(long, value_name = "FORM", default_value = "json")]
    format: Form,
    /// Only this run of a file that has several
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    trust: Trust,
    /// Check this proof
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "format", "output", "force"])]
    verify: Option<PathBuf>,
    /// Compare the proof's root with this log, a run or a file
    #[arg(long, value_name = "RUN|FILE", requires = "verify")]
    log: Option<String>,
    /// Print what a proof shows as JSON
    #[arg(long, requires = "verify")]
    json: bool,
}

/// Forms of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// R1's own, with the event
    Json,
    /// C2SP's, for tools of others
    TlogProof,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    match (&args.verify, &args.target) {
        (Some(file), _) => verify(file, &args, context).await,
        (None, Some(target)) => prove(target, &args, context).await,
        (None, None) => Err(CliError::new("no run is named")),
    }
}

async fn prove(target: &str, args: &Args, context: &Context) -> Result<Exit, CliError> {
    let question = match (args.seq, args.from_size) {
        (Some(seq), _) => Question::Inclusion(seq),
        (None, older) => Question::Consistency { older: older.unwrap_or(0) },
    };
    let (log, _store) = Target::open(context, target).await?.only(args.run.as_deref())?.single()?;
    if args.format == Form::TlogProof {
        let Question::Inclusion(seq) = question else {
            return Err(CliError::new("a tlog-proof is about one event").hint("say which with `--seq`"));
        };
        return prove_for_stock_tools(log, seq, args, context).await;
    }
    let file = proof::prove(log, question, args.size, &args.trust.keyring(context)?).await?;
    let unsigned = file.signature.is_none();
    args.output.write_bytes(file.to_json().as_bytes())?;
    if unsigned {
        output::note(
            "nobody has signed this root yet: `r1 log checkpoint RUN` does, and a proof made then carries the signature",
        );
    }
    Ok(Exit::Ok)
}

async fn prove_for_stock_tools(log: Log, seq: Seq, args: &Args, context: &Context) -> Result<Exit, CliError> {
    let made = proof::prove_for_stock_tools(log, seq, args.size).await?;
    let log_key = log_key(context)?;
    let key = log_key.note_key_of(&made.run_id)?;
    let checkpoint = key.checkpoint(made.inclusion.size, made.inclusion.root);
    let text = tlog_proof(&made.leaf, &made.inclusion, &checkpoint);
    proof::verify(text.as_bytes(), &context.keyring()?).map_err(ProveError::Unsound)?;
    args.output.write_bytes(text.as_bytes())?;
    output::note(&format!("its checkpoint is signed for {}", key.vkey()));
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    #[serde(flatten)]
    verification: Verification,
    /// Whether the root is that of the log given with `--log`.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_agrees: Option<bool>,
}

async fn verify(file: &Path, args: &Args, context: &Context) -> Result<Exit, CliError> {
    let json = fs::read(file).map_err(|err| CliError::new(format!("cannot read {}", file.display())).because(err))?;
    let verification = proof::verify(&json, &args.trust.keyring(context)?)?;
    let log_agrees = match &args.log {
        None => None,
        Some(target) => {
            let target = Target::open(context, target).await?.only(args.run.as_deref())?;
            let (log, _store) = target.only(Some(&verification.run_id))?.single()?;
            let root = tokio::task::block_in_place(|| proof::root_at(&log, verification.size, verification.tree))?;
            Some(root.is_some_and(|root| root.to_string() == verification.root))
        }
    };
    // Where the log itself has the root, nobody needs to vouch for it.
    let ok = log_agrees.unwrap_or(!verification.key_standing.is_bad());
    let report = Report { ok, verification, log_agrees };
    if args.json {
        print_json(&report)?
    } else {
        print(&report)?
    }
    Ok(if ok { Exit::Ok } else { Exit::Failed })
}

fn print(report: &Report) -> Result<(), CliError> {
    let Report { ok, verification, log_agrees } = report;
    let mut out = output::stdout();
    if *ok {
        writeln!(out, "{GOOD}proof holds{GOOD:#}  {}", verification.statement)?;
    } else if *log_agrees == Some(false) {
        writeln!(out, "{BAD}log differs{BAD:#}  the proof is sound in itself, but the log has another root")?;
    } else {
        writeln!(out, "{BAD}not trusted{BAD:#}  the proof is sound in itself, but the word of its key does not count")?;
    }
    writeln!(out, "  {DIM}run{DIM:#}    {BOLD}{}{BOLD:#}", verification.run_id)?;
    writeln!(out, "  {DIM}root{DIM:#}   {}", verification.root)?;
    if let Some(data) = &verification.data {
        writeln!(out, "  {DIM}event{DIM:#}  {}", one_line(&data.to_string(), 160))?;
    }
    writeln!(out, "  {DIM}trust{DIM:#}  {}", trust(verification, *log_agrees))?;
    Ok(out.flush()?)
}

fn trust(verification: &Verification, log_agrees: Option<bool>) -> String {
    let Some(key) = &verification.signed_by else {
        return match log_agrees {
            Some(true) => "the root is that of the log".into(),
            Some(false) | None => {
                format!("{NOTICE}nobody vouches for the root: compare it with one you trust{NOTICE:#}")
            }
        };
    };
    let what = match verification.key_standing {
        KeyStanding::Counts => return format!("the root is signed by {key}, which is in your keyring"),
        KeyStanding::Unsigned | KeyStanding::Unknown => "is not in your keyring",
        KeyStanding::WrongUse => "your keyring has for something else than runs",
        KeyStanding::Expired => "had expired when the last event under it happened",
        KeyStanding::Revoked => "your keyring calls revoked",
    };
    format!("{NOTICE}the root is signed by {key}, which {what}{NOTICE:#}")
}
