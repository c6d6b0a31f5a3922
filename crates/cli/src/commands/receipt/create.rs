use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use r1_event::{RunId, UnixNanos};
use r1_receipt::Withhold;
use r1_receipt::key::{SecretKey, moment};
use r1_runtime::control::receipt::{self, Created, Export, Request, file_name};
use r1_runtime::location::Purpose;
use r1_runtime::source::Progress;
use r1_runtime::{Keyring, history};
use r1_store::SharedStore;
use serde_json::json;

use super::publish::publish;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};
use crate::output_file::{self, Replace, is_stdout};
use crate::progress::Ticker;
use crate::render::receipt as render;
use crate::settings;
use crate::target::stored_run;
use crate::workshop::{Workshop, current_directory, signing_key};

/// Sign what a run did
///
/// Checks the log, makes a graph of its thoughts, calls, memory, gates and artifacts, signs it, and checks the
/// result as anyone else would. The same log and the same key always give the same bytes. The key is the one
/// of --key, else `signing.kid` of the settings, else the newest agent key; if there is none, one is made.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 written, 1 the log is corrupt or would not verify (nothing is signed), 2 usage or I/O,
3 the run is open and --partial was not given.

Examples:
  r1 receipt create last
  r1 receipt create 01K0E8 -o run.receipt.json --key kid:kPrK
  r1 receipt create last --withhold thought,tool      # names and edges only
  r1 receipt create last --partial              # of a run that still goes on
  r1 receipt create last --export dsse,bundle   # for in-toto and Sigstore")]
pub(crate) struct Args {
    /// A run id: any unique prefix, or `last`
    run: String,
    /// Where to; `-` is standard output, and then nothing else is printed [default: <run_id>.receipt.json here]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sign with this key: how its id begins, or a private key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Sign what there is of a run that still goes on
    #[arg(long)]
    partial: bool,
    /// Keep back what these say
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    withhold: Vec<Kept>,
    /// Write these beside it, for tools of others
    #[arg(long, value_name = "FORMS", value_delimiter = ',')]
    export: Vec<ExportArg>,
    /// Replace a file with other content
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

/// What can be kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kept {
    Thought,
    Tool,
    Memory,
    Artifact,
}

/// What can be written beside a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ExportArg {
    /// An in-toto statement in a DSSE envelope: RUN.intoto.json
    Dsse,
    /// The run's log as a signed note: RUN.checkpoint, RUN.vkey
    Checkpoint,
    /// Its place in the log of this installation: RUN.receipt.tlog-proof
    Proof,
    /// A Sigstore bundle and its root of trust: RUN.sigstore.json, trusted_root.json
    Bundle,
}

impl From<ExportArg> for Export {
    fn from(export: ExportArg) -> Self {
        match export {
            ExportArg::Dsse => Self::Dsse,
            ExportArg::Checkpoint => Self::Checkpoint,
            ExportArg::Proof => Self::Proof,
            ExportArg::Bundle => Self::Bundle,
        }
    }
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (store, run) = stored_run(context, &args.run, Purpose::Read).await?;
    let kept = |kind| args.withhold.contains(&kind);
    let withhold = Withhold {
        thoughts: kept(Kept::Thought),
        tools: kept(Kept::Tool),
        memory: kept(Kept::Memory),
        artifacts: kept(Kept::Artifact),
    };
    let request = Request { run: run.clone(), partial: args.partial, withhold };
    let wanted = match args.key {
        Some(wanted) => Some(wanted),
        None => usual_key(context, &store, &run).await?,
    };
    // A key that is made for this receipt must count for its run, which may be long over.
    let ended = store.run(&run).await?.map_or(context.now(), |run| run.updated_at);
    let key = signing_key(context, wanted.as_deref(), ended)?;
    let created = sign(context, &store, &request, &key).await?;
    store.close().await?;
    let path = args.output.unwrap_or_else(|| file_name(run.as_str()).into());
    let to_stdout = is_stdout(&path);
    if !to_stdout {
        may_write(&path, &created.signed.bytes, args.force)?;
    }
    let exports: Vec<Export> = args.export.iter().copied().map(Export::from).collect();
    let files = publish(context, &created, &exports)?;
    let exported: Vec<PathBuf> = files.iter().map(|file| path.with_file_name(&file.name)).collect();
    // All of them or none: a file of somebody else may have the name of any, such as trusted_root.json.
    for (beside, file) in exported.iter().zip(&files) {
        may_write(beside, file.content.as_bytes(), args.force)?;
    }
    if !to_stdout {
        save(&path, &created.signed.bytes)?;
    }
    for (beside, file) in exported.iter().zip(&files) {
        save(beside, file.content.as_bytes())?;
    }
    if is_older_than_its_key(&context.keyring()?, &created) {
        output::note("the run ended before the key counts: checked with the keyring it will be key_not_yet_valid");
    }
    if to_stdout {
        let mut out = std::io::stdout().lock();
        out.write_all(&created.signed.bytes)?;
        out.flush()?;
        return Ok(Exit::Ok);
    }
    if args.json {
        print_json(&json!({
            "file": path.display().to_string(),
            "run_id": run.as_str(),
            "digest": created.signed.digest.to_string(),
            "key_id": created.signed.key_id.to_string(),
            "events": created.report.events,
            "types": created.report.types,
            "stubs": created.report.stubs,
            "exports": exported.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}", path.display())?;
    for (name, value) in [
        ("digest", created.signed.digest.to_string()),
        ("key", created.signed.key_id.to_string()),
        ("events", render::counts(created.report.events, &created.report.types)),
    ] {
        writeln!(out, "  {DIM}{name:<8}{DIM:#} {value}")?;
    }
    for path in exported {
        writeln!(out, "{BOLD}{}{BOLD:#}", path.display())?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

async fn sign(context: &Context, store: &SharedStore, request: &Request, key: &SecretKey) -> Result<Created, CliError> {
    let progress = Progress::default();
    let _ticker = Ticker::start(&progress, "checked");
    Ok(receipt::create(store, request, key, &context.keyring()?, progress).await?)
}

/// The key that signs for a run, by the settings of its workspace; if that is not on this machine, by those here.
pub(in crate::commands) async fn usual_key(
    context: &Context,
    store: &SharedStore,
    run: &RunId,
) -> Result<Option<String>, CliError> {
    let workspace = history::workspace(store, run).await?.filter(|path| path.is_absolute() && path.is_dir());
    let workspace = workspace.unwrap_or_else(current_directory);
    Ok(settings::load(context, &workspace, Vec::new())?.signing.kid)
}

/// A key cannot vouch for what was before it, by the dates that the keyring gives it.
fn is_older_than_its_key(keyring: &Keyring, created: &Created) -> bool {
    let ended = created.report.run.as_ref().map(|run| moment(UnixNanos(run.at)));
    let entry = keyring.entries.iter().find(|entry| *entry.kid() == created.signed.key_id);
    entry.zip(ended).is_some_and(|(entry, ended)| ended < entry.not_before)
}

/// Makes the receipt of a run that has just ended, with the key that sealed its log, and keeps it in the home;
/// gives its path and its digest.
pub(in crate::commands) async fn keep(
    context: &Context,
    workshop: &Workshop,
    run: &RunId,
) -> Result<(PathBuf, String), CliError> {
    let request = Request::whole(run.clone());
    let created = sign(context, workshop.engine.store(), &request, &workshop.key).await?;
    let directory = context.home.receipts();
    let failed = |err| CliError::new(format!("cannot create {}", directory.display())).because(err);
    fs::create_dir_all(&directory).map_err(failed)?;
    let path = directory.join(file_name(run.as_str()));
    // A run that was reopened and ended again has another receipt, and this place is ours.
    save(&path, &created.signed.bytes)?;
    publish(context, &created, &[])?;
    Ok((path, created.signed.digest.to_string()))
}

/// Whether a file may be written: one with other content stays unless `force` says otherwise.
fn may_write(path: &Path, bytes: &[u8], force: bool) -> Result<(), CliError> {
    match content(path) {
        Some(there) if there != bytes && !force => {
            let message = format!("{} is there already, with other content", path.display());
            Err(CliError::new(message).hint("name another file with -o, or replace it with --force"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Writes a file whole or not at all; one that says the same is left alone.
fn save(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if content(path).is_some_and(|there| there == bytes) {
        return Ok(());
    }
    output_file::write_bytes(path, Replace::Allow, bytes)
}

/// What a file says, if there is one. Devices are not read: that may never end.
fn content(path: &Path) -> Option<Vec<u8>> {
    path.is_file().then(|| fs::read(path).ok()).flatten()
}
