//! What every request can reach.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use r1_event::UnixNanos;
use r1_runtime::Keyring;
use r1_runtime::control::order::Shop;
use r1_runtime::engine::Engine;
use r1_runtime::index::Index;
use r1_runtime::workers::Foreman;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{Access, AccessSettings};
use crate::error::ApiError;
use crate::metrics::Metrics;
use crate::streams::{StreamOptions, Streams};

/// The server's parts. It holds no facts about runs: those are in the store.
pub struct App {
    pub(crate) engine: Arc<Engine>,
    pub(crate) access: Access,
    pub(crate) metrics: Metrics,
    pub(crate) keyring: Keyring,
    pub(crate) limits: Limits,
    pub(crate) node: Node,
    pub(crate) streams: Streams,
    pub(crate) index: Index,
    shop: Option<Shop>,
    workers: Option<Foreman>,
    /// Work that goes on although its client may have gone.
    pub(crate) tasks: TaskTracker,
    draining: CancellationToken,
    shutdown: CancellationToken,
}

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who may come in.
    pub access: AccessSettings,
    /// How much a client may ask of us.
    pub limits: Limits,
    /// What is told about this node.
    pub node: Node,
    /// How events are streamed.
    pub streams: StreamOptions,
}

/// What is told about a node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Since when it serves.
    pub started_at: UnixNanos,
    /// Runs that it can work on at a time.
    pub worker_slots: usize,
    /// Runs that it works on, told by its workers.
    pub busy: Arc<AtomicUsize>,
    /// How programs are confined here.
    pub sandbox_layer: String,
}

/// How much a client may ask of us.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a JSON body.
    pub body_bytes: usize,
    /// Bytes of an upload.
    pub upload_bytes: usize,
    /// How deep JSON may be nested.
    pub depth: usize,
    /// How long headers, a body, or the next byte of an upload may take to come in, and the next byte of an
    /// answer to be taken.
    pub patience: Duration,
    /// Connections at a time.
    pub connections: usize,
    /// Requests whose answer has not begun, at a time.
    pub requests: usize,
    /// Streams of events at a time.
    pub streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            upload_bytes: 64 << 20,
            depth: 64,
            patience: Duration::from_secs(30),
            connections: 4096,
            requests: 1024,
            streams: 4096,
        }
    }
}

impl App {
    /// A server of the engine's store.
    #[must_use]
    pub fn new(engine: Arc<Engine>, settings: Settings) -> Self {
        let Settings { access, limits, node, streams } = settings;
        let (access, streams) =
            (Access::new(access, engine.store().clone()), Streams::new(engine.store().clone(), streams));
        let (draining, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let index = Index::new(engine.store().clone());
        Self {
            engine,
            access,
            metrics: Metrics::new(),
            keyring: Keyring::default(),
            limits,
            node,
            streams,
            index,
            shop: None,
            workers: None,
            tasks: TaskTracker::new(),
            draining,
            shutdown,
        }
    }

    /// Since when it serves.
    #[must_use]
    pub const fn started_at(&self) -> UnixNanos {
        self.node.started_at
    }

    /// With what new tasks are made with; without it, none are made here.
    #[must_use]
    pub fn with_shop(self, shop: Shop) -> Self {
        Self { shop: Some(shop), ..self }
    }

    /// With workers that take runs up again; without them, others have to.
    #[must_use]
    pub fn with_workers(self, workers: Foreman) -> Self {
        Self { workers: Some(workers), ..self }
    }

    pub(crate) fn shop(&self) -> Result<&Shop, ApiError> {
        self.shop.as_ref().ok_or_else(|| ApiError::crash_recovery("this node makes no tasks; ask another one"))
    }

    pub(crate) fn workers(&self) -> Result<&Foreman, ApiError> {
        self.workers.as_ref().ok_or_else(|| ApiError::crash_recovery("this node has no workers; ask another one"))
    }

    /// With the keys whose signatures count.
    #[must_use]
    pub fn with_keyring(self, keyring: Keyring) -> Self {
        Self { keyring, ..self }
    }

    /// What is known of tasks, runs, approvals and artifacts; to be kept up with the logs by whoever serves.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// Called off when the server is to end: streams say `: moved` and close, nothing new is begun.
    #[must_use]
    pub const fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Called off when somebody asks over HTTP that the server ends. Whoever started it sees to that.
    #[must_use]
    pub const fn shutdown_asked(&self) -> &CancellationToken {
        &self.shutdown
    }
}
