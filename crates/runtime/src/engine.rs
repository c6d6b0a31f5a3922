//! Carries out what the loop decides: appends its events, makes the model and tool calls, takes commands.
//!
//! - [`Engine`]: what all runs of a process share; [`Engine::work`] takes a run and works on it until it
//!   ends, is handed over, or is lost to another process.
//! - `runner`: the one task that owns a run while it is worked on.
//! - `turn`, `call`: one model call, one tool call, as tasks of their own.
//! - `gate`: one gate, as a task of its own.
//! - `stage`: how events get into a batch.
//! - `seam`: how a run is taken over from a process that is gone.

mod admission;
mod call;
mod claim;
mod gate;
mod keeper;
mod room;
mod runner;
mod seam;
mod slot;
mod stage;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use r1_event::{Kind, RunId};
use r1_receipt::key::SecretKey;
use r1_store::SharedStore;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::agent::{FoldError, RunSpec, Toolset};
use crate::control::caller::Caller;
use crate::index::Index;
use crate::mcp::Servers;
use crate::provider::{Provider, ProviderError};
use crate::redact::Redactor;
use crate::sandbox::{Sandbox, SandboxUnavailable};
use crate::snapshot::Snapshots;
use crate::workspace::Workspace;
use crate::writer::{LEASE, WriterError};

pub use slot::Slot;

pub use claim::{Claimed, claim_for_append, pause_abandoned, release_the_dead, throttle};

/// How long calls may finish when the process is asked to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the world looks to a run: filled in by whoever starts the process.
pub trait World: Send + Sync {
    /// The model of a run.
    fn provider(&self, spec: &RunSpec) -> Result<Arc<dyn Provider>, ProviderError>;

    /// The tools of a run, connected to whatever they need.
    fn tools<'a>(&'a self, spec: &'a RunSpec, workspace: &'a Path) -> BoxFuture<'a, Connected>;

    /// How its programs are confined.
    fn sandbox<'a>(
        &'a self,
        spec: &'a RunSpec,
        workspace: &'a Workspace,
    ) -> BoxFuture<'a, Result<Sandbox, SandboxUnavailable>>;
}

/// Tools, and what could not be had.
pub struct Connected {
    /// The tools.
    pub tools: Toolset,
    /// Names of tools or servers that are not there, and why.
    pub missing: Vec<(String, String)>,
    /// The MCP servers behind some of them.
    pub servers: Servers,
}

/// What all runs of a process share.
pub struct Engine {
    store: SharedStore,
    index: Index,
    world: Arc<dyn World>,
    redactor: Arc<Redactor>,
    snapshots: Snapshots,
    workspaces: PathBuf,
    key: Option<SecretKey>,
    instance: String,
    lease: Duration,
    bell: Arc<Notify>,
    patience: Duration,
    hurry: CancellationToken,
    keeper: keeper::Keeper,
}

/// How a stretch of work on a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run is over.
    Ended(Kind),
    /// It was asked to stop and gave the run back; another worker may go on.
    HandedOver,
    /// It is a session with nothing to do, and was asked to stop.
    Idle,
}

/// Why work on a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its history cannot be read.
    #[error(transparent)]
    History(#[from] crate::history::HistoryError),
    /// Its log cannot be gone on with.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// Its log cannot be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] r1_store::StoreError),
    /// It is held back until it is released.
    #[error("the run is held back; release it first")]
    Held,
    /// It has ended.
    #[error("the run has ended")]
    Ended,
    /// It records another agent, or what people do: only its recorder adds to it.
    #[error("the run is a record, and nothing is to be done in it; only its recorder can add to it")]
    Recorded,
    /// Its lease could not be renewed in time.
    #[error("the lease could not be renewed in time; the work was stopped before another could take over")]
    LeaseLost,
    /// No random numbers.
    #[error(transparent)]
    NoRandomness(#[from] crate::world::NoRandomness),
}

impl Engine {
    /// An engine for runs in `store`. With a key, runs are sealed when they end.
    pub fn new(
        store: SharedStore,
        world: Arc<dyn World>,
        redactor: Arc<Redactor>,
        snapshots: PathBuf,
        key: Option<SecretKey>,
        instance: String,
    ) -> Self {
        // Both are in R1's own directory.
        let workspaces = snapshots.with_file_name("workspaces");
        let (snapshots, lease) = (Snapshots::at(snapshots), LEASE);
        Self {
            index: Index::new(store.clone()),
            store,
            world,
            redactor,
            snapshots,
            workspaces,
            key,
            instance,
            lease,
            bell: Arc::default(),
            patience: PATIENCE,
            hurry: CancellationToken::new(),
            keeper: keeper::Keeper::default(),
        }
    }

    /// With leases of another length than the usual: so long a process that hangs keeps others out.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// With another time than the usual for calls to finish when the process is asked to stop.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Cancelled when nobody wants to wait any longer for calls to finish.
    #[must_use]
    pub const fn hurry(&self) -> &CancellationToken {
        &self.hurry
    }

    /// How often a lease is renewed.
    fn renew_every(&self) -> Duration {
        self.lease / 3
    }

    /// A worker that could not renew for this long stops by itself, before anyone can take over.
    fn self_fence(&self) -> Duration {
        self.lease * 5 / 6
    }

    /// Where the runs are.
    #[must_use]
    pub const fn store(&self) -> &SharedStore {
        &self.store
    }

    /// What is known of all runs.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// The name of this process in leases and logs.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Finds secrets.
    #[must_use]
    pub const fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Saved workspaces.
    #[must_use]
    pub const fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// Where runs get workspaces of their own.
    #[must_use]
    pub fn workspaces(&self) -> &Path {
        &self.workspaces
    }

    /// The key that seals.
    #[must_use]
    pub const fn key(&self) -> Option<&SecretKey> {
        self.key.as_ref()
    }

    /// Rung whenever a run may wait for a worker that did not before.
    #[must_use]
    pub const fn bell(&self) -> &Arc<Notify> {
        &self.bell
    }

    /// Takes a run that nobody works on, and works on it until it ends or `stop` is called.
    pub async fn work(&self, run: &RunId, why: Claim, stop: CancellationToken) -> Result<Outcome, EngineError> {
        let claimed = self.claim(run, why).await?;
        self.carry_on(claimed, stop, &Slot::default()).await
    }

    /// Takes a run that nobody works on. Its log says so when this returns.
    pub async fn claim(&self, run: &RunId, why: Claim) -> Result<Claimed, EngineError> {
        claim::claim(self, run, why).await
    }

    /// Works on a run that was taken until it ends or `stop` is called. The slot tells whether there is work.
    pub async fn carry_on(
        &self,
        claimed: Claimed,
        stop: CancellationToken,
        slot: &Slot,
    ) -> Result<Outcome, EngineError> {
        if let Some(kind) = claimed.state.terminal {
            claimed.writer.close().await?;
            return Ok(Outcome::Ended(kind));
        }
        match runner::Runner::new(self, claimed).await? {
            Some(runner) => runner.run(stop, slot).await,
            None => Ok(Outcome::Ended(Kind::RunFailed)),
        }
    }
}

/// Why a worker takes a run.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// A person asked for it: also a session whose worker died goes on.
    pub by_operator: bool,
    /// What the person adds.
    pub message: Option<String>,
    /// Who the person is.
    pub caller: Caller,
}
