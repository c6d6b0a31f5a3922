//! `r1 serve`: the engine, its workers and the HTTP API, until somebody asks it to end.

mod drain;
mod started;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use clap::ValueEnum;
use r1_protocol::data::Time;
use r1_protocol::dialect::Dialect;
use r1_runtime::config::{self, Config};
use r1_runtime::control::order::Shop;
use r1_runtime::sandbox::{Sandbox, SandboxConfig, SandboxMode, environment as program_environment};
use r1_runtime::workers::{self, Workers};
use r1_server::access::{AccessSettings, OperatorToken};
use r1_server::listen::{Binding, Bound, TlsFiles};
use r1_server::{App, Limits, Node, Settings, StreamOptions, Telemetry, TelemetrySettings};

use crate::context::Context;
use crate::daemon::{Discovery, HomeLock};
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::presence::Presence;
use crate::settings;
use crate::signals::Signals;
use crate::workshop::{Workshop, current_directory};
use started::Started;

/// Serve runs over HTTP, live and resumable, and work on those that wait
///
/// Listens on 127.0.0.1 and on a unix socket. The token is in the file `token` of R1's home; programs of the
/// same user need none on the socket. On SIGTERM or Ctrl-C nothing is cancelled: what is under way gets ten
/// seconds, then it is handed over, and goes on when a server is there again. A second signal skips the wait.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 serve
  r1 serve --addr 127.0.0.1:0 --json
  r1 serve --workers 8 --store postgres://r1@db/r1
  r1 serve --addr 0.0.0.0:3948 --tls-cert cert.pem --tls-key key.pem \\
      --allow-host r1.example.org
  curl -H \"Authorization: Bearer $(cat ~/.local/share/r1/token)\" \\
      http://127.0.0.1:3948/hecate/v1/runs

Environment:
  R1_TOKEN  the operator's token, instead of the one in the file
  R1_LOG    what is logged to stderr: error, warn, info, debug, or a filter such as r1_server=debug")]
pub(crate) struct Args {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3948")]
    addr: SocketAddr,
    /// Do not listen on TCP
    #[arg(long)]
    no_tcp: bool,
    /// Do not make a unix socket
    #[arg(long)]
    no_unix: bool,
    /// Certificate in PEM, with those that vouch for it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy that speaks TLS stands before this server
    #[arg(long)]
    behind_proxy: bool,
    /// A name by which this server is reached, beside localhost; repeatable
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// An origin whose pages may use the API, such as `https://ui.example.org`; repeatable
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    allow_origin: Vec<String>,
    /// Read the operator's token from this file instead of the home's
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How many runs to work on at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// Names of events, unless a client asks for others
    #[arg(long, value_enum, default_value_t = Names::Turn)]
    event_dialect: Names,
    /// Say in one line of JSON where it listens
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Names {
    /// turn.started, …
    Turn,
    /// model.call.started, …
    #[value(name = "model_call")]
    ModelCall,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    if args.no_tcp && args.no_unix {
        return Err(CliError::new("with neither TCP nor a unix socket nobody could reach it")
            .hint("leave out `--no-tcp` or `--no-unix`"));
    }
    // From here on a signal means: end in order.
    let mut signals = Signals::listen()?;
    log_to_stderr(args.json)?;
    context.home.create()?;
    let _lock = HomeLock::take(&context.home)?;
    let config = settings::load(context, &current_directory(), Vec::new())?;
    let workshop = Workshop::create(context, &config, SandboxMode::Auto).await?;
    let token = Token::load(&args, context)?;
    let bound = Bound::bind(&binding(&args, context)).await?;

    let workers = Workers::within(workshop.engine.clone(), work_limits(&args, &config));
    let settings = settings_of(&args, token.known, workers.busy()).await;
    let app = App::new(workshop.engine.clone(), settings).with_keyring(context.keyring()?);
    let app = Arc::new(app.with_shop(shop(&workshop, context)).with_workers(workers.foreman()));
    let telemetry = telemetry(&workshop, &config.telemetry).await?;
    let found = discovery(&app, &bound, context, token.text);
    found.publish(&context.home)?;
    let presence = Presence::of_server(context, &current_directory());
    Started { at: &found, token_file: token.path.as_deref(), minted: token.minted }.print(args.json)?;

    let open = drain::Open::start(app.clone(), bound, workers, telemetry);
    tokio::select! {
        _ = signals.next() => {}
        () = app.shutdown_asked().cancelled() => {}
    }
    // Whoever looks from now on finds nobody.
    let _ = std::fs::remove_file(Discovery::path(&context.home));
    open.end(&mut signals).await;
    workshop.close().await?;
    if let Some(presence) = presence {
        presence.end(Exit::Ok).await;
    }
    Ok(Exit::Ok)
}

/// What new tasks are made with.
fn shop(workshop: &Workshop, context: &Context) -> Shop {
    Shop {
        machine: workshop.machine.clone(),
        home: context.home.clone(),
        given: settings::given(Vec::new()),
        directory: current_directory(),
    }
}

/// Runs at a time, on this node and with each provider.
fn work_limits(args: &Args, config: &Config) -> workers::Limits {
    let providers = config.providers.iter();
    let providers = providers.filter_map(|(name, provider)| Some((name.clone(), provider.max_concurrent?)));
    workers::Limits { slots: usize::from(args.workers), providers: providers.collect() }
}

/// What OpenTelemetry is told, if the environment or the settings name a collector.
async fn telemetry(workshop: &Workshop, said: &config::Telemetry) -> Result<Option<Telemetry>, CliError> {
    let (endpoint, content) = (said.endpoint.as_deref(), said.content);
    let wanted = TelemetrySettings::from_environment(&environment::variable, endpoint, content).map_err(|err| {
        CliError::new(err.to_string()).hint("unset it, or see the OpenTelemetry documentation of that variable")
    })?;
    let (store, instance) = (workshop.engine.store().clone(), workshop.engine.instance());
    Ok(match wanted {
        Some(settings) => Some(Telemetry::start(store, instance, settings).await?),
        None => None,
    })
}

/// The operator's token, and where it came from.
struct Token {
    known: OperatorToken,
    text: String,
    path: Option<PathBuf>,
    minted: bool,
}

impl Token {
    fn load(args: &Args, context: &Context) -> Result<Self, CliError> {
        if let Some(text) = environment::variable("R1_TOKEN") {
            let (known, text) = (OperatorToken::given(&text)?, text.trim().to_owned());
            return Ok(Self { known, text, path: None, minted: false });
        }
        let (path, known, minted) = match &args.token_file {
            Some(path) => (path.clone(), OperatorToken::in_file(path)?, false),
            None => {
                let path = context.home.path().join("token");
                let (known, minted) = OperatorToken::load_or_mint(&path)?;
                (path, known, minted.is_some())
            }
        };
        Ok(Self { known, text: OperatorToken::read(&path)?, path: Some(path), minted })
    }
}

fn binding(args: &Args, context: &Context) -> Binding {
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let runtime = environment::runtime_directory().map(|directory| directory.join("r1"));
    let sockets = runtime.unwrap_or_else(|| context.home.path().to_owned());
    Binding {
        tcp: (!args.no_tcp).then_some(args.addr),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        behind_proxy: args.behind_proxy,
        unix: (cfg!(unix) && !args.no_unix).then(|| sockets.join("r1.sock")),
    }
}

async fn settings_of(args: &Args, operator: OperatorToken, busy: Arc<AtomicUsize>) -> Settings {
    let dialect = match args.event_dialect {
        Names::Turn => Dialect::Turn,
        Names::ModelCall => Dialect::ModelCall,
    };
    Settings {
        access: AccessSettings {
            operator,
            operator_name: environment::user(),
            allow_hosts: args.allow_host.clone(),
            allow_origins: args.allow_origin.clone(),
            behind_proxy: args.behind_proxy,
        },
        limits: Limits::default(),
        node: Node {
            started_at: r1_runtime::world::now(),
            worker_slots: usize::from(args.workers),
            busy,
            sandbox_layer: sandbox_layer().await,
        },
        streams: StreamOptions { dialect, ..StreamOptions::default() },
    }
}

/// What keeps programs of agents in, on this machine.
async fn sandbox_layer() -> String {
    let config = SandboxConfig {
        workspace: std::env::temp_dir(),
        supervisor: environment::this_program(),
        env: program_environment::allowed(environment::variables(), &[]),
        ..SandboxConfig::default()
    };
    Sandbox::detect(config).await.map_or_else(|_| "none".into(), |sandbox| sandbox.layer().as_str().into())
}

fn discovery(app: &App, bound: &Bound, context: &Context, token: String) -> Discovery {
    let address = bound.tcp_address();
    Discovery {
        pid: std::process::id(),
        instance_id: context.instance.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        host: address.map(|address| reachable(address).to_string()),
        port: address.map(|address| address.port()),
        tls: bound.is_tls(),
        sock_path: bound.unix_path().map(|path| path.display().to_string()),
        token,
        started_at: Time::from(app.started_at()).to_string(),
    }
}

/// The address under which this machine reaches itself, as it stands in a URL.
fn reachable(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) if address.ip().is_unspecified() => "127.0.0.1".into(),
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) if address.ip().is_unspecified() => "[::1]".into(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let parsed = url::Url::parse(text).map_err(|err| err.to_string())?;
    let origin = parsed.origin().ascii_serialization();
    if origin == "null" || parsed.path() != "/" || parsed.query().is_some() || text.ends_with('/') {
        return Err("an origin is a scheme, a host and perhaps a port: https://ui.example.org".into());
    }
    Ok(origin)
}

/// Lines for operators. What agents did is in the logs of their runs, not here.
fn log_to_stderr(json: bool) -> Result<(), CliError> {
    let filter = environment::variable("R1_LOG").unwrap_or_else(|| "warn".into());
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|err| CliError::new("R1_LOG is not a filter of log lines").because(err))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let lines = lines.with_ansi(output::stderr_is_terminal());
    let begun = if json { lines.json().try_init() } else { lines.try_init() };
    begun.map_err(|err| CliError::new("cannot log").because(err))
}
