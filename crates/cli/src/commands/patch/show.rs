use std::io::Write as _;

use r1_runtime::artifact;
use r1_runtime::location::Purpose;

use super::{artifacts, as_json, find};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow;
use crate::output::{self, BOLD, DIM, print_json};
use crate::render::live::diff_lines;
use crate::render::text::visible;

/// Show a patch as a diff
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 patch show last art_01K0E8
  r1 patch show last art_01K0E8 --json | jq -r .diff > change.diff")]
pub(crate) struct Args {
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

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Read).await?;
    let (run, index) = artifacts(&store, &args.run).await?;
    let (patch, standing) = find(&index, &run, &args.artifact)?;
    let digest =
        patch.digest.ok_or_else(|| CliError::new(format!("the log does not name the body of `{}`", patch.id)))?;
    let body = artifact::read(&store, digest).await?;
    let diff = String::from_utf8_lossy(&body);
    if args.json {
        let mut value = as_json(patch, standing);
        value["run_id"] = run.as_str().into();
        value["diff"] = diff.into();
        print_json(&value)?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}  {standing}  {DIM}{}{DIM:#}", visible(&patch.id), visible(&patch.summary))?;
    for line in diff_lines(&diff, follow::look(false, false)) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
