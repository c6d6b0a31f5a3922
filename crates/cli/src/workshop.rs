//! What commands need that work on runs, not only look at them: the engine, in the world of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_event::{RunId, UnixNanos};
use r1_receipt::key::SecretKey;
use r1_runtime::agent::RunState;
use r1_runtime::config::Config;
use r1_runtime::engine::Engine;
use r1_runtime::keys::AgentKey;
use r1_runtime::location::Purpose;
use r1_runtime::machine::{Machine, SearchSettings};
use r1_runtime::net::NetConfig;
use r1_runtime::process::Limits;
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::sandbox::{SandboxMode, environment as program_environment};
use r1_runtime::{history, keys, resolve};
use r1_store::SharedStore;

use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::output;
use crate::settings;

/// The engine, and where it keeps things.
pub(crate) struct Workshop {
    pub(crate) engine: Arc<Engine>,
    pub(crate) machine: Arc<Machine>,
    /// Signs logs, and the receipts of runs.
    pub(crate) key: SecretKey,
}

impl Workshop {
    /// For new runs; makes a store if there is none.
    pub(crate) async fn create(context: &Context, config: &Config, sandbox: SandboxMode) -> Result<Self, CliError> {
        let store = context.open_store(Purpose::Create).await?;
        Self::with(context, store, config, sandbox)
    }

    /// For a word to runs that others work on.
    pub(crate) async fn here(context: &Context) -> Result<Self, CliError> {
        let store = context.open_store(Purpose::Change).await?;
        let config = settings::load(context, &current_directory(), Vec::new())?;
        Self::with(context, store, &config, SandboxMode::Auto)
    }

    /// For what is written down without a run; makes a store if there is none.
    pub(crate) async fn of_new_store(context: &Context) -> Result<Self, CliError> {
        let config = settings::load(context, &current_directory(), Vec::new())?;
        Self::create(context, &config, SandboxMode::Auto).await
    }

    /// For work on a run that is there, with the settings of its workspace.
    pub(crate) async fn of_run(context: &Context, given: &str) -> Result<(Self, RunState), CliError> {
        let store = context.open_store(Purpose::Change).await?;
        let run = resolve(&store, given).await?;
        let state = history::load(&store, &run).await?;
        let config = settings::load(context, Path::new(&state.workspace_path), Vec::new())?;
        Ok((Self::with(context, store, &config, SandboxMode::Auto)?, state))
    }

    fn with(context: &Context, store: SharedStore, config: &Config, sandbox: SandboxMode) -> Result<Self, CliError> {
        context.home.create()?;
        let machine = Arc::new(machine(config, sandbox));
        let key = signing_key(context, config.signing.kid.as_deref(), context.now())?;
        let engine = Engine::new(
            store,
            machine.clone(),
            Arc::new(redactor(RedactionKey::load_or_mint(&context.home)?, config)?),
            context.home.path().join("snapshots"),
            Some(key.clone()),
            context.instance.clone(),
        );
        Ok(Self { engine: Arc::new(engine), machine, key })
    }

    /// The run that was typed.
    pub(crate) async fn run(&self, given: &str) -> Result<RunId, CliError> {
        Ok(resolve(self.engine.store(), given).await?)
    }

    /// Lets go of the store, so that all of it is on the disk.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        Ok(self.engine.store().close().await?)
    }
}

/// The key that is to sign: the one that is wanted, else the newest agent key. If there is none, one is made that
/// counts from `since` on, and told.
pub(crate) fn signing_key(context: &Context, wanted: Option<&str>, since: UnixNanos) -> Result<SecretKey, CliError> {
    let AgentKey { secret, minted } = keys::signing_key(&context.home, wanted, context.now(), since)?;
    if let Some(path) = minted {
        output::note(&format!("made a new agent key {}\n  in {}", secret.kid(), path.display()));
    }
    Ok(secret)
}

/// Where we are, from the root: whether a directory is trusted, and what is above it, only such a path tells.
pub(crate) fn current_directory() -> PathBuf {
    Path::new(".").canonicalize().unwrap_or_default()
}

/// The world of this machine.
pub(crate) fn machine(config: &Config, sandbox: SandboxMode) -> Machine {
    let confinement = &config.sandbox;
    let usual = Limits::default();
    Machine {
        environment: Arc::new(environment::variable),
        server_env: environment::variables().collect(),
        program_env: program_environment::allowed(environment::variables(), &confinement.env),
        supervisor: environment::this_program(),
        sandbox,
        readable: confinement.readable.clone(),
        writable: confinement.writable.clone(),
        limits: Limits {
            processes: confinement.max_processes.unwrap_or(usual.processes),
            file_bytes: confinement.max_file_size.map_or(usual.file_bytes, |size| size.0),
            ..usual
        },
        net: NetConfig::default(),
        search: config.web_search.as_ref().map(|search| SearchSettings {
            name: search.provider.clone(),
            url: search.base_url.clone(),
            key_variable: search.key_env.clone(),
        }),
    }
}

/// Takes secrets out of what is shown and kept nowhere. Makes no key: there is no store that it could belong to.
pub(crate) fn passing_redactor(context: &Context, config: &Config) -> Result<Redactor, CliError> {
    redactor(RedactionKey::load_or_improvise(&context.home)?, config)
}

/// Finds what is known to be secret, and what looks like it.
fn redactor(key: RedactionKey, config: &Config) -> Result<Redactor, CliError> {
    let mut secrets = Secrets::default();
    secrets.add_environment(environment::variables(), &config.redaction.variables);
    config.redaction.patterns.iter().for_each(|pattern| secrets.add_pattern(pattern));
    for name in config.providers.keys() {
        // A key that cannot be had cannot leak; whoever needs it will be told.
        if let Ok(provider) = config.provider(name)
            && let Some(Ok(key)) = provider.key.map(|source| source.resolve(&environment::variable))
        {
            secrets.add(key.expose());
        }
    }
    Ok(Redactor::new(key, &secrets)?)
}
