//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser};
use r1_event::Seq;

use crate::commands::Command;

/// What ends the long help.
const ENVIRONMENT: &str = "\
A run is named by any unique prefix of its id, or by `last`.

Try `r1 demo` first: it needs no key and no network.

Environment (a flag wins over a variable, a variable over r1.toml):
  R1_HOME        directory for store, keys and keyring (--home)
  R1_STORE       where runs are kept (--store)
  R1_URL         the daemon that commands are for (--url)
  R1_TOKEN       its token; of `r1 serve`, the operator's token
  R1_PROVIDER    who serves the model (--provider)
  R1_MODEL       which model (--model)
  R1_APPROVE     what is allowed without asking (--approve)
  R1_MAX_TURNS   stop after so many model calls (--max-turns)
  R1_BUDGET_USD  stop when this much is spent (--budget-usd)
  R1_WORKSPACE   where a run works: in_place, worktree, clone or none
  R1_LOG         what `r1 serve` logs: error, warn, info, debug, or a filter
Keys of providers (ANTHROPIC_API_KEY, …), passwords of databases (PGPASSWORD), OTEL_… and
all others: docs/environment.md";

/// A glass box for coding agents: records what they did, and proves it.
///
/// An agent works in your project; every step it takes is an event in a hash-chained log. `r1` shows the
/// log, checks, replays, resumes and forks it, and says exactly what was tampered with.
#[derive(Debug, Parser)]
#[command(
    name = "r1",
    version,
    after_help = "A run is named by any unique prefix of its id, or by `last`.\n\nTry `r1 demo` first: it needs no key and no network.\nEnvironment variables: see `r1 --help`.",
    after_long_help = ENVIRONMENT
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the place of an event in a log.
pub(crate) fn parse_seq(text: &str) -> Result<Seq, String> {
    match text.parse() {
        Ok(0) => Err("events are counted from 1".into()),
        Ok(place) => Seq::new(place).ok_or_else(|| format!("no log has more than {} events", Seq::MAX)),
        Err(_) => Err("expected the place of an event, counted from 1".into()),
    }
}

/// Keeps a command's own options together.
const EVERYWHERE: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Where runs are kept: a SQLite file, a directory, or a postgres:// URL, whose password may be in PGPASSWORD or
    /// ~/.pgpass [default: r1.db in the home]
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "R1_STORE", hide_env_values = true, value_name = "PATH|URL")]
    pub(crate) store: Option<String>,
    /// Directory for store, keys and keyring [default: r1 in the platform's data directory]
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "R1_HOME", hide_env_values = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    /// Every variable of R1 that a text names.
    fn named(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("R1_")).collect()
    }

    #[test]
    fn help_and_documents_tell_every_variable() {
        let mut known: BTreeSet<_> = r1_runtime::config::VARIABLES.iter().map(|(name, _)| *name).collect();
        let command = Cli::command();
        let all = std::iter::once(&command).chain(command.get_subcommands());
        let options: Vec<_> = all.flat_map(|command| command.get_arguments()).filter_map(|arg| arg.get_env()).collect();
        known.extend(options.iter().filter_map(|name| name.to_str()));
        // Read where a token must not be an option, and before anything can be logged.
        known.extend(["R1_TOKEN", "R1_LOG"]);
        assert_eq!(named(ENVIRONMENT), known);
        assert_eq!(named(include_str!("../../../docs/environment.md")), known);
    }
}
