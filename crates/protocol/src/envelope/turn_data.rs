//! The `data` of messages and model calls.

use r1_event::Version;
use r1_event::payload::{
    AssistantMessageCompleted, PlannedToolUse, ReasoningEmitted, TurnFailed, TurnStarted, UserMessageAppended,
};
use serde_json::Value;

use super::fields::Fields;
use crate::json;

pub(super) fn user_message(data: &mut Fields, body: UserMessageAppended) {
    let UserMessageAppended { content, turn_index, by, message_id, client_message_id, extra } = body;
    data.put("text", content);
    data.put_some("turn_index", turn_index);
    data.put_some("message_id", message_id);
    data.put_some("client_message_id", client_message_id);
    data.put_some("by", by);
    data.put_common(&extra);
}

pub(super) fn turn_started(data: &mut Fields, body: TurnStarted) {
    let TurnStarted { turn_id, prompt_hash, input_tokens, turn_index, model, provider, extra } = body;
    data.put_some("turn_index", turn_index);
    data.put_some("model", model);
    data.put_some("provider", provider);
    data.put("input_tokens_estimate", input_tokens);
    data.put_text("turn_id", turn_id);
    data.put_hash("prompt_hash", prompt_hash.as_ref());
    data.put_common(&extra);
}

pub(super) fn thinking_complete(data: &mut Fields, body: ReasoningEmitted) {
    let ReasoningEmitted { turn_id: _, content, sensitive: _, signature, redacted, turn_index, block_index, extra } =
        body;
    data.put_some("turn_index", turn_index);
    data.put_some("block_index", block_index);
    data.put("text", content);
    data.put_some("signed", signature.filter(|signature| !signature.is_empty()).map(|_| true));
    data.put_some("redacted", redacted.then_some(true));
    data.put_common(&extra);
}

pub(super) fn turn_completed(data: &mut Fields, version: Version, body: AssistantMessageCompleted) {
    let AssistantMessageCompleted {
        turn_id,
        text,
        stop_reason,
        input_tokens,
        output_tokens,
        cost_usd,
        raw_response_hash,
        tool_uses,
        cache_read_tokens,
        cache_create_tokens,
        provider_request_id,
        turn_index,
        cost_micros_usd,
        duration_ms,
        cost_source,
        extra,
    } = body;
    data.put_some("turn_index", turn_index);
    data.put("input_tokens", input_tokens);
    data.put("output_tokens", output_tokens);
    data.put("cached_input_tokens", cache_read_tokens);
    data.put_cost("cost_micros_usd", cost_micros_usd, cost_usd);
    data.put_some("duration_ms", duration_ms);
    data.put("tool_calls", tool_uses.as_ref().map_or(0, Vec::len));
    data.put("stop_reason", stop_reason);
    data.put_some("cost_source", cost_source);
    data.put_count("cache_write_tokens", cache_create_tokens);
    data.put_text("turn_id", turn_id);
    data.put_text("provider_request_id", provider_request_id);
    data.put_hash("raw_response_hash", raw_response_hash.as_ref());
    // A v2 log tells both in events of their own.
    if version == Version::V1 {
        data.put("text", text);
        data.put_some("tool_uses", tool_uses.map(|uses| uses.into_iter().map(tool_use).collect::<Value>()));
    }
    data.put_common(&extra);
}

fn tool_use(call: PlannedToolUse) -> Value {
    let PlannedToolUse { call_id, tool, args, extra: _ } = call;
    serde_json::json!({ "call_id": call_id, "tool": tool, "args": json::from_raw(&args) })
}

pub(super) fn turn_failed(data: &mut Fields, body: TurnFailed) {
    let TurnFailed { turn_id, turn_index, code, message, will_retry, attempt, extra } = body;
    data.put_some("turn_index", turn_index);
    data.put_some("code", code);
    data.put_some("message", message);
    data.put_some("will_retry", will_retry);
    data.put_some("attempt", attempt);
    data.put_some("turn_id", turn_id);
    data.put_common(&extra);
}
