use std::io::Write as _;
use std::path::PathBuf;

use r1_receipt::file::{self, Parts};
use r1_receipt::{Options, Receipt, verify};
use r1_runtime::control::receipt::read_file;
use r1_runtime::keys;
use serde_json::{Value as Json, json};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::render::receipt as render;
use crate::render::terminal;

/// See what a receipt says
///
/// Prints the verdict with your own keyring, then every node in the order of the log: what was thought, called,
/// read, written, decided and made, and by whom it was allowed or refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes: 0 it could be read, whatever the verdict; 2 it could not.

Examples:
  r1 receipt show run.receipt.json
  r1 receipt show run.receipt.json --event sha256:706c34
  r1 receipt show run.receipt.json --dot | dot -Tsvg > run.svg")]
pub(crate) struct Args {
    /// The receipt
    #[arg(value_name = "FILE")]
    receipt: PathBuf,
    /// Only this node: how its id begins
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Print the nodes as JSON
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Print the graph for Graphviz
    #[arg(long)]
    dot: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let bytes = read_file(&args.receipt)?;
    let known = keys::known_keys(&context.home.keyring())?;
    known.complaints().for_each(|complaint| output::note(&complaint));
    let report = verify(&bytes, &Options { keys: &known.keys, ..Options::default() });
    // The verdict is about the file as it is; what it says can be read in any spelling.
    let unreadable = |reason| CliError::new(format!("{} is no receipt: {reason}", args.receipt.display()));
    let canonical = file::canonicalise(&bytes).map_err(unreadable)?;
    let receipt = Receipt::read(&canonical).map_err(unreadable)?;
    let mut nodes: Vec<&Parts<'_>> = receipt.events.iter().filter_map(|event| event.parts.as_ref()).collect();
    nodes.sort_by_key(|parts| parts.body().int("seq").unwrap_or(0));
    if let Some(start) = &args.event {
        let digits = start.trim_start_matches("sha256:").trim_start_matches("node-sha256-");
        nodes.retain(|parts| parts.id.digest().to_string().starts_with(digits));
        if nodes.is_empty() {
            return Err(CliError::new(format!("no node of it begins with `{start}`")));
        }
    }
    if args.json {
        let told: Vec<Json> = nodes.iter().map(|parts| node_json(parts)).collect();
        print_json(&json!({ "verdict": report.verdict().to_string(), "events": told }))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    if args.dot {
        write!(out, "{}", render::dot(&nodes))?;
    } else {
        writeln!(out, "{}", render::verdict_line(report.verdict()))?;
        if args.event.is_none() {
            render::story(&receipt, terminal::width()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            writeln!(out)?;
        }
        for parts in nodes {
            writeln!(out, "{}", render::node(parts, args.event.is_some()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn node_json(parts: &Parts<'_>) -> Json {
    json!({
        "id": parts.id.to_string(),
        "type": parts.type_name,
        "preds": parts.preds.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "body": serde_json::from_str::<Json>(parts.body).unwrap_or_default(),
    })
}
