//! The provider that plays a [`Scenario`]: the same answers every time, without a key and without a
//! network.
//!
//! It has no state. Which turn is played is said by the request, so a run that was killed goes on where it
//! was.

mod scenario;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use r1_event::Digest;
use tokio::sync::mpsc;

use super::conversation::text_of;
use super::{Provider, ProviderError, ProviderFailure};
use crate::model::{Block, Delta, Message, ModelRequest, ModelResponse, StopReason, Thinking, ToolUse, Usage};

pub use scenario::{Failure, Scenario, ScenarioError, ScriptedCall, ScriptedStop, ScriptedTurn, ScriptedUsage};

/// Plays a scenario.
pub struct Scripted {
    name: String,
    scenario: Arc<Scenario>,
}

impl Scripted {
    /// A provider of this name.
    #[must_use]
    pub fn new(name: &str, scenario: Arc<Scenario>) -> Self {
        Self { name: name.to_owned(), scenario }
    }

    async fn play(&self, request: ModelRequest, deltas: mpsc::Sender<Delta>) -> Result<ModelResponse, ProviderError> {
        let (number, turn) = self.turn(request.turn_index)?;
        check_when(number, turn, request.messages.last())?;
        let blocks = blocks(turn, request.turn_index);
        let failure = usize::try_from(request.attempt.saturating_sub(1)).ok().and_then(|past| turn.failures.get(past));
        match failure {
            None => stream(turn, &blocks, usize::MAX, &deltas).await,
            Some(failure) => return Err(fail(failure, turn, &blocks, &deltas).await),
        }
        let stop_reason = if turn.tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let ScriptedUsage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = turn.usage;
        Ok(ModelResponse {
            blocks,
            stop_reason: turn.stop_reason.map_or(stop_reason, StopReason::from),
            usage: Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens },
            cost_micros_usd: turn.cost_micros_usd,
            request_id: Some(format!("scripted-{}-{}", request.turn_index, request.attempt)),
            raw_response_hash: raw_hash(turn),
        })
    }

    fn turn(&self, index: u64) -> Result<(u64, &ScriptedTurn), ProviderError> {
        let scripted = usize::try_from(index).ok().and_then(|index| self.scenario.turns.get(index));
        let number = index.saturating_add(1);
        scripted.or(self.scenario.default.as_ref()).map(|turn| (number, turn)).ok_or_else(|| {
            let turns = self.scenario.turns.len();
            rejected(format!("the scenario has {turns} turns and no `default`, but turn {number} was asked for"))
        })
    }
}

impl Provider for Scripted {
    fn id(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest,
        deltas: mpsc::Sender<Delta>,
    ) -> BoxFuture<'a, Result<ModelResponse, ProviderError>> {
        Box::pin(self.play(request, deltas))
    }
}

/// A scenario that was written for another conversation should say so at once, not play on.
fn check_when(number: u64, turn: &ScriptedTurn, last: Option<&Message>) -> Result<(), ProviderError> {
    let Some(expected) = &turn.when else { return Ok(()) };
    let says = |block: &Block| match block {
        Block::Text(text) => text.contains(expected),
        Block::ToolResult(result) => text_of(&result.content).contains(expected),
        Block::Attachment { name, .. } => name.contains(expected),
        Block::Thinking(_) | Block::ToolUse(_) => false,
    };
    if last.is_some_and(|message| message.blocks.iter().any(says)) {
        return Ok(());
    }
    Err(rejected(format!(
        "turn {number} of the scenario is for a last message with `{expected}` in it, and there is none"
    )))
}

fn blocks(turn: &ScriptedTurn, turn_index: u64) -> Vec<Block> {
    let thinking = (!turn.thinking.is_empty()).then(|| {
        let signature = turn.thinking_signature.clone().map(Into::into);
        Block::Thinking(Thinking { text: turn.thinking.clone(), signature, redacted: false })
    });
    let text = (!turn.text.is_empty()).then(|| Block::Text(turn.text.clone()));
    let calls = turn.tool_calls.iter().enumerate().map(|(number, call)| {
        let call_id = call.id.clone().unwrap_or_else(|| format!("call_{turn_index}_{number}"));
        Block::ToolUse(ToolUse { call_id, tool: call.tool.clone(), input: call.input.clone().into() })
    });
    thinking.into_iter().chain(text).chain(calls).collect()
}

/// Streams thinking and text, up to `limit` characters in all.
async fn stream(turn: &ScriptedTurn, blocks: &[Block], limit: usize, deltas: &mpsc::Sender<Delta>) {
    let mut left = limit;
    for (block, content) in (0..).zip(blocks) {
        let text = match content {
            Block::Text(text) => text,
            Block::Thinking(thinking) => &thinking.text,
            Block::ToolUse(_) | Block::ToolResult(_) | Block::Attachment { .. } => continue,
        };
        let shown: String = text.chars().take(left).collect();
        left -= shown.chars().count();
        for piece in pieces(&shown, turn.chunk_chars) {
            pause(turn.delay_ms).await;
            let text = piece.to_owned();
            let delta = match content {
                Block::Thinking(_) => Delta::Thinking { block, text },
                Block::Text(_) | Block::ToolUse(_) | Block::ToolResult(_) | Block::Attachment { .. } => {
                    Delta::Text { block, text }
                }
            };
            // Whoever does not listen to the pieces still gets the whole.
            let _ = deltas.send(delta).await;
        }
    }
}

async fn fail(failure: &Failure, turn: &ScriptedTurn, blocks: &[Block], deltas: &mpsc::Sender<Delta>) -> ProviderError {
    match failure {
        Failure::Status { status, message, retry_after_ms } => ProviderError {
            kind: super::http::failure_of(*status),
            status: *status,
            message: message.clone().unwrap_or_else(|| format!("the scenario answers with status {status}")),
            retry_after: retry_after_ms.map(Duration::from_millis),
        },
        Failure::Cut { after_chars } => {
            stream(turn, blocks, *after_chars, deltas).await;
            ProviderError {
                kind: ProviderFailure::Unreachable,
                status: 200,
                message: format!("the scenario cuts the answer after {after_chars} characters"),
                retry_after: None,
            }
        }
        Failure::Timeout { after_ms } => {
            pause(*after_ms).await;
            ProviderError {
                kind: ProviderFailure::Timeout,
                status: 0,
                message: "the scenario lets the provider be silent for too long".to_owned(),
                retry_after: None,
            }
        }
        Failure::Hang => std::future::pending().await,
    }
}

fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match size {
            0 => rest.len(),
            size => rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at),
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// There are no bytes from elsewhere; the turn as it is written stands for them.
fn raw_hash(turn: &ScriptedTurn) -> Digest {
    Digest::blake3(&serde_json::to_vec(turn).unwrap_or_default())
}

fn rejected(message: String) -> ProviderError {
    ProviderError { kind: ProviderFailure::Rejected, status: 0, message, retry_after: None }
}

#[cfg(test)]
mod tests;
