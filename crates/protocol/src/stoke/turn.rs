//! The turn that is going on: its blocks as they stream in, and the whole answer at its end.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::UnixNanos;
use r1_event::payload::{AssistantMessageCompleted, ReasoningEmitted, TurnStarted};
use serde_json::{Value, json};

use super::line::{LineKind, Sheet};
use super::{Options, claude_if, partial_line};
use crate::data::{
    AssistantTextComplete, AssistantTextDelta, AssistantThinkingDelta, AssistantToolCallProposed, Object,
};
use crate::json;

/// Names the turn on the first and the last line of an answer. Its own name is another on each: what the
/// provider calls it is not known when it begins.
pub(super) const TURN_ID: &str = "_stoke.dev/turn_id";

/// What is known of the turn that is going on.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    id: String,
    started: Option<UnixNanos>,
    model: String,
    /// Blocks with their numbers on the stream, by their place in the answer, until they end.
    open: BTreeMap<u64, u64>,
    /// How many blocks began on the stream.
    begun: u64,
    /// Whether anything of the answer was streamed.
    heard: bool,
    /// Whole blocks of reasoning and text, by their place in the answer.
    blocks: BTreeMap<u64, Value>,
}

enum Piece {
    Text(String),
    Thinking(String),
    Input(String),
}

impl Turn {
    pub(super) fn start(&mut self, turn: &TurnStarted, at: UnixNanos, run_model: &str) {
        let model = turn.model.clone().filter(|model| !model.is_empty()).unwrap_or_else(|| run_model.to_owned());
        *self = Self { id: turn.turn_id.clone(), started: Some(at), model, ..Self::default() };
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The attempt failed: another one begins its blocks anew.
    pub(super) fn attempt_failed(&mut self) {
        self.open.clear();
        self.blocks.clear();
        self.begun = 0;
    }

    pub(super) fn message_start(&self, sheet: &mut Sheet<'_>, options: &Options, turn: &TurnStarted) {
        claude_if(sheet, options, options.partial_messages, LineKind::MessageStart, "stream_event", || {
            let event = json!({ "type": "message_start", "message": {
                "id": format!("msg_{}", turn.turn_id), "type": "message", "role": "assistant", "model": self.model,
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": usage(turn.input_tokens, 0, 0, 0),
            } });
            let mut body = Object::from_iter([("event".to_owned(), event)]);
            if !turn.turn_id.is_empty() {
                body.insert(TURN_ID.into(), turn.turn_id.as_str().into());
            }
            body
        });
    }

    pub(super) fn text_delta(&mut self, sheet: &mut Sheet<'_>, options: &Options, delta: AssistantTextDelta) {
        let shown = options.partial_messages;
        let index = self.begin_if_new(sheet, options, shown, delta.block_index, || text_block(""));
        piece(sheet, options, shown, index, Piece::Text(delta.delta));
    }

    pub(super) fn thinking_delta(&mut self, sheet: &mut Sheet<'_>, options: &Options, delta: AssistantThinkingDelta) {
        let shown = options.partial_messages && options.thinking;
        let index = self.begin_if_new(sheet, options, shown, delta.block_index, || thinking_block("", ""));
        piece(sheet, options, shown, index, Piece::Thinking(delta.delta));
    }

    pub(super) fn text_complete(&mut self, sheet: &mut Sheet<'_>, options: &Options, whole: AssistantTextComplete) {
        let shown = options.partial_messages;
        if !self.open.contains_key(&whole.block_index) {
            // It was not streamed: it begins and ends here.
            let index = self.begin_if_new(sheet, options, shown, whole.block_index, || text_block(""));
            piece(sheet, options, shown, index, Piece::Text(whole.text.clone()));
        }
        self.end(sheet, options, shown, whole.block_index);
        self.blocks.insert(whole.block_index, text_block(&whole.text));
    }

    pub(super) fn thinking_complete(&mut self, sheet: &mut Sheet<'_>, options: &Options, whole: &ReasoningEmitted) {
        let place = whole.block_index.unwrap_or(self.blocks.len() as u64);
        if self.open.contains_key(&place) {
            self.end(sheet, options, options.partial_messages && options.thinking, place);
        }
        if options.thinking {
            self.blocks.insert(place, thinking(whole));
        }
    }

    pub(super) fn tool_proposed(&mut self, sheet: &mut Sheet<'_>, options: &Options, call: &AssistantToolCallProposed) {
        let shown = options.partial_messages;
        let index = self.begun;
        self.begun += 1;
        begin(
            sheet,
            options,
            shown,
            index,
            self.time_to_first(sheet.ts()),
            || json!({ "type": "tool_use", "id": call.tool_call_id, "name": call.tool_name, "input": {} }),
        );
        let mut input = Vec::new();
        crate::canonical::write_object(&mut input, &call.input);
        piece(sheet, options, shown, index, Piece::Input(String::from_utf8_lossy(&input).into_owned()));
        stop(sheet, options, shown, index);
    }

    pub(super) fn message_end(&self, sheet: &mut Sheet<'_>, options: &Options, answer: &AssistantMessageCompleted) {
        let shown = options.partial_messages;
        partial_line(sheet, options, shown, LineKind::Partial, None, || {
            let delta = json!({ "stop_reason": answer.stop_reason, "stop_sequence": null });
            json!({ "type": "message_delta", "delta": delta, "usage": answer_usage(answer) })
        });
        partial_line(sheet, options, shown, LineKind::Partial, None, || json!({ "type": "message_stop" }));
    }

    /// The whole answer, as `assistant` tells it, and the provider's name of the request.
    pub(super) fn answer(&self, answer: &AssistantMessageCompleted) -> (Value, Option<String>) {
        let request = Some(&answer.provider_request_id).filter(|id| !id.is_empty());
        let is_text = |block: &Value| block["type"] == "text";
        let mut content: Vec<_> = self.blocks.values().cloned().collect();
        if !answer.text.is_empty() && !content.iter().any(is_text) {
            content.push(text_block(&answer.text));
        }
        let calls = answer.tool_uses.iter().flatten();
        content.extend(calls.map(|call| {
            let input = match json::from_raw(&call.args) {
                input @ Value::Object(_) => input,
                Value::Null => json!({}),
                raw => json!({ "raw": raw }),
            };
            json!({ "type": "tool_use", "id": call.call_id, "name": call.tool, "input": input })
        }));
        let message = json!({
            "id": request.cloned().unwrap_or_else(|| format!("msg_{}", self.id_of(answer).unwrap_or_default())),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": answer.stop_reason,
            "stop_sequence": null,
            "usage": answer_usage(answer),
        });
        (message, request.cloned())
    }

    /// The turn of an answer.
    pub(super) fn id_of(&self, answer: &AssistantMessageCompleted) -> Option<String> {
        let said = [&answer.turn_id, &self.id].into_iter().find(|id| !id.is_empty());
        said.cloned()
    }

    /// The number of a block on the stream; it begins there if it has not yet.
    fn begin_if_new(
        &mut self,
        sheet: &mut Sheet<'_>,
        options: &Options,
        shown: bool,
        place: u64,
        block: impl FnOnce() -> Value,
    ) -> u64 {
        if let Some(index) = self.open.get(&place) {
            return *index;
        }
        let index = self.begun;
        // What is hidden takes no number: those of the blocks that are shown have no gap.
        self.begun += u64::from(shown);
        self.open.insert(place, index);
        begin(sheet, options, shown, index, self.time_to_first(sheet.ts()), block);
        index
    }

    fn end(&mut self, sheet: &mut Sheet<'_>, options: &Options, shown: bool, place: u64) {
        if let Some(index) = self.open.remove(&place) {
            stop(sheet, options, shown, index);
        }
    }

    /// Milliseconds from the turn's start to the first of its answer; told once.
    fn time_to_first(&mut self, at: UnixNanos) -> Option<u64> {
        if std::mem::replace(&mut self.heard, true) {
            return None;
        }
        u64::try_from((at.0 - self.started?.0) / 1_000_000).ok()
    }
}

fn begin(
    sheet: &mut Sheet<'_>,
    options: &Options,
    shown: bool,
    index: u64,
    ttft_ms: Option<u64>,
    block: impl FnOnce() -> Value,
) {
    partial_line(
        sheet,
        options,
        shown,
        LineKind::Partial,
        ttft_ms,
        || json!({ "type": "content_block_start", "index": index, "content_block": block() }),
    );
}

fn piece(sheet: &mut Sheet<'_>, options: &Options, shown: bool, index: u64, piece: Piece) {
    partial_line(sheet, options, shown, LineKind::Partial, None, || {
        let delta = match piece {
            Piece::Text(text) => json!({ "type": "text_delta", "text": text }),
            Piece::Thinking(text) => json!({ "type": "thinking_delta", "thinking": text }),
            Piece::Input(text) => json!({ "type": "input_json_delta", "partial_json": text }),
        };
        json!({ "type": "content_block_delta", "index": index, "delta": delta })
    });
}

fn stop(sheet: &mut Sheet<'_>, options: &Options, shown: bool, index: u64) {
    partial_line(
        sheet,
        options,
        shown,
        LineKind::Partial,
        None,
        || json!({ "type": "content_block_stop", "index": index }),
    );
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn thinking_block(text: &str, signature: &str) -> Value {
    json!({ "type": "thinking", "thinking": text, "signature": signature })
}

fn thinking(whole: &ReasoningEmitted) -> Value {
    if whole.redacted {
        return json!({ "type": "redacted_thinking", "data": whole.content });
    }
    let signature = whole.signature.as_deref().unwrap_or_default();
    let signature = match std::str::from_utf8(signature) {
        Ok(text) => text.to_owned(),
        Err(_) => STANDARD.encode(signature),
    };
    thinking_block(&whole.content, &signature)
}

fn answer_usage(answer: &AssistantMessageCompleted) -> Value {
    usage(answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.cache_create_tokens)
}

fn usage(input: i64, output: i64, cache_read: i64, cache_write: i64) -> Value {
    json!({
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    })
}
