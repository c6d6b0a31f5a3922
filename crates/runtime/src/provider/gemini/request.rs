//! A request to the Gemini API.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::model::{Block, ModelRequest, Role, ToolResult};
use crate::provider::answer::is_minted;
use crate::provider::conversation::{Attached, Turn, called_tools, signature_of, turns};
use crate::provider::params::{Params, over};
use crate::tool::ToolSpec;

pub(super) fn body(request: &ModelRequest) -> Value {
    let params = Params::of(&request.params);
    let system = (!request.system.trim().is_empty()).then(|| json!({"parts": [{"text": &*request.system}]}));
    let generation = json!({
        "maxOutputTokens": request.max_output_tokens,
        "temperature": params.temperature,
        "topP": params.top_p,
        "stopSequences": params.stop_sequences,
        "thinkingConfig": thinking(&params),
    });
    let body = json!({
        "systemInstruction": system,
        "contents": contents(request),
        "tools": tools(&request.tools),
        "generationConfig": over(Map::new(), generation),
    });
    over(params.rest, body)
}

fn thinking(params: &Params) -> Value {
    match (params.thinking_budget, &params.effort) {
        (Some(budget), _) => json!({"includeThoughts": true, "thinkingBudget": budget}),
        (None, Some(effort)) => json!({"includeThoughts": true, "thinkingLevel": effort}),
        (None, None) => Value::Null,
    }
}

fn tools(tools: &[ToolSpec]) -> Value {
    if tools.is_empty() {
        return Value::Null;
    }
    let function = |tool: &ToolSpec| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema});
    json!([{"functionDeclarations": tools.iter().map(function).collect::<Vec<_>>()}])
}

fn contents(request: &ModelRequest) -> Vec<Value> {
    let called = called_tools(&request.messages);
    let mut contents = Vec::new();
    for turn in turns(&request.messages) {
        match turn.role {
            Role::User => of_user(request, &turn, &called, &mut contents),
            Role::Assistant => contents.extend(content("model", of_model(&turn))),
        }
    }
    contents
}

/// Results answer their calls alone; what the person says is a content of its own.
fn of_user(request: &ModelRequest, turn: &Turn<'_>, called: &HashMap<&str, &str>, contents: &mut Vec<Value>) {
    let mut results = Vec::new();
    let mut said = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolResult(result) => results.push(function_response(result, called)),
            Block::Text(text) => said.push(json!({"text": text})),
            Block::Attachment { mime, name, digest } => said.push(match Attached::find(request, mime, name, digest) {
                Attached::Image { mime, base64 } => json!({"inlineData": {"mimeType": mime, "data": base64}}),
                Attached::Pdf { base64, .. } => json!({"inlineData": {"mimeType": "application/pdf", "data": base64}}),
                Attached::Text(text) => json!({"text": text}),
            }),
            Block::Thinking(_) | Block::ToolUse(_) => {}
        }
    }
    contents.extend(content("user", results));
    contents.extend(content("user", said));
}

/// A signature stands before the call that it belongs to, perhaps with text between them: a log keeps text
/// and calls apart. One without a call has a part of its own. Thoughts themselves are not wanted back.
fn of_model(turn: &Turn<'_>) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature: Option<&str> = None;
    let alone = |signature: &str| json!({"text": "", "thoughtSignature": signature});
    for block in &turn.blocks {
        match block {
            Block::Thinking(thinking) => {
                if let Some(next) = signature_of(thinking) {
                    parts.extend(signature.replace(next).map(alone));
                }
            }
            Block::Text(text) => parts.push(json!({"text": text})),
            Block::ToolUse(call) => {
                let mut function = json!({"name": call.tool, "args": call.input});
                if !is_minted(&call.call_id) {
                    function["id"] = Value::from(call.call_id.as_str());
                }
                let mut part = json!({"functionCall": function});
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = Value::from(signature);
                }
                parts.push(part);
            }
            Block::ToolResult(_) | Block::Attachment { .. } => {}
        }
    }
    parts.extend(signature.map(alone));
    parts
}

fn function_response(result: &ToolResult, called: &HashMap<&str, &str>) -> Value {
    let name = called.get(result.call_id.as_str()).copied().unwrap_or("unknown");
    let outcome = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": name, "response": {outcome: result.content}});
    if !is_minted(&result.call_id) {
        response["id"] = Value::from(result.call_id.as_str());
    }
    json!({"functionResponse": response})
}

fn content(role: &str, parts: Vec<Value>) -> Option<Value> {
    (!parts.is_empty()).then(|| json!({"role": role, "parts": parts}))
}
