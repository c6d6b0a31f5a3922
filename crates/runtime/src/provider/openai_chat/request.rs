//! A request to a Chat Completions API.

use serde_json::{Map, Value, json};

use crate::model::{Block, ModelRequest, Role};
use crate::provider::conversation::{Attached, Turn, signature_of, text_of_result, turns};
use crate::provider::params::{Params, over};
use crate::tool::ToolSpec;

pub(super) fn body(request: &ModelRequest, limit_name: &str) -> Value {
    let params = Params::of(&request.params);
    let mut body = json!({
        "model": request.model,
        "messages": messages(request),
        "tools": tools(&request.tools),
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": params.temperature,
        "top_p": params.top_p,
        "stop": params.stop_sequences,
        "reasoning_effort": params.effort,
    });
    body[limit_name] = json!(request.max_output_tokens);
    over(params.rest, body)
}

fn tools(tools: &[ToolSpec]) -> Value {
    if tools.is_empty() {
        return Value::Null;
    }
    let function = |tool: &ToolSpec| {
        json!({
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        })
    };
    tools.iter().map(function).collect()
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let turns = turns(&request.messages);
    // Reasoning is wanted back while its calls are being answered, and refused or wasted after that.
    let current = turns
        .iter()
        .rposition(|turn| turn.role == Role::User && !turn.blocks.iter().any(|block| is_result(block)))
        .unwrap_or(0);
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": &*request.system}));
    }
    for (number, turn) in turns.iter().enumerate() {
        match turn.role {
            Role::User => of_user(request, turn, &mut messages),
            Role::Assistant => messages.extend(of_assistant(turn, number > current)),
        }
    }
    messages
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

/// Each result is a message of its own; what the person says comes after them.
fn of_user(request: &ModelRequest, turn: &Turn<'_>, messages: &mut Vec<Value>) {
    let mut said = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolResult(result) => messages.push(json!({
                "role": "tool",
                "tool_call_id": result.call_id,
                "content": text_of_result(result),
            })),
            Block::Text(text) => said.push(json!({"type": "text", "text": text})),
            Block::Attachment { mime, name, digest } => said.push(match Attached::find(request, mime, name, digest) {
                Attached::Image { mime, base64 } => {
                    json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{base64}")}})
                }
                Attached::Pdf { name, base64 } => {
                    let data = format!("data:application/pdf;base64,{base64}");
                    json!({"type": "file", "file": {"filename": name, "file_data": data}})
                }
                Attached::Text(text) => json!({"type": "text", "text": text}),
            }),
            Block::Thinking(_) | Block::ToolUse(_) => {}
        }
    }
    if !said.is_empty() {
        messages.push(json!({"role": "user", "content": plain_where_possible(said)}));
    }
}

/// Small servers understand text, but not lists of parts.
fn plain_where_possible(parts: Vec<Value>) -> Value {
    match parts.iter().map(|part| part["text"].as_str()).collect::<Option<Vec<_>>>() {
        Some(texts) => Value::from(texts.join("\n\n")),
        None => Value::from(parts),
    }
}

fn of_assistant(turn: &Turn<'_>, is_current: bool) -> Option<Value> {
    let mut text = String::new();
    let mut reasoning = String::new();
    let mut details: Vec<Value> = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::Text(more) => text.push_str(more),
            Block::Thinking(thinking) => {
                reasoning.push_str(if thinking.redacted { "" } else { &thinking.text });
                let signed = signature_of(thinking).and_then(|signature| serde_json::from_str(signature).ok());
                if let Some(Value::Array(list)) = signed {
                    details.extend(list);
                }
            }
            Block::ToolUse(call) => calls.push(json!({
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.tool, "arguments": call.input.to_string()},
            })),
            Block::ToolResult(_) | Block::Attachment { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
    message.insert("content".to_owned(), if text.is_empty() { Value::Null } else { Value::from(text) });
    if !details.is_empty() {
        message.insert("reasoning_details".to_owned(), Value::from(details));
    } else if !reasoning.is_empty() && is_current && !calls.is_empty() {
        message.insert("reasoning_content".to_owned(), Value::from(reasoning));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::from(calls));
    }
    Some(Value::Object(message))
}
