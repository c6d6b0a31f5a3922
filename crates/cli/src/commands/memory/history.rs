use std::io::Write as _;

use r1_runtime::control::memory;
use r1_runtime::index::Written;
use r1_runtime::location::Purpose;
use serde_json::json;

use super::whose::{InTier, Whose};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BOLD, DIM, print_json};
use crate::render::text::visible;
use crate::render::time::date_time;

/// List every write of a key, oldest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 memory history name --tier L0
  r1 memory history plan --tier L1 --run last --json | \\
      jq -r '.versions[].fingerprint'")]
pub(crate) struct Args {
    /// The key; of L3 also an alias
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    tier: InTier,
    #[command(flatten)]
    whose: Whose,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let tier = args.tier.tier;
    let store = context.open_store(Purpose::Change).await?;
    let owner = args.whose.owner(&store, tier).await?;
    let versions = memory::history(&store, &owner, tier, &args.key).await?;
    store.close().await?;
    if args.json {
        let version = |version: &Written| {
            json!({
                "at_ns": version.at.to_string(), "run_id": version.run, "seq": version.seq, "by": version.by,
                "op": version.op, "fingerprint": version.fingerprint, "diff_hash": version.diff_hash,
            })
        };
        let versions: Vec<_> = versions.iter().map(version).collect();
        print_json(&json!({ "tier": tier.word(), "store": tier.store(), "key": args.key, "versions": versions }))?;
        return Ok(Exit::Ok);
    }
    let mut out = output::stdout();
    for Written { at, run, seq, by, op, fingerprint, .. } in &versions {
        let what = fingerprint.as_deref().map_or("", |fingerprint| &fingerprint[..fingerprint.len().min(12)]);
        let (run, time) = (visible(run), date_time(*at));
        writeln!(out, "{time}  {BOLD}{op:<6}{BOLD:#}  {what:<12}  {by:<8}  {DIM}{run} {seq}{DIM:#}")?;
    }
    out.flush()?;
    if versions.is_empty() {
        output::note(&format!("{tier} has never had `{}`", args.key));
    }
    Ok(Exit::Ok)
}
