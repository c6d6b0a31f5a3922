//! `r1 ctl discover`: where the server is.

use serde_json::json;

use crate::context::Context;
use crate::daemon::Daemon;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Say where the server listens
///
/// The token itself is never printed; it is in the file `token` of R1's home.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl discover
  curl --unix-socket \"$(r1 ctl discover --json | jq -r .sock_path)\" \\
      http://localhost/hecate/v1/runs")]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let at = Daemon::find(&context.home).await?.at;
    if args.json {
        output::print_json(&json!({
            "url": at.url(),
            "sock_path": at.sock_path,
            "pid": at.pid,
            "instance_id": at.instance_id,
            "version": at.version,
            "started_at": at.started_at,
        }))?;
        return Ok(Exit::Ok);
    }
    for place in [at.url(), at.sock_path].into_iter().flatten() {
        output::print_line(&place)?;
    }
    Ok(Exit::Ok)
}
