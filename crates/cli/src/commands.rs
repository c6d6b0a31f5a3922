//! One file per command: its arguments, whose comments are the help, the call of the control layer,
//! and how the answer looks.

mod approve;
mod cancel;
mod completions;
mod ctl;
mod demo;
mod diff;
mod doctor;
mod fork;
mod gate;
mod init;
mod key;
mod log;
mod memory;
mod patch;
mod prune;
mod receipt;
mod redact;
mod replay;
mod resume;
mod retry;
mod run;
mod runs;
mod send;
mod serve;
mod skill;
mod tail;

use clap::Subcommand;

pub(crate) use self::receipt::tell_wrong_use as tell_wrong_verify;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// What `r1` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Init(init::Args),
    Run(Box<run::Args>),
    Approve(approve::Args),
    Send(send::Args),
    Cancel(cancel::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Fork(fork::Args),
    Replay(replay::Args),
    Diff(diff::Args),
    #[command(subcommand)]
    Patch(patch::Command),
    #[command(subcommand)]
    Gate(gate::Command),
    Runs(runs::Args),
    Tail(tail::Args),
    #[command(subcommand)]
    Log(log::Command),
    #[command(subcommand)]
    Receipt(receipt::Command),
    #[command(subcommand)]
    Key(key::Command),
    #[command(subcommand)]
    Memory(memory::Command),
    #[command(subcommand)]
    Skill(skill::Command),
    Prune(prune::Args),
    Redact(redact::Args),
    Serve(Box<serve::Args>),
    #[command(subcommand)]
    Ctl(ctl::Command),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Demo(args) => demo::run(args, context).await,
        Command::Init(args) => init::run(&args),
        Command::Run(args) => run::run(*args, context).await,
        Command::Approve(args) => approve::run(args, context).await,
        Command::Send(args) => send::run(args, context).await,
        Command::Cancel(args) => cancel::run(args, context).await,
        Command::Resume(args) => resume::run(args, context).await,
        Command::Retry(args) => retry::run(args, context).await,
        Command::Fork(args) => fork::run(args, context).await,
        Command::Replay(args) => replay::run(args, context).await,
        Command::Diff(args) => diff::run(args, context).await,
        Command::Patch(command) => patch::run(command, context).await,
        Command::Gate(command) => gate::run(command, context).await,
        Command::Runs(args) => runs::run(args, context).await,
        Command::Tail(args) => tail::run(args, context).await,
        Command::Log(command) => log::run(command, context).await,
        Command::Receipt(command) => receipt::run(command, context).await,
        Command::Key(command) => key::run(command, context),
        Command::Memory(command) => memory::run(command, context).await,
        Command::Skill(command) => skill::run(command, context).await,
        Command::Prune(args) => prune::run(args, context).await,
        Command::Redact(args) => redact::run(args, context).await,
        Command::Serve(args) => serve::run(*args, context).await,
        Command::Ctl(command) => ctl::run(command, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Completions(args) => completions::run(&args),
    }
}
