use std::io::Write as _;

use r1_runtime::keys::manage;
use serde_json::{Value as Json, json};

use super::to_json;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, DIM, NAME, print_json};
use crate::render::text::visible;

/// List the keys whose word counts here
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key list
  r1 key list --json | jq -r '.keys[].kid'")]
pub(crate) struct Args {
    /// Print the keys as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let keyring = context.keyring()?;
    if args.json {
        let keys: Vec<Json> = keyring.entries.iter().map(|entry| to_json(context, entry)).collect();
        print_json(&json!({ "keys": keys }))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    for entry in &keyring.entries {
        let half = if manage::has_secret(&context.home, entry) { "signs here" } else { "public only" };
        let until = entry.not_after.map(|end| format!(" until {end}")).unwrap_or_default();
        writeln!(
            out,
            "{NAME}{}{NAME:#}  {:<7} {:<6} {}  {DIM}from {}{until}, {half}{DIM:#}",
            entry.kid(),
            entry.usage.word(),
            entry.scope.word(),
            visible(&entry.subject),
            entry.not_before,
        )?;
        if let Some(revocation) = entry.revocation {
            writeln!(out, "  {BAD}{revocation}{BAD:#}")?;
        }
    }
    for refused in &keyring.refused {
        output::note(&format!("{refused}; see `r1 doctor`"));
    }
    if keyring.entries.is_empty() {
        output::note("there are no keys yet; `r1 key new` makes one");
    }
    out.flush()?;
    Ok(Exit::Ok)
}
