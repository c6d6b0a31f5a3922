use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_receipt::export::vkey;
use r1_receipt::key::{Entry, Jwk, Usage};
use r1_runtime::keys::manage;
use zeroize::Zeroizing;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::print_line;
use crate::output_file::is_stdout;

/// Give a key away
///
/// The public half, with what is said of it or bare. With --private the private half: for another machine of
/// yours, and for nobody else.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 key export kPrK > alice.json
  r1 key export kPrK --format pem -o alice.pem
  r1 key export kPrK --private -o alice.key")]
pub(crate) struct Args {
    /// The key: how its id begins
    key: String,
    /// In which form
    #[arg(long, value_name = "FORM", default_value = "entry", conflicts_with = "private")]
    format: Form,
    /// The private half, as PKCS#8 PEM
    #[arg(long, requires = "output")]
    private: bool,
    /// Into a file that is not there yet; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Forms of a public key.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Form {
    /// A keyring entry, with scope and dates
    Entry,
    /// A JSON Web Key
    Jwk,
    /// SPKI PEM, as OpenSSL reads it
    Pem,
    /// The line by which checkpoints of a log are verified
    Vkey,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, CliError> {
    let entry = manage::find(&context.home, &args.key)?;
    let content =
        if args.private { manage::export_secret(&context.home, &entry)? } else { public(&entry, args.format)? };
    match args.output.as_deref().filter(|path| !is_stdout(path)) {
        Some(path) => write(path, &content, args.private)?,
        None => print_line(content.trim_end())?,
    }
    Ok(Exit::Ok)
}

fn public(entry: &Entry, form: Form) -> Result<Zeroizing<String>, CliError> {
    Ok(Zeroizing::new(match form {
        Form::Entry => entry.to_json(),
        Form::Jwk => serde_json::to_string(&Jwk::from(entry.public())).unwrap_or_default() + "\n",
        Form::Pem => {
            let der = STANDARD.encode(entry.public().to_spki());
            let lines: Vec<&str> =
                der.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
        }
        Form::Vkey => match (entry.usage, entry.public().ed25519()) {
            (Usage::Log, Some(public)) => vkey(&entry.subject, public) + "\n",
            (Usage::Receipt | Usage::Attest | Usage::Log, _) => {
                return Err(CliError::new(format!("{} signs for no log", entry.kid()))
                    .hint("`r1 key list` says what each key is for"));
            }
        },
    }))
}

fn write(path: &Path, content: &str, secret: bool) -> Result<(), CliError> {
    let failed = |err| CliError::new(format!("cannot write {}", path.display())).because(err);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(content.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}
