use r1_runtime::control::memory;
use serde_json::json;

use super::whose::{InTier, Whose};
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::workshop::Workshop;

/// Take something out of memory
///
/// It is forgotten, not erased: the logs still tell what was known and when. What must be gone from there too is a
/// matter for `r1 redact`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 memory rm name --tier L0
  r1 memory rm \"how to test\" --tier L3
  r1 memory rm plan --tier L1 --run last")]
pub(crate) struct Args {
    /// The key; of L3 with all its aliases, or an alias alone
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    tier: InTier,
    #[command(flatten)]
    whose: Whose,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let tier = args.tier.tier;
    let workshop = Workshop::here(context).await?;
    let owner = args.whose.owner(workshop.engine.store(), tier).await?;
    let wrote = memory::remove(&workshop.engine, &owner, tier, &args.key, &ask::caller()).await?;
    workshop.close().await?;
    if args.json {
        let (run_id, seq) = (&wrote.effect.run_id, wrote.effect.seq);
        print_json(&json!({
            "tier": tier.word(), "store": tier.store(), "key": wrote.key, "run_id": run_id, "seq": seq,
        }))?;
    } else {
        output::note(&format!("{tier} `{}` is forgotten, as run {} tells", wrote.key, wrote.effect.run_id));
    }
    Ok(Exit::Ok)
}
