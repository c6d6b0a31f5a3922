use std::io::Write as _;

use anstyle::Style;
use r1_runtime::artifact::view::ArtifactView;
use r1_runtime::control::patches::Standing;
use r1_runtime::location::Purpose;
use serde_json::json;

use super::{artifacts, as_json, patches_of};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTICE, print_json};
use crate::render::text::visible;

/// List the patches of a run, oldest first
///
/// With what was done to them since the run ended.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 patch list last
  r1 patch list last --json | \\
      jq -r '.patches[] | select(.state == \"applied\") | .path'")]
pub(crate) struct Args {
    /// Which run
    #[arg(value_name = "RUN")]
    run: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Read).await?;
    let (run, index) = artifacts(&store, &args.run).await?;
    if args.json {
        let patches: Vec<_> = patches_of(&index).map(|(patch, standing)| as_json(patch, standing)).collect();
        print_json(&json!({ "run_id": run.as_str(), "patches": patches }))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    let mut some = false;
    for (patch, standing) in patches_of(&index) {
        writeln!(out, "{}", line(patch, standing))?;
        some = true;
    }
    out.flush()?;
    if !some {
        output::note(&format!("run {run} has no patches"));
    }
    Ok(Exit::Ok)
}

fn line(patch: &ArtifactView, standing: Standing) -> String {
    let undoes = patch.patch.as_ref().and_then(|facts| facts.reverts_artifact_id.as_deref());
    let undoes = undoes.map(|id| format!("  {DIM}undoes {}{DIM:#}", visible(id))).unwrap_or_default();
    let (id, style, word) = (visible(&patch.id), style(standing), standing.to_string());
    format!("{BOLD}{id:<30}{BOLD:#}  {style}{word:<8}{style:#}  {}{undoes}", visible(&patch.summary))
}

fn style(standing: Standing) -> Style {
    match standing {
        Standing::Proposed => NOTICE,
        Standing::Applied => GOOD,
        Standing::Reverted => DIM,
        Standing::Rejected => BAD,
    }
}
