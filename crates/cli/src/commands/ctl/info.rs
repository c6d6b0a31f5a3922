//! `r1 ctl info`: how the server does.

use std::io::Write as _;

use r1_protocol::api::{Daemon as DaemonInfo, NodeHealth};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::Context;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD};

/// Say how the server does: store, queue, workers, sandbox
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl info
  r1 ctl info --json | jq .health.queue_depth")]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let daemon = Daemon::find(&context.home).await?;
    let process = daemon.ask(Method::GET, "/v1/daemon").await?;
    let health = daemon.ask(Method::GET, "/hecate/v1/health").await?;
    if args.json {
        output::print_json(&json!({ "daemon": process, "health": health }))?;
        return Ok(Exit::Ok);
    }
    let (process, health): (DaemonInfo, NodeHealth) = (read(process)?, read(health)?);
    let mut out = output::stdout();
    let place = daemon.at.url().or(daemon.at.sock_path).unwrap_or_default();
    writeln!(out, "{BOLD}{place}{BOLD:#}  {}", health.status)?;
    let mut row = |name: &str, value: String| writeln!(out, "  {name:<9} {value}");
    row("process", format!("{} ({}), version {}", process.pid, process.instance_id, process.version))?;
    row("since", process.started_at)?;
    row("store", format!("{}, {} runs", process.store, health.store.runs))?;
    row("queue", format!("{} waiting", health.queue_depth))?;
    row("workers", format!("{} of {} busy", health.workers.busy, health.workers.slots))?;
    row("sandbox", health.sandbox_layer)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, CliError> {
    serde_json::from_value(value).map_err(|err| {
        CliError::new("the server speaks another version").because(err).hint("restart it with this r1: `r1 serve`")
    })
}
