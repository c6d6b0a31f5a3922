//! What every request can reach.

use std::sync::Arc;

use r1_runtime::engine::Engine;
use tokio_util::sync::CancellationToken;

/// The server's parts. It holds no facts about runs: those are in the store.
pub struct App {
    pub(crate) engine: Arc<Engine>,
    pub(crate) limits: Limits,
    draining: CancellationToken,
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
    /// How long the headers, a body, or the next byte of an upload may take to come in.
    pub patience: std::time::Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body_bytes: 1 << 20, upload_bytes: 64 << 20, depth: 64, patience: std::time::Duration::from_secs(30) }
    }
}

impl App {
    /// A server of the engine's store.
    #[must_use]
    pub fn new(engine: Arc<Engine>, limits: Limits) -> Self {
        Self { engine, limits, draining: CancellationToken::new() }
    }

    /// Called off when the server is to end: streams say `: moved` and close, nothing new is begun.
    #[must_use]
    pub const fn draining(&self) -> &CancellationToken {
        &self.draining
    }
}
