//! One model call: its pieces go into the log as they come, its end as one batch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use r1_event::{Payload, payload};
use r1_protocol::data::{self, EventData};
use tokio::sync::mpsc;

use super::admission::admit;
use crate::agent::{RunState, Turn, answer};
use crate::emit::Emitter;
use crate::model::{Block, Delta, ModelRequest, ModelResponse, ToolUse};
use crate::provider::{Provider, ProviderError};
use crate::redact::{Redactor, StreamRedactor};

/// Pieces of text are gathered for this long before they become an event.
const GATHER: Duration = Duration::from_millis(125);

/// And become one earlier when they are this long.
const GATHER_BYTES: usize = 8 << 10;

/// How many pieces may wait while the log is written.
const PIECES: usize = 256;

/// What came of a model call.
pub(super) struct Answered {
    pub(super) result: Result<ModelResponse, ProviderError>,
    pub(super) took: Duration,
}

/// Makes the call and records its pieces.
pub(super) async fn ask(
    provider: Arc<dyn Provider>,
    request: ModelRequest,
    events: Emitter,
    redactor: Arc<Redactor>,
    thinking_deltas: bool,
) -> Answered {
    let started = Instant::now();
    let turn_index = request.turn_index;
    let (deltas, pieces) = mpsc::channel(PIECES);
    let call = provider.call(request, deltas);
    let record = record_pieces(pieces, events, redactor, turn_index, thinking_deltas);
    // Both end with the call: it drops its end of the channel.
    let (result, ()) = tokio::join!(call, record);
    Answered { result: result.and_then(admit), took: started.elapsed() }
}

async fn record_pieces(
    mut pieces: mpsc::Receiver<Delta>,
    events: Emitter,
    redactor: Arc<Redactor>,
    turn_index: u64,
    thinking_deltas: bool,
) {
    let mut open: Option<Gathering> = None;
    loop {
        let flush_at = open.as_ref().and_then(|gathering| gathering.since).map(|since| since + GATHER);
        let piece = match flush_at {
            Some(at) => tokio::time::timeout_at(at.into(), pieces.recv()).await,
            None => Ok(pieces.recv().await),
        };
        let written = match piece {
            // Time is up: write what there is.
            Err(_) => flush(&mut open, &events, turn_index, false).await,
            Ok(None) => {
                let _ = flush(&mut open, &events, turn_index, true).await;
                return;
            }
            Ok(Some(Delta::Thinking { .. })) if !thinking_deltas => true,
            Ok(Some(delta)) => {
                let (block, is_thinking, text) = match delta {
                    Delta::Text { block, text } => (block, false, text),
                    Delta::Thinking { block, text } => (block, true, text),
                };
                let same = open.as_ref().is_some_and(|open| open.block == block && open.is_thinking == is_thinking);
                let flushed = same || flush(&mut open, &events, turn_index, true).await;
                let gathering = open.get_or_insert_with(|| Gathering::new(block, is_thinking, &redactor));
                gathering.add(&text);
                let full = gathering.text.len() >= GATHER_BYTES;
                flushed && (!full || flush(&mut open, &events, turn_index, false).await)
            }
        };
        if !written {
            return;
        }
    }
}

/// Text of one block that is not in the log yet.
struct Gathering {
    block: u64,
    is_thinking: bool,
    redactor: StreamRedactor,
    text: String,
    since: Option<Instant>,
}

impl Gathering {
    fn new(block: u64, is_thinking: bool, redactor: &Redactor) -> Self {
        Self { block, is_thinking, redactor: redactor.stream(), text: String::new(), since: None }
    }

    fn add(&mut self, text: &str) {
        let clean = self.redactor.push(text.as_bytes());
        if !clean.is_empty() {
            // The redactor cuts between characters, and it was fed whole ones.
            self.text.push_str(&String::from_utf8_lossy(&clean));
            self.since.get_or_insert_with(Instant::now);
        }
    }
}

/// Writes what was gathered; with `end` the block is over. False if the run is no longer ours.
async fn flush(open: &mut Option<Gathering>, events: &Emitter, turn_index: u64, end: bool) -> bool {
    let Some(mut gathering) = open.take() else { return true };
    let (block_index, is_thinking) = (gathering.block, gathering.is_thinking);
    let mut delta = std::mem::take(&mut gathering.text);
    gathering.since = None;
    if end {
        delta.push_str(&String::from_utf8_lossy(&gathering.redactor.finish()));
    } else {
        *open = Some(gathering);
    }
    if delta.is_empty() {
        return true;
    }
    let written = if is_thinking {
        events.emit(data::AssistantThinkingDelta { turn_index, block_index, delta, ..Default::default() }).await
    } else {
        events.emit(data::AssistantTextDelta { turn_index, block_index, delta, ..Default::default() }).await
    };
    written.is_ok()
}

/// The events of an answer, in the order that the protocol gives them.
#[expect(clippy::cast_precision_loss, reason = "the exact amount stands beside it")]
pub(super) fn answer_events(state: &RunState, turn: &Turn, response: &ModelResponse, took: Duration) -> Vec<Payload> {
    let turn_index = turn.index;
    let mut events = Vec::new();
    for (block_index, block) in (0..).zip(&response.blocks) {
        match block {
            Block::Thinking(thinking) => events.push(Payload::ReasoningEmitted(payload::ReasoningEmitted {
                turn_id: turn.turn_id.clone(),
                content: thinking.text.clone(),
                sensitive: true,
                signature: thinking.signature.clone(),
                redacted: thinking.redacted,
                turn_index: Some(turn_index),
                block_index: Some(block_index),
                ..Default::default()
            })),
            Block::Text(text) => events.push(
                data::AssistantTextComplete { turn_index, block_index, text: text.clone(), ..Default::default() }
                    .to_payload(),
            ),
            Block::ToolUse(_) | Block::ToolResult(_) | Block::Attachment { .. } => {}
        }
    }
    let calls: Vec<_> = response.blocks.iter().filter_map(as_tool_use).collect();
    for call in &calls {
        let proposed = data::AssistantToolCallProposed {
            turn_index,
            tool_call_id: call.call_id.clone(),
            tool_name: call.tool.clone(),
            input: call.input.as_object().cloned().unwrap_or_default(),
            ..Default::default()
        };
        events.push(proposed.to_payload());
    }
    let text = answer::text(&response.blocks);
    if calls.is_empty() {
        let summary = text.clone();
        events.push(data::AssistantFinalAnswer { turn_index, summary, ..Default::default() }.to_payload());
    }
    let (cost, cost_source) = cost(state, response);
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let usage = &response.usage;
    events.push(Payload::AssistantMessageCompleted(Box::new(payload::AssistantMessageCompleted {
        turn_id: turn.turn_id.clone(),
        text,
        stop_reason: response.stop_reason.as_str().into(),
        input_tokens: signed(usage.input_tokens),
        output_tokens: signed(usage.output_tokens),
        cache_read_tokens: signed(usage.cache_read_tokens),
        cache_create_tokens: signed(usage.cache_write_tokens),
        cost_usd: cost as f64 / 1e6,
        cost_micros_usd: Some(cost),
        cost_source: Some(cost_source.into()),
        raw_response_hash: Some(Bytes::copy_from_slice(response.raw_response_hash.as_bytes())),
        provider_request_id: response.request_id.clone().unwrap_or_default(),
        tool_uses: Some(answer::tool_uses(&response.blocks)),
        turn_index: Some(turn_index),
        duration_ms: u64::try_from(took.as_millis()).ok(),
        ..Default::default()
    })));
    events
}

/// The events of an attempt that gave no answer.
pub(super) fn failure_events(state: &RunState, turn: &Turn, error: &ProviderError) -> Vec<Payload> {
    let (attempt, max_attempts) = (turn.failures + 1, state.spec.max_attempts.max(1));
    let retriable = error.kind.is_retriable();
    let upstream = data::ErrorUpstream {
        provider: state.provider.clone(),
        status: error.status.into(),
        message: error.message.clone(),
        retriable,
        attempt,
        max_attempts,
        ..Default::default()
    };
    let failed = payload::TurnFailed {
        turn_id: Some(turn.turn_id.clone()),
        turn_index: Some(turn.index),
        code: Some(error.kind.code().into()),
        message: Some(error.message.clone()),
        will_retry: Some(retriable && attempt < max_attempts),
        attempt: Some(attempt),
        ..Default::default()
    };
    vec![upstream.to_payload(), Payload::TurnFailed(failed)]
}

fn as_tool_use(block: &Block) -> Option<&ToolUse> {
    if let Block::ToolUse(call) = block { Some(call) } else { None }
}

/// What a call cost, and who says so.
fn cost(state: &RunState, response: &ModelResponse) -> (u64, &'static str) {
    match (response.cost_micros_usd, &state.spec.price) {
        (Some(micros), _) => (micros, "provider"),
        (None, Some(price)) => (price.cost(&response.usage), "price_book"),
        (None, None) => (0, "unknown"),
    }
}

/// How long to wait before the attempt after this failure: exponential, with chance, or as the provider wants.
pub(super) fn retry_delay(failures: u64, wanted: Option<Duration>, chance: u64) -> Duration {
    if let Some(wanted) = wanted {
        return wanted.min(Duration::from_secs(60));
    }
    let ceiling = 1_000u64.saturating_mul(1 << failures.min(5)).min(30_000);
    Duration::from_millis(1_000.max(ceiling / 2 + chance % (ceiling / 2 + 1)))
}
