use std::io::Write as _;

use r1_event::SideRecord;
use r1_event::id::to_hex;
use r1_runtime::control::checkpoint;
use r1_runtime::location::Purpose;
use r1_runtime::source::Progress;
use serde::Serialize;

use crate::commands::receipt::usual_key;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};
use crate::progress::Ticker;
use crate::render::text::count;
use crate::target::stored_run;
use crate::workshop::signing_key;

/// Sign a run as it is now
///
/// Checks the log, signs its size, root and last hash and keeps the signature in the store.
/// From then on a log that was truncated or rewritten no longer passes `r1 log validate`. Keep a copy
/// of what is printed elsewhere, and not even whoever has the store and the key can deny it. A finished
/// run gets its seal. The key is the one of --key, else `signing.kid` of the settings, else the newest agent key; if
/// there is none, one is made.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 signed, 1 the log is corrupt (nothing is signed), 2 usage or I/O.

Examples:
  r1 log checkpoint last
  r1 log checkpoint 01K0E8 --json >> checkpoints.ndjson")]
pub(crate) struct Args {
    /// A run id: any unique prefix, or `last`
    run: String,
    /// Sign with this key: how its id begins, or a private key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print the signature as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    record: String,
    run_id: String,
    size: u64,
    root: String,
    head: String,
    key_id: String,
    signature: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let (store, run) = stored_run(context, &args.run, Purpose::Change).await?;
    let wanted = match args.key {
        Some(wanted) => Some(wanted),
        None => usual_key(context, &store, &run).await?,
    };
    let key = signing_key(context, wanted.as_deref(), context.now())?;
    let record = {
        let progress = Progress::default();
        let _ticker = Ticker::start(&progress, "checked");
        checkpoint::checkpoint(&store, &run, &key, &context.keyring()?, progress).await?
    };
    store.close().await?;
    let name = record.name().to_owned();
    let (SideRecord::Seal(seal) | SideRecord::Checkpoint(seal)) = record else {
        return Err(CliError::new("the store kept something else than a signature"));
    };
    let report = Report {
        record: name,
        run_id: seal.statement.run_id.to_string(),
        size: seal.statement.size,
        root: seal.statement.root.to_string(),
        head: seal.statement.head.to_string(),
        key_id: seal.key_id.to_string(),
        signature: format!("ed25519:{}", to_hex(&seal.signature)),
    };
    if args.json {
        print_json(&report)?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    let Report { record, run_id, size, root, head, key_id, signature } = report;
    writeln!(out, "{BOLD}{run_id}{BOLD:#}  {record} over {}", count(size, "event"))?;
    for (name, value) in [("root", root), ("head", head), ("key", key_id), ("signature", signature)] {
        writeln!(out, "  {DIM}{name:<10}{DIM:#} {value}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
