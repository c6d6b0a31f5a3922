//! `r1 send`: a word to an agent at work.

use r1_protocol::api::MessageRequest;
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::command;
use serde_json::Value;

use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow;
use crate::output;
use crate::remote::At;
use crate::workshop::Workshop;

/// Tell a run something, whichever process works on it
///
/// The model hears it before its next turn.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 send last \"use the existing helper instead\"")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// What
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    at: At,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if let Some(remote) = args.at.open(context)? {
        let run = remote.run(&args.run).await?.id;
        let message = MessageRequest { text: args.text, client_message_id: None, artifact_ids: Vec::new() };
        let _: Value = remote.post(&format!("runs/{run}/messages"), &message).await?;
        output::note(&format!("sent to run {run}"));
        return Ok(Exit::Ok);
    }
    let workshop = Workshop::here(context).await?;
    let run = workshop.run(&args.run).await?;
    let message = Command::Message { text: args.text, client_message_id: None, artifact_ids: Vec::new() };
    command(&workshop.engine, &run, message, &ask::caller()).await?;
    let is_held = follow::is_held(workshop.engine.store(), &run).await?;
    workshop.close().await?;
    output::note(&if is_held {
        format!("sent to run {run}")
    } else {
        format!("kept for run {run}, which nobody works on: go on with `r1 resume {run}`")
    });
    Ok(Exit::Ok)
}
