//! `r1 ctl open`: the browser, signed in.

use std::process::{Command, Stdio};

use reqwest::Method;

use crate::context::Context;
use crate::daemon::Daemon;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Open the browser at the server, signed in
///
/// The address holds a ticket that is good once, for thirty seconds; never a token.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl open
  r1 ctl open --print")]
pub(crate) struct Args {
    /// Print the address instead of opening it
    #[arg(long)]
    print: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let daemon = Daemon::find(&context.home).await?;
    let no_port = || CliError::new("the server has no TCP port").hint("start it without `--no-tcp`");
    let url = daemon.at.url().ok_or_else(no_port)?;
    let ticket = daemon.ask(Method::POST, "/v1/tickets").await?;
    let address = format!("{url}{}", ticket["login"].as_str().unwrap_or("/"));
    if args.print {
        output::print_line(&address)?;
        return Ok(Exit::Ok);
    }
    let named = environment::variable("BROWSER").filter(|browser| !browser.is_empty());
    let browser = named.unwrap_or_else(|| if cfg!(target_os = "macos") { "open" } else { "xdg-open" }.into());
    let mut command = Command::new(&browser);
    command.arg(&address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|err| {
        CliError::new(format!("cannot start `{browser}`")).because(err).hint("see the address with `--print`")
    })?;
    Ok(Exit::Ok)
}
