use std::io::Read as _;
use std::path::{Path, PathBuf};

use r1_runtime::control::memory::{self, Wrote};
use r1_runtime::memory::{MAX_VALUE, Tier, Value};
use serde_json::json;

use super::whose::{InTier, Whose};
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::workshop::Workshop;

/// Remember something
///
/// In L3 there is no KEY: it follows from the value and is printed. Secrets are replaced before anything is kept.
/// L0 is not changed while a run of the workspace goes on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 memory set --tier L0 name Ada
  r1 memory set --tier L0 rules --file RULES.md
  r1 memory set --tier L3 --alias \"how to test\" \"tests run with ./test\"
  r1 memory set --tier L1 --run last plan --parse-json '{\"steps\": [1, 2]}'
  tar c docs | r1 memory set --tier L3 --alias docs -")]
pub(crate) struct Args {
    /// The key, unless it is L3; then the value, `-` for standard input
    #[arg(value_name = "KEY] [VALUE", num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    tier: InTier,
    #[command(flatten)]
    whose: Whose,
    /// Take the value from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Of L3: a name for the value
    #[arg(long, value_name = "NAME")]
    alias: Option<String>,
    /// The value is JSON, and kept in its canonical spelling
    #[arg(long)]
    parse_json: bool,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let tier = args.tier.tier;
    let (key, value) = words(tier, &args.words)?;
    let value = match (value, &args.file) {
        (Some(_), Some(_)) => {
            return Err(CliError::new("there are two values").hint("give VALUE or `--file`, not both"));
        }
        (None, None) => return Err(CliError::new("there is no value").hint("give VALUE, `-` or `--file FILE`")),
        (Some("-"), None) => read(std::io::stdin().lock(), "standard input")?,
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(path)) => read(open(path)?, &path.display().to_string())?,
    };
    let value = if args.parse_json {
        let failed = |err: serde_json::Error| CliError::new("the value is no JSON").because(err);
        Value::of_json(&serde_json::from_slice(&value).map_err(failed)?)
    } else {
        Value::of_bytes(value)
    };
    let workshop = Workshop::of_new_store(context).await?;
    let owner = args.whose.owner(workshop.engine.store(), tier).await?;
    let caller = ask::caller();
    let set = memory::set(&workshop.engine, &owner, tier, key, value, args.alias.as_deref(), &caller);
    let Wrote { key, effect } = set.await?;
    workshop.close().await?;
    if args.json {
        print_json(&json!({
            "tier": tier.word(), "store": tier.store(), "key": key, "run_id": effect.run_id, "seq": effect.seq,
        }))?;
    } else if tier == Tier::L3 {
        output::print_line(&key)?;
    } else {
        output::note(&format!("{tier} `{key}` is set, as run {} tells", effect.run_id));
    }
    Ok(Exit::Ok)
}

/// Key and value, as the tier has them.
fn words(tier: Tier, words: &[String]) -> Result<(Option<&str>, Option<&str>), CliError> {
    match (tier, words) {
        (Tier::L3, []) => Ok((None, None)),
        (Tier::L3, [value]) => Ok((None, Some(value))),
        (Tier::L3, _) => Err(CliError::new("in L3 the key follows from the value")
            .hint("give the value alone, and a name for it with `--alias NAME`")),
        (Tier::L0 | Tier::L1 | Tier::L2, [key]) => Ok((Some(key), None)),
        (Tier::L0 | Tier::L1 | Tier::L2, [key, value]) => Ok((Some(key), Some(value))),
        (Tier::L0 | Tier::L1 | Tier::L2, _) => Err(CliError::new(format!("{tier} needs a key"))),
    }
}

fn open(path: &Path) -> Result<std::fs::File, CliError> {
    std::fs::File::open(path).map_err(|err| CliError::new(format!("cannot read {}", path.display())).because(err))
}

/// All that there is, but no more than would be refused anyway.
fn read(from: impl std::io::Read, name: &str) -> Result<Vec<u8>, CliError> {
    let mut value = Vec::new();
    let read = from.take(MAX_VALUE as u64 + 1).read_to_end(&mut value);
    read.map_err(|err| CliError::new(format!("cannot read {name}")).because(err))?;
    Ok(value)
}
