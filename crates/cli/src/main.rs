//! `r1`: what was typed becomes calls of the control layer, and what they return becomes text.

mod args;
mod ask;
mod commands;
mod context;
mod daemon;
mod environment;
mod error;
mod exit;
mod follow;
mod keyboard;
mod lines;
mod output;
mod output_file;
mod presence;
mod progress;
mod remote;
mod render;
mod settings;
mod signals;
mod target;
mod trust;
mod workshop;

use std::process::ExitCode;

use clap::Parser as _;
use r1_store::PostgresUrl;
use tokio::runtime::Runtime;

use crate::args::{Cli, Global};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

fn main() -> ExitCode {
    if let Some(code) = r1_runtime::process::supervisor::entry(std::env::args_os()) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => return wrong_use(&err),
    };
    let exit = match begin(cli) {
        Ok(exit) => exit,
        // Whoever read our output has seen enough.
        Err(err) if err.is_closed_pipe() => Exit::Ok,
        Err(err) => {
            output::print_error(&err);
            err.exit()
        }
    };
    exit.into()
}

/// Says what is wrong with the arguments, or shows the help that they ask for.
fn wrong_use(err: &clap::Error) -> ExitCode {
    if err.use_stderr() {
        commands::tell_wrong_verify(std::env::args_os());
    }
    let text = err.render().to_string();
    if repeats_address(&text) {
        let err = CliError::new("the address of a PostgreSQL database stands where it is not expected");
        let err = err.hint(error::NAME_STORE);
        output::print_error(&err);
        tell_program(&err.to_string(), err.exit().code());
        return err.exit().into();
    }
    // Whoever closed our output does not want to hear it.
    let _ = err.print();
    let code = u8::try_from(err.exit_code()).unwrap_or(Exit::Usage.code());
    if code != 0 {
        tell_program(&first_paragraph(&text), code);
    }
    ExitCode::from(code)
}

/// Whether a text would show the address of a database, and with it a password.
fn repeats_address(text: &str) -> bool {
    let given = std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok());
    let mut parts = given.flat_map(|argument| {
        let value = argument.split_once('=').map(|(_, value)| value.to_owned());
        value.into_iter().chain([argument])
    });
    parts.any(|part| text.contains(&part) && PostgresUrl::recognise(&part).is_some())
}

/// What is wrong, in one line and without the help that follows it.
fn first_paragraph(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let text = lines.join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Whoever waits for the last line of `r1 run` gets it, although there was no run.
fn tell_program(message: &str, code: u8) {
    if lines::are_wanted(std::env::args_os()) {
        lines::print_wrong_use(message, code);
    }
}

fn begin(cli: Cli) -> Result<Exit, CliError> {
    let surroundings = surroundings(cli.global);
    if let Err(err) = &surroundings {
        tell_program(&err.to_string(), err.exit().code());
    }
    let (context, runtime) = surroundings?;
    runtime.block_on(commands::run(cli.command, &context))
}

fn surroundings(global: Global) -> Result<(Context, Runtime), CliError> {
    let context = Context::new(global)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    Ok((context, runtime.map_err(|err| CliError::new("cannot start worker threads").because(err))?))
}
