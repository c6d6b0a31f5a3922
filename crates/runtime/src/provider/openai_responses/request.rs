//! A request to the Responses API.

use serde_json::{Value, json};

use crate::model::{Block, ModelRequest, Role};
use crate::provider::conversation::{Attached, Turn, signature_of, text_of_result, turns};
use crate::provider::params::{Params, over};
use crate::tool::ToolSpec;

pub(super) fn body(request: &ModelRequest) -> Value {
    let params = Params::of(&request.params);
    let body = json!({
        "model": request.model,
        "instructions": (!request.system.trim().is_empty()).then_some(&*request.system),
        "input": turns(&request.messages).iter().flat_map(|turn| items(request, turn)).collect::<Vec<_>>(),
        "tools": tools(&request.tools),
        "max_output_tokens": request.max_output_tokens,
        "stream": true,
        // The log is the memory; the vendor needs none.
        "store": false,
        // Without storage, reasoning only survives if it travels with the conversation.
        "include": thinks(&request.model).then(|| json!(["reasoning.encrypted_content"])),
        "reasoning": params.effort.map(|effort| json!({"effort": effort, "summary": "auto"})),
        "temperature": params.temperature,
        "top_p": params.top_p,
    });
    over(params.rest, body)
}

/// Models that do not reason refuse to be asked for reasoning.
fn thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let silent = ["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| name.starts_with(family));
    !silent && !name.contains("-chat")
}

fn tools(tools: &[ToolSpec]) -> Value {
    if tools.is_empty() {
        return Value::Null;
    }
    let function = |tool: &ToolSpec| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
            // Strict schemas are another dialect of JSON Schema, which tools of others do not speak.
            "strict": false,
        })
    };
    tools.iter().map(function).collect()
}

/// The items of a turn. What is said between calls and results is a message of its own.
fn items(request: &ModelRequest, turn: &Turn<'_>) -> Vec<Value> {
    let (role, text_type) = match turn.role {
        Role::User => ("user", "input_text"),
        Role::Assistant => ("assistant", "output_text"),
    };
    let mut items: Vec<Value> = Vec::new();
    let mut said: Vec<Value> = Vec::new();
    for block in &turn.blocks {
        let item = match block {
            Block::Text(text) => {
                said.push(json!({"type": text_type, "text": text}));
                continue;
            }
            Block::Attachment { mime, name, digest } => {
                said.push(match Attached::find(request, mime, name, digest) {
                    Attached::Image { mime, base64 } => {
                        json!({"type": "input_image", "image_url": format!("data:{mime};base64,{base64}")})
                    }
                    Attached::Pdf { name, base64 } => json!({
                        "type": "input_file",
                        "filename": name,
                        "file_data": format!("data:application/pdf;base64,{base64}"),
                    }),
                    Attached::Text(text) => json!({"type": text_type, "text": text}),
                });
                continue;
            }
            Block::Thinking(thinking) => match signature_of(thinking) {
                Some(encrypted) => {
                    let summary =
                        (!thinking.text.is_empty()).then(|| json!({"type": "summary_text", "text": thinking.text}));
                    json!({
                        "type": "reasoning",
                        "summary": summary.as_slice(),
                        "encrypted_content": encrypted,
                    })
                }
                // Reasoning that only exists as text cannot be given back.
                None => continue,
            },
            Block::ToolUse(call) => json!({
                "type": "function_call",
                "call_id": call.call_id,
                "name": call.tool,
                "arguments": call.input.to_string(),
            }),
            Block::ToolResult(result) => json!({
                "type": "function_call_output",
                "call_id": result.call_id,
                "output": text_of_result(result),
            }),
        };
        items.extend(message(role, &mut said));
        items.push(item);
    }
    items.extend(message(role, &mut said));
    items
}

fn message(role: &str, said: &mut Vec<Value>) -> Option<Value> {
    let content = std::mem::take(said);
    (!content.is_empty()).then(|| json!({"type": "message", "role": role, "content": content}))
}
