use std::path::PathBuf;

use jiff::Timestamp;
use r1_runtime::keys::manage::{self, About};

use super::{ScopeArg, parse_time, to_json};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{print_json, print_line};

/// Take a key into the keyring
///
/// From then on its word counts here. A keyring entry is taken as it is; of a bare public key (JWK, SPKI PEM) and
/// of a private one (PKCS#8 PEM) you say whose it is. Of a key that you have already, a revocation is taken over.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key import alice.json
  r1 key import team.pem --scope team --subject team:parser")]
pub(crate) struct Args {
    /// The file
    file: PathBuf,
    /// For whom it speaks, unless the file says so
    #[arg(long, value_name = "SCOPE", default_value = "agent")]
    scope: ScopeArg,
    /// Who holds it, unless the file says so
    #[arg(long, value_name = "WHO", default_value = "agent:imported")]
    subject: String,
    /// From when it counts, unless the file says so [default: always]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_before: Option<Timestamp>,
    /// It signs for the log that the holder is the name of, unless the file says so
    #[arg(long)]
    log: bool,
    /// Until when it counts, unless the file says so
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    not_after: Option<Timestamp>,
    /// Print its entry as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let about = About {
        not_before: args.not_before,
        not_after: args.not_after,
        for_log: args.log,
        ..About::new(args.scope.into(), args.subject.clone())
    };
    context.home.create()?;
    let entry = manage::import(&context.home, &args.file, &about)?;
    if args.json {
        print_json(&to_json(context, &entry))?;
    } else {
        print_line(&format!("{}  {} {}", entry.kid(), entry.scope.word(), entry.subject))?;
    }
    Ok(Exit::Ok)
}
