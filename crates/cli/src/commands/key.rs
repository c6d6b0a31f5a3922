//! `r1 key`: who may sign, and whose word counts.

mod export;
mod import;
mod list;
mod new;
mod revoke;
mod show;

use clap::Subcommand;
use jiff::Timestamp;
use r1_receipt::key::{Entry, Scope, Usage};
use r1_runtime::keys::manage;
use serde_json::{Value as Json, json};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Make, show, bring and revoke signing keys
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    List(list::Args),
    Show(show::Args),
    Export(export::Args),
    Import(import::Args),
    Revoke(revoke::Args),
}

pub(super) fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::New(args) => new::run(&args, context),
        Command::List(args) => list::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Export(args) => export::run(&args, context),
        Command::Import(args) => import::run(&args, context),
        Command::Revoke(args) => revoke::run(&args, context),
    }
}

/// For whom a key speaks, as it is typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum ScopeArg {
    /// One agent on one machine
    Agent,
    /// A team
    Team,
    /// A whole organisation
    Tenant,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Agent => Self::Agent,
            ScopeArg::Team => Self::Team,
            ScopeArg::Tenant => Self::Tenant,
        }
    }
}

/// What a key signs, as it is typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum UseArg {
    /// Receipts, seals and checkpoints of runs (Ed25519)
    Receipt,
    /// Statements for tools of others (ECDSA on P-256)
    Attest,
    /// Notes of a transparency log (Ed25519)
    Log,
}

impl From<UseArg> for Usage {
    fn from(usage: UseArg) -> Self {
        match usage {
            UseArg::Receipt => Self::Receipt,
            UseArg::Attest => Self::Attest,
            UseArg::Log => Self::Log,
        }
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "expected a time like 2027-01-31T12:00:00Z".to_owned())
}

/// A key for programs: its entry, and whether it can sign here.
fn to_json(context: &Context, entry: &Entry) -> Json {
    let mut value: Json = serde_json::from_str(&entry.to_json()).unwrap_or_default();
    value["private"] = json!(manage::has_secret(&context.home, entry));
    value
}
