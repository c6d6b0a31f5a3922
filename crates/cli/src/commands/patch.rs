//! `r1 patch`: what an agent changed in files, and having it otherwise.

mod act;
mod conflict;
mod list;
mod show;

use clap::Subcommand;
use r1_event::RunId;
use r1_runtime::artifact::view::{ArtifactIndex, ArtifactView};
use r1_runtime::control::patches::{self, Standing};
use r1_runtime::resolve;
use r1_store::SharedStore;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Show what a run changed in files; apply, reject or undo it
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Apply(act::Apply),
    Reject(act::Reject),
    Revert(act::Revert),
}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::List(args) => list::run(args, context).await,
        Command::Show(args) => show::run(args, context).await,
        Command::Apply(args) => act::run(args.into(), context).await,
        Command::Reject(args) => act::run(args.into(), context).await,
        Command::Revert(args) => act::run(args.into(), context).await,
    }
}

/// The run that was typed, and its artifacts as they stand.
async fn artifacts(store: &SharedStore, given: &str) -> Result<(RunId, ArtifactIndex), CliError> {
    let run = patches::subject(store, &resolve(store, given).await?).await?;
    let index = patches::artifacts(store, &run).await?;
    Ok((run, index))
}

/// A run's patches, the oldest first.
fn patches_of(index: &ArtifactIndex) -> impl Iterator<Item = (&ArtifactView, Standing)> {
    index.iter().filter_map(|artifact| Some((artifact, patches::standing(artifact)?)))
}

/// The patch whose id begins as typed.
fn find<'a>(index: &'a ArtifactIndex, run: &RunId, given: &str) -> Result<(&'a ArtifactView, Standing), CliError> {
    let fits = |id: &str| id.starts_with(given) || id.strip_prefix("art_").is_some_and(|id| id.starts_with(given));
    let mut fitting: Vec<_> = patches_of(index).filter(|(patch, _)| fits(&patch.id)).collect();
    match (fitting.pop(), fitting.is_empty()) {
        (Some(found), true) => Ok(found),
        (found, _) => {
            let many = if found.is_none() { "no patch matches" } else { "several patches match" };
            Err(CliError::new(format!("{many} `{given}`")).hint(format!("list them with `r1 patch list {run}`")))
        }
    }
}

fn as_json(patch: &ArtifactView, standing: Standing) -> Value {
    let facts = patch.patch.as_ref();
    json!({
        "artifact_id": patch.id,
        "state": standing.to_string(),
        "path": patch.path,
        "summary": patch.summary,
        "base_revision": facts.and_then(|facts| facts.base.as_ref()).map(|file| file.revision.to_string()),
        "result_revision": patch.result_revision.map(|revision| revision.to_string()),
        "batch_id": facts.and_then(|facts| facts.batch_id.as_ref()),
        "reverts_artifact_id": facts.and_then(|facts| facts.reverts_artifact_id.as_ref()),
        "tool_call_id": patch.tool_call_id,
        "contains_secrets": patch.contains_secrets,
        "applied_at": patch.applied_at,
        "rejected_at": patch.rejected_at,
        "reverted_at": patch.reverted_at,
    })
}
