use std::io::Write as _;

use anstyle::Style;
use r1_runtime::control::memory;
use r1_runtime::location::Purpose;
use r1_runtime::memory::Tier;
use serde_json::json;

use super::whose::Whose;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};
use crate::render::table::{Align, Cell, Table};
use crate::render::text::visible;

/// List what is remembered: keys and sizes, not values
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 memory list
  r1 memory list --tier L3 --prefix sha256:ab
  r1 memory list --run last
  r1 memory list --json | jq -r '.entries[].key'")]
pub(crate) struct Args {
    /// Only this tier [default: L0 and L3, of a run L1 and L2]
    #[arg(long, short = 't', value_name = "TIER")]
    tier: Option<Tier>,
    /// Only keys that begin so
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    #[command(flatten)]
    whose: Whose,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Change).await?;
    let tiers = match args.tier {
        Some(tier) => vec![tier],
        None => Tier::ALL.into_iter().filter(|tier| tier.outlives_tasks() != args.whose.is_of_a_run()).collect(),
    };
    let mut found = Vec::new();
    for tier in tiers {
        let owner = args.whose.owner(&store, tier).await?;
        let listed = memory::list(&store, &owner, tier, &args.prefix).await?;
        found.extend(listed.into_iter().map(|listed| (tier, listed)));
    }
    store.close().await?;
    if args.json {
        let entry = |(tier, listed): &(Tier, r1_runtime::memory::Listed)| {
            json!({
                "tier": tier.word(), "store": tier.store(), "key": listed.key,
                "fingerprint": listed.fingerprint, "size": listed.size, "alias_of": listed.target,
            })
        };
        print_json(&json!({ "entries": found.iter().map(entry).collect::<Vec<_>>() }))?;
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        output::note("nothing is remembered here yet; see `r1 memory set --help`");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([("tier", Align::Left), ("bytes", Align::Right), ("key", Align::Left)]);
    for (tier, listed) in &found {
        let key = visible(&listed.key);
        let (size, key) = match &listed.target {
            Some(target) => (String::new(), format!("{key} → {}", visible(target))),
            None => (listed.size.to_string(), key),
        };
        table.push([Cell::new(DIM, tier.to_string()), Cell::new(Style::new(), size), Cell::new(BOLD, key)]);
    }
    let mut out = output::stdout();
    // Keys are there to be used: none is cut.
    for line in table.lines(None) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
