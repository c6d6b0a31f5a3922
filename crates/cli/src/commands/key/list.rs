use std::io::Write as _;

use anstyle::Style;
use r1_receipt::key::Entry;
use r1_runtime::keys::manage;
use serde_json::{Value as Json, json};

use super::to_json;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, DIM, NAME, print_json};
use crate::render::table::{Align, Cell, Table};
use crate::render::terminal;
use crate::render::text::visible;
use crate::render::time::date_time_at;

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
    let mut table =
        Table::new([("key", Align::Left), ("use", Align::Left), ("scope", Align::Left), ("subject", Align::Left)]);
    for entry in &keyring.entries {
        table.push([
            Cell::new(NAME, entry.kid().to_string()),
            Cell::new(Style::new(), entry.usage.word()),
            Cell::new(Style::new(), entry.scope.word()),
            Cell::new(Style::new(), visible(&entry.subject)),
        ]);
    }
    let mut out = output::stdout();
    let mut lines = table.lines(terminal::width()).into_iter();
    if let Some(head) = lines.next().filter(|_| !table.is_empty()) {
        writeln!(out, "{head}")?;
    }
    for (entry, line) in keyring.entries.iter().zip(lines) {
        writeln!(out, "{line}\n  {DIM}{}{DIM:#}", validity(context, entry))?;
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

/// Whether it can sign here, and when its word counts.
fn validity(context: &Context, entry: &Entry) -> String {
    let half = if manage::has_secret(&context.home, entry) { "signs here" } else { "public only" };
    let until = entry.not_after.map(|end| format!(" until {}", date_time_at(end))).unwrap_or_default();
    format!("{half}, from {}{until}", date_time_at(entry.not_before))
}
