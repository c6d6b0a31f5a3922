//! What was said and done, for those who asked for it. The log holds it redacted, and so do spans.

use opentelemetry_proto::tonic::trace::v1::Span;
use r1_event::payload::{PlannedToolUse, Raw};
use r1_protocol::json::from_raw;
use serde_json::{Value, json};

use crate::telemetry::attribute::attribute;

/// What the run is to do.
pub(super) fn asked(span: &mut Span, goal: &str) {
    let message = json!([{ "role": "user", "parts": [{ "type": "text", "content": goal }] }]);
    put(span, "gen_ai.input.messages", &message);
}

/// What the model said.
pub(super) fn said(span: &mut Span, text: &str, calls: &[PlannedToolUse], finish_reason: &str) {
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "content": text }));
    let calls = calls.iter().map(
        |call| json!({ "type": "tool_call", "id": call.call_id, "name": call.tool, "arguments": from_raw(&call.args) }),
    );
    let parts: Vec<Value> = text.into_iter().chain(calls).collect();
    let message = json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]);
    put(span, "gen_ai.output.messages", &message);
}

/// What a tool was given.
pub(super) fn given(span: &mut Span, arguments: &Value) {
    put(span, "gen_ai.tool.call.arguments", arguments);
}

/// What a tool returned.
pub(super) fn returned(span: &mut Span, result: &Raw) {
    put(span, "gen_ai.tool.call.result", &from_raw(result));
}

fn put(span: &mut Span, key: &str, value: &Value) {
    span.attributes.push(attribute(key, value.to_string()));
}
