//! Events as a stream that browsers understand (`text/event-stream`).
//!
//! Every `data:` line is one envelope; all else is comments. A stream begins with how soon to come back, says
//! something at least every 15 seconds, and tells in its last comment why it ends.

mod frame;

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use prometheus_client::metrics::counter::Counter;
use r1_protocol::api::ErrorCode;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::error::ApiError;
use crate::metrics::Counted;
use crate::stream_body;

pub(crate) use frame::Frames;

/// How long a stream may be silent.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Where a stream's events come from.
pub(crate) trait Source: Send + 'static {
    /// Writes what comes next, as soon as it is there. Cancel-safe.
    fn next(&mut self, frames: &mut Frames) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Writes a sign of life.
    fn beat(&mut self, frames: &mut Frames);
}

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There may be more.
    More,
    /// That was all there will ever be.
    End,
}

/// A stream cannot go on; the client learns the code, the log the cause.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) ErrorCode);

/// The answer that streams from `source` until it ends or the server does.
pub(crate) fn answer(source: impl Source, app: &App) -> Response {
    if usize::try_from(app.metrics.subscribers.get()).is_ok_and(|open| open >= app.limits.streams) {
        return ApiError::too_many("as many streams are open as this server serves", 5).into_response();
    }
    let stream = Stream {
        source,
        draining: app.draining().clone(),
        beat: app.streams.options.heartbeat,
        state: State::Opening,
        served: app.metrics.events_served.clone(),
        _subscriber: Counted::in_gauge(&app.metrics.subscribers),
    };
    let body = stream::unfold(stream, |mut stream| async move {
        stream.piece().await.map(|piece| (Ok::<_, Infallible>(piece), stream))
    });
    let mut response = Response::new(stream_body::of(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Stream<S> {
    source: S,
    draining: CancellationToken,
    beat: Duration,
    state: State,
    /// Counts events.
    served: Counter,
    _subscriber: Counted,
}

enum State {
    Opening,
    Open,
    Closed,
}

impl<S: Source> Stream<S> {
    /// The next piece of the body.
    async fn piece(&mut self) -> Option<Bytes> {
        let mut frames = Frames::default();
        match self.state {
            State::Opening => {
                // At once, so that a client knows that it is connected although nothing has happened yet.
                frames.opening();
                self.state = State::Open;
            }
            State::Open => self.go_on(&mut frames).await,
            State::Closed => return None,
        }
        self.served.inc_by(frames.events());
        Some(frames.into_bytes())
    }

    async fn go_on(&mut self, frames: &mut Frames) {
        // Over all that is looked at: a busy stream of which a client wants nothing is silent to it.
        let beat = Instant::now() + self.beat;
        while frames.is_empty() {
            let next = timeout_at(beat, self.source.next(frames));
            let ended = tokio::select! {
                biased;
                () = self.draining.cancelled() => Some("moved"),
                step = next => match step {
                    Ok(Ok(Step::More)) => None,
                    Ok(Ok(Step::End)) => Some("end"),
                    Ok(Err(Broken(code))) => {
                        frames.comment(&format!("error {}", code.as_str()));
                        self.state = State::Closed;
                        return;
                    }
                    Err(_) => {
                        self.source.beat(frames);
                        None
                    }
                },
            };
            if let Some(word) = ended {
                frames.comment(word);
                self.state = State::Closed;
            }
        }
    }
}
