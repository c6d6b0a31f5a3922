//! What OpenTelemetry is told of the runs that this node works on. Off unless an endpoint is configured.
//!
//! Spans are a pure projection of stored events ([`spans`]): one per run, model call and tool call, with the
//! names and attributes of the GenAI conventions. Their ids come from the events' hashes, so that telling
//! twice tells the same. Who is told is somebody else's server, so nothing here ever makes a run wait: events
//! are read behind the runs, from the store's feed ([`follow`]); what the collector cannot take is dropped
//! and counted ([`export`]).
//!
//! A span is told by the node that worked on it when it ended. What was told is not written down: spans that
//! end while a node dies are not told.

mod attribute;
mod export;
mod follow;
mod meter;
mod settings;
mod spans;
mod trace;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use r1_store::{SharedStore, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use settings::{BadSettings, Settings};

use export::Exporter;
use meter::Meter;

/// So many spans wait for the collector at most.
const QUEUE: usize = 4096;

/// Tells a collector what this node's workers do.
pub struct Telemetry {
    stop: CancellationToken,
    follower: JoinHandle<()>,
    exporter: JoinHandle<()>,
    patience: Duration,
}

impl Telemetry {
    /// Starts with what is stored from now on. `instance` is this node's name in the logs.
    pub async fn start(store: SharedStore, instance: &str, settings: Settings) -> Result<Self, StoreError> {
        let from = store.feed_end().await?;
        let stop = CancellationToken::new();
        let meter = Arc::new(Mutex::new(Meter::new(r1_runtime::world::now())));
        let (queue, waiting) = mpsc::channel(QUEUE);
        let follower = follow::Follower::new(store, instance, settings.content, queue, meter.clone());
        let patience = settings.patience;
        let exporter = Exporter::new(settings, instance, meter);
        Ok(Self {
            follower: tokio::spawn(follower.run(from, stop.clone())),
            exporter: tokio::spawn(exporter.run(waiting)),
            stop,
            patience,
        })
    }

    /// Tells what is stored but not told yet, if that does not take too long. To be called when the workers
    /// have ended.
    pub async fn close(self) {
        let Self { stop, follower, mut exporter, patience } = self;
        stop.cancel();
        // The exporter ends when the follower has ended and its queue is empty.
        let told = tokio::time::timeout(patience, async {
            let _ = follower.await;
            (&mut exporter).await
        });
        if told.await.is_err() {
            exporter.abort();
            tracing::warn!("the collector is too slow: some of the last spans were not told");
        }
    }
}
