//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::commands::Command;

/// A glass box for coding agents: records what they did, and proves it.
///
/// Every run is a hash-chained log. `r1` shows it, checks it, proves single events of it and says
/// exactly what was tampered with.
#[derive(Debug, Parser)]
#[command(
    name = "r1",
    version,
    after_help = "A run is named by any unique prefix of its id, or by `last`.\n\nTry `r1 demo` first: it takes two seconds and touches nothing of yours."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Where runs are kept: a SQLite file, a directory, or a postgres:// URL [default: r1.db in the home]
    #[arg(long, global = true, env = "R1_STORE", hide_env_values = true, value_name = "PATH|URL")]
    pub(crate) store: Option<String>,
    /// Directory for store, keys and keyring [default: r1 in the platform's data directory]
    #[arg(long, global = true, env = "R1_HOME", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}
