//! `r1 patch apply`, `reject` and `revert`.

use std::io::Write as _;

use r1_event::RunId;
use r1_protocol::data::By;
use r1_runtime::control::patches::{self, ActError, Moved, PatchError, Request, Verb};
use r1_runtime::patch::ApplyError;
use serde_json::json;

use super::{artifacts, conflict, find};
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GOOD, print_json};
use crate::render::text::visible;
use crate::workshop::Workshop;

/// The reason where none is given.
const REQUESTED: &str = "requested";

/// Make the change that a patch proposes
///
/// All patches of one call move together, or none does. A file that is not what the patch starts from is
/// left alone. The log of a finished run is not touched: a run of its own tells who did it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 patch apply last art_01K0E8
  r1 patch apply last art_01K0E8 --allow-offset   # the file has changed")]
pub(crate) struct Apply {
    #[command(flatten)]
    which: Which,
    /// Patch a changed file too, if every hunk fits in exactly one place
    #[arg(long)]
    allow_offset: bool,
}

/// Decide that a proposed patch will not be applied
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 patch reject last art_01K0E8 --reason \"solved otherwise\"")]
pub(crate) struct Reject {
    #[command(flatten)]
    which: Which,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = REQUESTED)]
    reason: String,
}

/// Undo a patch that was applied
///
/// What undoes it is a patch too: reverting that does it again. All patches of one call move together, or
/// none does. A file that has changed since is left alone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 patch revert last art_01K0E8
  r1 patch revert last art_01K0E8 --reason \"it breaks\" --allow-offset")]
pub(crate) struct Revert {
    #[command(flatten)]
    which: Which,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = REQUESTED)]
    reason: String,
    /// Patch a changed file too, if every hunk fits in exactly one place
    #[arg(long)]
    allow_offset: bool,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Which patch: any unique beginning of its id
    #[arg(value_name = "ARTIFACT")]
    artifact: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is asked for.
pub(super) struct Order {
    which: Which,
    verb: Verb,
    reason: String,
    allow_offset: bool,
}

impl From<Apply> for Order {
    fn from(Apply { which, allow_offset }: Apply) -> Self {
        Self { which, verb: Verb::Apply, reason: REQUESTED.into(), allow_offset }
    }
}

impl From<Reject> for Order {
    fn from(Reject { which, reason }: Reject) -> Self {
        Self { which, verb: Verb::Reject, reason, allow_offset: false }
    }
}

impl From<Revert> for Order {
    fn from(Revert { which, reason, allow_offset }: Revert) -> Self {
        Self { which, verb: Verb::Revert, reason, allow_offset }
    }
}

pub(super) async fn run(order: Order, context: &Context) -> Result<Exit, CliError> {
    let Order { which, verb, reason, allow_offset } = order;
    let workshop = Workshop::here(context).await?;
    let (run, index) = artifacts(workshop.engine.store(), &which.run).await?;
    let (patch, _) = find(&index, &run, &which.artifact)?;
    let request = Request { by: By::Operator, reason, allow_offset, now: context.now() };
    let moved = patches::act(&workshop.engine, &run, verb, &patch.id, &request, &ask::caller()).await;
    workshop.close().await?;
    let moved = match moved {
        Err(ActError::Patch(PatchError::Apply(ApplyError::Conflict(found)))) => {
            if which.json {
                print_json(&json!({ "run_id": run.as_str(), "conflict": conflict::as_json(&found) }))?;
                return Ok(Exit::Failed);
            }
            return Err(conflict::error(&found, allow_offset));
        }
        moved => moved?,
    };
    if which.json {
        print_json(&json!({
            "run_id": run.as_str(),
            "state": word(verb),
            "artifact_ids": moved.artifact_ids,
            "inverse_artifact_ids": moved.inverse_ids,
            "recorded_in": moved.effect.as_ref().map(|effect| &effect.run_id),
        }))?;
        return Ok(Exit::Ok);
    }
    let summary = |id: &String| index.get(id).map_or_else(|| id.clone(), |patch| patch.summary.clone());
    let mut out = output::stdout();
    for id in &moved.artifact_ids {
        writeln!(out, "{GOOD}{}{GOOD:#}  {}", word(verb), visible(&summary(id)))?;
    }
    out.flush()?;
    tell(&run, verb, &moved);
    Ok(Exit::Ok)
}

fn tell(run: &RunId, verb: Verb, moved: &Moved) {
    match moved.effect.as_ref().map(|effect| effect.run_id.as_str()) {
        None => output::note(&format!("it was {} before; nothing was done", word(verb))),
        Some(recorded_in) if recorded_in != run.as_str() => output::note(&format!("{recorded_in} says who and why")),
        Some(_) => {}
    }
    if let Some(inverse) = moved.inverse_ids.first() {
        output::note(&format!("do it again with `r1 patch revert {run} {inverse}`"));
    }
}

const fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Apply => "applied",
        Verb::Reject => "rejected",
        Verb::Revert => "reverted",
    }
}
