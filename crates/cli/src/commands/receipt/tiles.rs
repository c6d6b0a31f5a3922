use std::fs;
use std::path::PathBuf;

use super::publisher;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::print_line;

/// Write the log of receipts as static files
///
/// Every receipt that is signed here goes into a log of this installation, once there are keys for it
/// (`r1 key new --use attest`, `r1 key new --use log`). This writes that log as tlog-tiles (c2sp.org/tlog-tiles), to
/// be served by any web server, and prints the key that its checkpoint is verified with.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 receipt tiles ./public")]
pub(crate) struct Args {
    /// Where to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let publisher = publisher(context)?;
    // The checkpoint is the last one: what it covers is there before it is.
    for (path, content) in publisher.tiles()? {
        let path = args.directory.join(path);
        let failed = |err| CliError::new(format!("cannot write {}", path.display())).because(err);
        fs::create_dir_all(path.parent().unwrap_or(&args.directory)).map_err(failed)?;
        fs::write(&path, content).map_err(failed)?;
    }
    print_line(&publisher.note_key()?.vkey())?;
    Ok(Exit::Ok)
}
