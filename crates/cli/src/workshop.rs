//! What commands need that work on runs, not only look at them: the engine, in the world of this machine.

use std::path::PathBuf;
use std::sync::Arc;

use r1_runtime::engine::Engine;
use r1_runtime::location::Purpose;
use r1_runtime::machine::Machine;
use r1_runtime::net::NetConfig;
use r1_runtime::process::Limits;
use r1_runtime::redact::{RedactionKey, Redactor, Secrets};
use r1_runtime::sandbox::{SandboxMode, environment as program_environment};
use r1_runtime::{keys, resolve};

use crate::context::Context;
use crate::environment;
use crate::error::CliError;

/// The engine, and where it keeps things.
pub(crate) struct Workshop {
    pub(crate) engine: Arc<Engine>,
    pub(crate) machine: Arc<Machine>,
    /// Where forks get their workspaces.
    pub(crate) workspaces: PathBuf,
}

impl Workshop {
    /// Opens the store and gets everything ready.
    pub(crate) async fn open(context: &Context, purpose: Purpose, sandbox: SandboxMode) -> Result<Self, CliError> {
        if purpose == Purpose::Create {
            context.home.create()?;
        }
        let store = context.open_store(purpose).await?;
        context.home.create()?;
        let machine = Arc::new(machine(sandbox));
        let key = keys::agent_key(&context.home, context.now())?.secret;
        let engine = Engine::new(
            store,
            machine.clone(),
            Arc::new(redactor(context)?),
            context.home.path().join("snapshots"),
            Some(key),
            context.instance.clone(),
        );
        Ok(Self { engine: Arc::new(engine), machine, workspaces: context.home.path().join("workspaces") })
    }

    /// The run that was typed.
    pub(crate) async fn run(&self, given: &str) -> Result<r1_event::RunId, CliError> {
        Ok(resolve(self.engine.store(), given).await?)
    }

    /// Lets go of the store, so that all of it is on the disk.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        Ok(self.engine.store().close().await?)
    }
}

fn machine(sandbox: SandboxMode) -> Machine {
    Machine {
        environment: Arc::new(environment::variable),
        program_env: program_environment::allowed(environment::variables(), &[]),
        supervisor: std::env::current_exe().ok(),
        sandbox,
        readable: Vec::new(),
        writable: Vec::new(),
        limits: Limits::default(),
        net: NetConfig::default(),
        search: None,
    }
}

fn redactor(context: &Context) -> Result<Redactor, CliError> {
    let key = RedactionKey::load_or_mint(&context.home)?;
    let mut secrets = Secrets::default();
    secrets.add_environment(environment::variables(), &[]);
    Ok(Redactor::new(key, &secrets)?)
}
