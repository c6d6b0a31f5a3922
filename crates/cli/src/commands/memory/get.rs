use r1_runtime::control::memory::{self, Read};
use serde_json::json;

use super::whose::{InTier, Whose};
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::print_json;
use crate::output_file::Output;
use crate::workshop::Workshop;

/// Print what stands under a key, byte for byte
///
/// That it was read is recorded first. Ends with 1 if there is nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 memory get name --tier L0
  r1 memory get \"how to test\" --tier L3
  r1 memory get plan --tier L1 --run last --json
  r1 memory get logo --tier L0 --output logo.png")]
pub(crate) struct Args {
    /// The key; of L3 also an alias
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    tier: InTier,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    output: Output,
    /// Print JSON; bytes that are no text are base64
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let tier = args.tier.tier;
    let workshop = Workshop::here(context).await?;
    let owner = args.whose.owner(workshop.engine.store(), tier).await?;
    let found = memory::get(&workshop.engine, &owner, tier, &args.key, &ask::caller()).await?;
    workshop.close().await?;
    let Some(Read { key, value }) = found else {
        return Err(CliError::new(format!("{tier} has nothing under `{}`", args.key))
            .failed()
            .hint("see what there is with `r1 memory list`"));
    };
    if args.json {
        print_json(&json!({
            "tier": tier.word(), "store": tier.store(), "key": key, "form": value.form().word(),
            "fingerprint": value.fingerprint().to_string(), "size": value.bytes().len(), "value": value.to_json(),
        }))?;
        return Ok(Exit::Ok);
    }
    args.output.write_bytes(value.bytes())?;
    Ok(Exit::Ok)
}
