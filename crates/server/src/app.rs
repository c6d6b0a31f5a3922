//! What every request can reach.

use std::sync::Arc;

use r1_runtime::engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::streams::{StreamOptions, Streams};

/// The server's parts. It holds no facts about runs: those are in the store.
pub struct App {
    pub(crate) engine: Arc<Engine>,
    pub(crate) limits: Limits,
    pub(crate) streams: Streams,
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
        let streams = Streams::new(engine.store().clone(), StreamOptions::default());
        Self { engine, limits, streams, draining: CancellationToken::new() }
    }

    /// With other streams than usual.
    #[must_use]
    pub fn with_streams(self, options: StreamOptions) -> Self {
        let streams = Streams::new(self.engine.store().clone(), options);
        Self { streams, ..self }
    }

    /// Called off when the server is to end: streams say `: moved` and close, nothing new is begun.
    #[must_use]
    pub const fn draining(&self) -> &CancellationToken {
        &self.draining
    }
}
