//! `r1 ctl token`: who else may use the server.

use std::io::Write as _;
use std::time::Duration;

use clap::Subcommand;
use r1_runtime::location::Purpose;
use r1_server::access::{Caps, Grant, OperatorToken, Role, TokenInfo, tokens};
use serde_json::json;

use crate::context::Context;
use crate::daemon::Discovery;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::render::time;

/// Make, list, revoke and replace tokens
///
/// Tokens are kept as hashes in the store, so every server of it knows them. The operator's own token is in
/// the file `token` of R1's home.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(Create),
    List(List),
    Revoke(Revoke),
    Rotate(Rotate),
}

/// Make a token; it is shown once
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl token create --name dashboard
  r1 ctl token create --name ci --caps write --ttl 30d
  r1 ctl token create --name hooks --role ingest")]
pub(crate) struct Create {
    /// What to call it; its holder is called so in logs
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What it may: read, write, debug, with commas between [default: read]
    #[arg(long, value_name = "CAPS", conflicts_with = "role")]
    caps: Option<Caps>,
    /// One narrow job instead: ingest (tell what an agent does) or bridge (add a bridge's events)
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// How long it is good, such as 12h or 30d [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    ttl: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// List tokens
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl token list
  r1 ctl token list --json | jq -r .name")]
pub(crate) struct List {
    /// Print one JSON object per token
    #[arg(long)]
    json: bool,
}

/// Make a token worthless
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl token revoke dashboard")]
pub(crate) struct Revoke {
    /// Its name or id
    #[arg(value_name = "TOKEN")]
    token: String,
}

/// Replace the operator's token; the old one is refused from now on
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 ctl token rotate")]
pub(crate) struct Rotate {}

pub(super) async fn run(command: Command, context: &Context) -> Result<Exit, CliError> {
    match command {
        Command::Create(args) => create(args, context).await,
        Command::List(args) => list(&args, context).await,
        Command::Revoke(args) => revoke(&args, context).await,
        Command::Rotate(Rotate {}) => rotate(context),
    }
}

async fn create(args: Create, context: &Context) -> Result<Exit, CliError> {
    let Create { name, caps, role, ttl, json } = args;
    let grant = role.map_or_else(|| Grant::Caps(caps.unwrap_or_default()), Grant::Role);
    let store = context.open_store(Purpose::Create).await?;
    let (info, token) = tokens::create(&store, &name, grant, ttl).await?;
    store.close().await?;
    if json {
        output::print_json(&json!({ "token": token, "info": info_json(&info) }))?;
        return Ok(Exit::Ok);
    }
    output::print_line(&token)?;
    output::note(&format!("token `{name}` ({grant}) is shown this once"));
    Ok(Exit::Ok)
}

async fn list(args: &List, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Read).await?;
    let mut out = output::stdout();
    for info in tokens::list(&store).await? {
        if args.json {
            output::write_json(&mut out, &info_json(&info))?;
            continue;
        }
        let until = info.expires_at.map_or_else(|| "for ever".into(), |at| format!("until {}", time::date_time(at)));
        let TokenInfo { id, name, grant, .. } = &info;
        writeln!(out, "{name:<20} {:<18} {until:<26} {id}", grant.to_string())?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

async fn revoke(args: &Revoke, context: &Context) -> Result<Exit, CliError> {
    let store = context.open_store(Purpose::Change).await?;
    let found = tokens::revoke(&store, &args.token).await?;
    store.close().await?;
    if !found {
        return Err(
            CliError::new(format!("there is no token `{}`", args.token)).hint("see them with `r1 ctl token list`")
        );
    }
    output::note(&format!("token `{}` is refused from now on", args.token));
    Ok(Exit::Ok)
}

fn rotate(context: &Context) -> Result<Exit, CliError> {
    context.home.create()?;
    let path = context.home.path().join("token");
    let token = OperatorToken::rotate(&path)?;
    // A server that runs reads the file again by itself; those who look for it must find the new token too.
    if let Some(found) = Discovery::read(&context.home)? {
        Discovery { token: token.clone(), ..found }.publish(&context.home)?;
    }
    output::print_line(&token)?;
    output::note(&format!("it is in {}; the old one is refused from now on", path.display()));
    Ok(Exit::Ok)
}

fn info_json(info: &TokenInfo) -> serde_json::Value {
    let TokenInfo { id, name, grant, created_at, expires_at } = info;
    let at = |nanos: i64| r1_protocol::data::Time::from(r1_event::UnixNanos(nanos)).to_string();
    json!({
        "id": id, "name": name, "grant": grant.to_string(),
        "created_at": at(*created_at), "expires_at": expires_at.map(at),
    })
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let span: jiff::Span = text.parse().map_err(|err: jiff::Error| err.to_string())?;
    let seconds =
        span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).map_err(|err| err.to_string())?;
    let lifetime = Duration::try_from_secs_f64(seconds).map_err(|err| err.to_string())?;
    if lifetime.is_zero() { Err("a token must live for some time".into()) } else { Ok(lifetime) }
}
