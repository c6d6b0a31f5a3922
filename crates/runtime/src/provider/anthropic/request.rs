//! A request to the Messages API.

use serde_json::{Value, json};

use crate::model::{Block, ModelRequest, Role, ToolResult};
use crate::provider::conversation::{Attached, Turn, signature_of, text_of, turns};
use crate::provider::params::{Params, over};
use crate::tool::ToolSpec;

/// The API takes no smaller budget for thinking.
const LEAST_THINKING: u64 = 1024;
/// The API takes four marks; one is on the tools and one on the system prompt.
const CACHED_TURNS: usize = 2;

pub(super) fn body(request: &ModelRequest) -> Value {
    let params = Params::of(&request.params);
    let body = json!({
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "stream": true,
        "system": system(&request.system),
        "tools": tools(&request.tools),
        "messages": messages(request),
        "temperature": params.temperature,
        "top_p": params.top_p,
        "stop_sequences": params.stop_sequences,
        "thinking": thinking(&params, request.max_output_tokens),
        "output_config": params.effort.map(|effort| json!({"effort": effort})),
    });
    over(params.rest, body)
}

fn system(system: &str) -> Value {
    if system.trim().is_empty() {
        return Value::Null;
    }
    let mut block = json!({"type": "text", "text": system});
    mark_for_cache(&mut block);
    json!([block])
}

fn tools(tools: &[ToolSpec]) -> Value {
    let mut tools: Vec<Value> = tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
        .collect();
    match tools.last_mut() {
        Some(last) => mark_for_cache(last),
        None => return Value::Null,
    }
    Value::Array(tools)
}

/// Newer models think as much as the effort says, older ones up to a budget, which must leave room for
/// the answer.
fn thinking(params: &Params, max_tokens: u64) -> Value {
    if let Some(budget) = params.thinking_budget {
        let budget = budget.min(max_tokens.saturating_sub(1));
        return if budget < LEAST_THINKING { Value::Null } else { json!({"type": "enabled", "budget_tokens": budget}) };
    }
    match &params.effort {
        Some(_) => json!({"type": "adaptive", "display": "summarized"}),
        None => Value::Null,
    }
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let mut messages: Vec<Value> = turns(&request.messages).iter().filter_map(|turn| message(request, turn)).collect();
    // What was said up to here will be said again: the cache of the turn before is read, that of this one
    // written.
    let of_user = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in of_user.take(CACHED_TURNS) {
        if let Some(last) = message["content"].as_array_mut().and_then(|content| content.last_mut()) {
            mark_for_cache(last);
        }
    }
    messages
}

fn message(request: &ModelRequest, turn: &Turn<'_>) -> Option<Value> {
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let content: Vec<Value> = turn.blocks.iter().filter_map(|block| content(request, block)).collect();
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn content(request: &ModelRequest, block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Thinking(thinking) => match signature_of(thinking) {
            // Also where the text is empty: the API may keep it to itself and still wants the block.
            Some(signature) => json!({"type": "thinking", "thinking": thinking.text, "signature": signature}),
            None if thinking.redacted => json!({"type": "redacted_thinking", "data": thinking.text}),
            // Reasoning of somebody else, which the API would refuse.
            None => return None,
        },
        Block::ToolUse(call) => {
            json!({"type": "tool_use", "id": call.call_id, "name": call.tool, "input": call.input})
        }
        Block::ToolResult(result) => tool_result(result),
        Block::Attachment { mime, name, digest } => match Attached::find(request, mime, name, digest) {
            Attached::Image { mime, base64 } => source("image", &mime, &base64),
            Attached::Pdf { base64, .. } => source("document", "application/pdf", &base64),
            Attached::Text(text) => json!({"type": "text", "text": text}),
        },
    })
}

fn tool_result(result: &ToolResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": result.call_id, "content": text_of(&result.content)});
    if result.is_error {
        block["is_error"] = Value::Bool(true);
    }
    block
}

fn source(kind: &str, mime: &str, base64: &str) -> Value {
    json!({"type": kind, "source": {"type": "base64", "media_type": mime, "data": base64}})
}

fn mark_for_cache(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}
