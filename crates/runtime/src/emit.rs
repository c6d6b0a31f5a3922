//! How whatever runs on behalf of a run gets its events into the log.

use r1_event::{Digest, Payload};
use r1_protocol::data::EventData;
use tokio::sync::{mpsc, oneshot};

/// An event on its way to the log.
#[derive(Debug)]
pub struct Emission {
    /// What happened.
    pub payload: Payload,
    /// Blobs that the event names, so that they are kept as long as it is.
    pub blobs: Vec<Digest>,
}

impl Emission {
    /// An event that names no blobs.
    #[must_use]
    pub const fn plain(payload: Payload) -> Self {
        Self { payload, blobs: Vec::new() }
    }
}

impl<T: EventData> From<T> for Emission {
    fn from(data: T) -> Self {
        Self::plain(data.to_payload())
    }
}

/// Events that go in together, and who waits for them.
#[derive(Debug)]
pub struct EmitRequest {
    /// In this order.
    pub events: Vec<Emission>,
    /// Hears the events' ids once they are durable.
    pub done: oneshot::Sender<Vec<String>>,
}

/// The way into one run's log. Clones lead to the same writer.
#[derive(Clone, Debug)]
pub struct Emitter {
    queue: mpsc::Sender<EmitRequest>,
}

impl Emitter {
    /// An emitter, and the queue that its writer serves.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<EmitRequest>) {
        let (queue, requests) = mpsc::channel(capacity);
        (Self { queue }, requests)
    }

    /// Writes one event; returns its id once it is durable.
    pub async fn emit(&self, event: impl Into<Emission>) -> Result<String, WriterGone> {
        self.emit_all(vec![event.into()]).await?.pop().ok_or(WriterGone)
    }

    /// Writes events, all or none, in this order; returns their ids once they are durable.
    pub async fn emit_all(&self, events: Vec<Emission>) -> Result<Vec<String>, WriterGone> {
        let (done, written) = oneshot::channel();
        self.queue.send(EmitRequest { events, done }).await.map_err(|_| WriterGone)?;
        written.await.map_err(|_| WriterGone)
    }
}

/// The run is no longer written here: the process ends it, or lost its lease. Stop what you do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run is no longer written by this process")]
pub struct WriterGone;
