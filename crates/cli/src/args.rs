//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser};
use r1_event::Seq;

use crate::commands::Command;

/// A glass box for coding agents: records what they did, and proves it.
///
/// An agent works in your project; every step it takes is an event in a hash-chained log. `r1` shows the
/// log, checks, replays, resumes and forks it, and says exactly what was tampered with.
#[derive(Debug, Parser)]
#[command(
    name = "r1",
    version,
    after_help = "A run is named by any unique prefix of its id, or by `last`.\n\nTry `r1 demo` first: it needs no key and no network."
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
