//! A run's events as they come.

use std::io;

use futures_util::{Stream, stream};
use r1_protocol::api::ErrorCode;
use r1_runtime::control::events::EventsError;
use tokio_util::sync::CancellationToken;

use crate::hub::{Follower, Stopped};
use crate::sse::{Broken, Frames, Source, Step};

/// The events of one run for a stream.
pub(super) struct RunSource {
    follower: Follower,
    /// Whether events are named by their types.
    named: bool,
    /// The last event that was looked at, and whether the client knows.
    reached: Option<u64>,
    told: bool,
}

impl RunSource {
    pub(super) const fn new(follower: Follower, named: bool) -> Self {
        Self { follower, named, reached: None, told: true }
    }

    /// Moves the client's cursor to the last event that was looked at.
    fn tell_place(&mut self, frames: &mut Frames) {
        if let Some(reached) = self.reached.filter(|_| !self.told) {
            frames.place(reached);
            self.told = true;
        }
    }
}

impl Source for RunSource {
    async fn next(&mut self, frames: &mut Frames) -> Result<Step, Broken> {
        let Some(batch) = self.follower.next().await.map_err(broken)? else {
            // Whoever comes back from here is behind the end.
            self.tell_place(frames);
            return Ok(Step::End);
        };
        let dialect = self.follower.wanted().view.dialect;
        for event in &batch.events {
            let name = self.named.then(|| dialect.name_of(&event.type_name));
            frames.event(event.sequence, name.as_deref(), &event.bytes);
        }
        self.told = batch.reached.is_none() || batch.reached == batch.events.last().map(|event| event.sequence);
        self.reached = batch.reached;
        Ok(Step::More)
    }

    fn beat(&mut self, frames: &mut Frames) {
        if self.told {
            frames.comment("alive");
        } else {
            self.tell_place(frames);
        }
    }
}

/// What a client is told of why a stream breaks off.
fn broken(stopped: Stopped) -> Broken {
    match stopped {
        Stopped::Closed => Broken(ErrorCode::CrashRecovery),
        Stopped::Failed(err) => {
            tracing::error!(error = %err, "a stream broke off");
            match &*err {
                EventsError::NoRun { .. } => Broken(ErrorCode::NotFound),
                EventsError::Store(_) => Broken(ErrorCode::Internal),
            }
        }
    }
}

/// A run's events as lines, until it ends or the server does.
pub(super) fn lines(
    follower: Follower,
    draining: CancellationToken,
) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    stream::unfold((follower, draining, false), |(mut follower, draining, over)| async move {
        if over {
            return None;
        }
        let (part, over) = tokio::select! {
            biased;
            () = draining.cancelled() => return None,
            part = some_lines(&mut follower) => match part {
                Ok(lines) => (Ok(lines?), false),
                // Cut off, not ended: the client sees that something is missing.
                Err(stopped) => (Err(io::Error::other(stopped)), true),
            },
        };
        Some((part, (follower, draining, over)))
    })
}

async fn some_lines(follower: &mut Follower) -> Result<Option<Vec<u8>>, Stopped> {
    while let Some(batch) = follower.next().await? {
        let mut lines = Vec::new();
        for event in &batch.events {
            lines.extend_from_slice(&event.bytes);
            lines.push(b'\n');
        }
        if !lines.is_empty() {
            return Ok(Some(lines));
        }
    }
    Ok(None)
}
