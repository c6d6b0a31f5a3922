//! A provider somewhere else: what all wire formats have in common.

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;

use super::answer::Answer;
use super::http::{Http, KeyHeader, Stream, malformed};
use super::sse::{SseDecoder, SseEvent};
use super::{Provider, ProviderError, ProviderFailure};
use crate::model::{Delta, ModelRequest, ModelResponse, StopReason};

/// The last event of some APIs repeats the whole answer, files included.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One vendor's way to say things.
pub(super) trait Dialect: Send + Sync {
    /// Reads one answer.
    type Reader: Reader;

    /// How the key is shown.
    const KEY: KeyHeader;
    /// Further headers of each request.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    /// The query of each request.
    const QUERY: Option<&'static str> = None;
    /// The header with the provider's id of the request.
    const REQUEST_ID: &'static str = "x-request-id";

    /// Where below the base URL requests go to.
    fn path(&self, request: &ModelRequest) -> Vec<String>;

    /// What is asked.
    fn body(&self, request: &ModelRequest) -> Value;

    /// A reader of the answer.
    fn reader(&self) -> Self::Reader;
}

/// Puts an answer together from its events.
pub(super) trait Reader: Send {
    /// Takes an event's data.
    fn read(&mut self, data: &str, answer: &mut Answer) -> Result<Progress, ProviderError>;
}

/// How far an answer has come. It never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    /// It misses something that must come.
    Incomplete,
    /// If the stream ended here, nothing would be missing.
    Complete,
    /// Nothing more will come.
    Done,
}

/// A provider that is reached over HTTP and speaks `D`.
pub(super) struct Remote<D> {
    name: String,
    http: Http,
    dialect: D,
}

impl<D: Dialect> Remote<D> {
    pub(super) fn new(name: &str, http: Http, dialect: D) -> Self {
        Self { name: name.to_owned(), http, dialect }
    }

    async fn ask(&self, request: ModelRequest, deltas: mpsc::Sender<Delta>) -> Result<ModelResponse, ProviderError> {
        let path = self.dialect.path(&request);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let body = self.dialect.body(&request);
        let mut stream = self.http.post(&path, D::QUERY, D::HEADERS, &body).await?;
        let answer = self.listen(&mut stream, &deltas).await?;
        let stop_reason = match answer.stop {
            // A model that calls tools waits for them, whatever it is said to have stopped for.
            None | Some(StopReason::EndTurn | StopReason::ToolUse) if answer.has_calls() => StopReason::ToolUse,
            None | Some(StopReason::EndTurn | StopReason::ToolUse) => StopReason::EndTurn,
            Some(other @ (StopReason::MaxTokens | StopReason::StopSequence | StopReason::Refusal)) => other,
        };
        Ok(ModelResponse {
            stop_reason,
            usage: answer.usage,
            cost_micros_usd: answer.cost_micros_usd,
            request_id: stream.header(D::REQUEST_ID).or_else(|| answer.id.clone()),
            raw_response_hash: stream.hash(),
            blocks: answer.into_blocks(request.turn_index),
        })
    }

    async fn listen(&self, stream: &mut Stream<'_>, deltas: &mpsc::Sender<Delta>) -> Result<Answer, ProviderError> {
        let mut decoder = SseDecoder::new(MAX_EVENT_BYTES);
        let mut reader = self.dialect.reader();
        let mut answer = Answer::default();
        let mut progress = Progress::Incomplete;
        let mut events = Vec::new();
        while progress < Progress::Done {
            let chunk = match stream.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    events.extend(decoder.finish());
                    progress = progress.max(read_all(&mut events, &mut reader, &mut answer, deltas).await?);
                    break;
                }
                // What is missing is only the end of the transport.
                Err(err) if progress == Progress::Complete && err.kind == ProviderFailure::Unreachable => break,
                Err(err) => return Err(err),
            };
            let pushed = decoder.push(&chunk, &mut events);
            progress = progress.max(read_all(&mut events, &mut reader, &mut answer, deltas).await?);
            if let Err(refused) = pushed
                && progress < Progress::Done
            {
                return Err(malformed(refused.to_string()));
            }
        }
        if progress == Progress::Incomplete {
            return Err(ProviderError {
                kind: ProviderFailure::Unreachable,
                status: 200,
                message: "the provider's answer was cut off before its end".to_owned(),
                retry_after: None,
            });
        }
        Ok(answer)
    }
}

impl<D: Dialect> Provider for Remote<D> {
    fn id(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest,
        deltas: mpsc::Sender<Delta>,
    ) -> BoxFuture<'a, Result<ModelResponse, ProviderError>> {
        Box::pin(async move { self.ask(request, deltas).await.map_err(|err| self.http.hide_secrets(err)) })
    }
}

async fn read_all(
    events: &mut Vec<SseEvent>,
    reader: &mut impl Reader,
    answer: &mut Answer,
    deltas: &mpsc::Sender<Delta>,
) -> Result<Progress, ProviderError> {
    let mut progress = Progress::Incomplete;
    for event in events.drain(..) {
        if progress == Progress::Done {
            break;
        }
        progress = progress.max(reader.read(&event.data, answer)?);
        for delta in answer.take_fresh() {
            // Whoever does not listen to the pieces still gets the whole.
            let _ = deltas.send(delta).await;
        }
    }
    Ok(progress)
}

/// The JSON of an event.
pub(super) fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|err| malformed(format!("the answer holds JSON that cannot be read: {err}")))
}

/// Text at a place, or none.
pub(super) fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A count at a place, or 0.
pub(super) fn count_at(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}
