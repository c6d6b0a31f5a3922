//! The four wire formats, from the server's side.

use r1_runtime::provider::{KeySource, ProviderSpec, Wire};
use serde_json::{Value, json};

use super::dialect::{Answer, Dialect};

fn spec(name: &str, wire: Wire) -> ProviderSpec {
    let key = Some(KeySource::Env("THE_KEY".to_owned()));
    ProviderSpec { name: name.to_owned(), wire, key, ..ProviderSpec::default() }
}

/// The values of `name` wherever they are, in order.
fn all_of(value: &Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str() {
                    Some(text) if key == name => found.push(text.to_owned()),
                    _ => all_of(value, name, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| all_of(value, name, found)),
        _ => {}
    }
}

fn every(value: &Value, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    all_of(value, name, &mut found);
    found
}

pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    const URI: &'static str = "/base/messages";
    const KEY: (&'static str, &'static str) = ("x-api-key", "");
    const COUNTS_CACHE_WRITES: bool = true;

    fn spec() -> ProviderSpec {
        spec("anthropic", Wire::Anthropic)
    }

    fn frame(data: &str) -> String {
        format!("event: message\ndata: {data}\n\n")
    }

    fn frames(answer: &Answer) -> Vec<String> {
        let usage = answer.usage;
        let mut events = vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": {
                "input_tokens": usage.input_tokens,
                "cache_read_input_tokens": usage.cache_read_tokens,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "output_tokens": 1,
            }}}),
            json!({"type": "ping"}),
        ];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            for delta in deltas {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if let Some((thinking, signature)) = answer.thinking {
            block(
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![
                    json!({"type": "thinking_delta", "thinking": thinking}),
                    json!({"type": "signature_delta", "signature": signature}),
                ],
            );
        }
        if !answer.text.is_empty() {
            let deltas = answer.text.iter().map(|text| json!({"type": "text_delta", "text": text}));
            block(json!({"type": "text", "text": ""}), deltas.collect());
        }
        for (id, tool, pieces) in &answer.calls {
            let deltas = pieces.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            block(json!({"type": "tool_use", "id": id, "name": tool, "input": {}}), deltas.collect());
        }
        let stop = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
        let output = json!({"output_tokens": usage.output_tokens});
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": output}));
        events.push(json!({"type": "message_stop"}));
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
    }

    fn sent_signatures(body: &Value) -> Vec<String> {
        every(body, "signature")
    }

    fn sent_results(body: &Value) -> Vec<String> {
        let last = body["messages"].as_array().and_then(|messages| messages.last()).unwrap();
        assert_eq!(last["role"], "user", "results are one message of the user: {body}");
        every(last, "tool_use_id")
    }
}

pub(crate) struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    const URI: &'static str = "/base/responses";
    const KEY: (&'static str, &'static str) = ("authorization", "Bearer ");
    const COUNTS_CACHE_WRITES: bool = false;

    fn spec() -> ProviderSpec {
        spec("openai", Wire::OpenaiResponses)
    }

    fn frames(answer: &Answer) -> Vec<String> {
        let mut events = vec![json!({"type": "response.created", "response": {"id": "resp_1", "output": []}})];
        let mut output: Vec<Value> = Vec::new();
        if let Some((thinking, signature)) = answer.thinking {
            let index = output.len();
            let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": signature,
                "summary": [{"type": "summary_text", "text": thinking}]});
            events.push(json!({"type": "response.output_item.added", "output_index": index,
                "item": {"type": "reasoning", "id": "rs_1", "summary": []}}));
            events.push(json!({"type": "response.reasoning_summary_text.delta", "output_index": index,
                "summary_index": 0, "delta": thinking}));
            events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            output.push(item);
        }
        if !answer.text.is_empty() {
            let index = output.len();
            let item = json!({"type": "message", "role": "assistant", "id": "msg_1",
                "content": [{"type": "output_text", "text": answer.text.concat()}]});
            events.push(json!({"type": "response.output_item.added", "output_index": index,
                "item": {"type": "message", "content": []}}));
            for text in &answer.text {
                events.push(json!({"type": "response.output_text.delta", "output_index": index,
                    "content_index": 0, "delta": text}));
            }
            events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            output.push(item);
        }
        for (id, tool, pieces) in &answer.calls {
            let index = output.len();
            let item = |arguments: &str| {
                json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": tool,
                    "arguments": arguments})
            };
            events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item("")}));
            for piece in pieces {
                events.push(json!({"type": "response.function_call_arguments.delta", "output_index": index,
                    "delta": piece}));
            }
            let item = item(&pieces.concat());
            events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            output.push(item);
        }
        let usage = answer.usage;
        events.push(json!({"type": "response.completed", "response": {
            "id": "resp_1", "status": "completed", "output": output,
            "usage": {
                "input_tokens": usage.input_tokens + usage.cache_read_tokens,
                "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
                "output_tokens": usage.output_tokens,
            },
        }}));
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
    }

    fn sent_signatures(body: &Value) -> Vec<String> {
        every(body, "encrypted_content")
    }

    fn sent_results(body: &Value) -> Vec<String> {
        let outputs = body["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output");
        outputs.map(|item| item["call_id"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) struct OpenaiChat;

impl Dialect for OpenaiChat {
    const URI: &'static str = "/base/chat/completions";
    const KEY: (&'static str, &'static str) = ("authorization", "Bearer ");
    const COUNTS_CACHE_WRITES: bool = true;

    fn spec() -> ProviderSpec {
        spec("compatible", Wire::OpenaiChat)
    }

    fn frames(answer: &Answer) -> Vec<String> {
        let chunk = |delta: Value, finish: Option<&str>| json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        if let Some((thinking, signature)) = answer.thinking {
            let details: Value = serde_json::from_str(signature).unwrap();
            events.push(chunk(json!({"reasoning": thinking, "reasoning_details": details}), None));
        }
        for text in &answer.text {
            events.push(chunk(json!({"content": text}), None));
        }
        let call = |index: usize, rest: Value| {
            let mut call = json!({"index": index});
            call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            chunk(json!({"tool_calls": [call]}), None)
        };
        for (index, (id, tool, _)) in answer.calls.iter().enumerate() {
            let function = json!({"name": tool, "arguments": ""});
            events.push(call(index, json!({"id": id, "type": "function", "function": function})));
        }
        // Pieces of all calls in turn: their numbers are what tells them apart.
        let most = answer.calls.iter().map(|(_, _, pieces)| pieces.len()).max().unwrap_or(0);
        for round in 0..most {
            for (index, (_, _, pieces)) in answer.calls.iter().enumerate() {
                if let Some(piece) = pieces.get(round) {
                    events.push(call(index, json!({"function": {"arguments": piece}})));
                }
            }
        }
        let finish = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
        events.push(chunk(json!({}), Some(finish)));
        let usage = answer.usage;
        events.push(json!({"id": "chatcmpl-1", "choices": [], "usage": {
            "prompt_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            "completion_tokens": usage.output_tokens,
            "prompt_tokens_details": {
                "cached_tokens": usage.cache_read_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
            },
        }}));
        let frames = events.iter().map(|event| format!("data: {event}\n\n"));
        frames.chain(["data: [DONE]\n\n".to_owned()]).collect()
    }

    fn sent_signatures(body: &Value) -> Vec<String> {
        let messages = body["messages"].as_array().unwrap().iter();
        messages
            .filter(|message| message["reasoning_details"].is_array())
            .map(|message| {
                let details: Vec<_> = message["reasoning_details"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|detail| {
                        format!(
                            r#"{{"type":{},"data":{},"index":{}}}"#,
                            detail["type"], detail["data"], detail["index"]
                        )
                    })
                    .collect();
                format!("[{}]", details.join(","))
            })
            .collect()
    }

    fn sent_results(body: &Value) -> Vec<String> {
        every(body, "tool_call_id")
    }
}

pub(crate) struct Gemini;

impl Dialect for Gemini {
    const URI: &'static str = "/base/models/model-1:streamGenerateContent?alt=sse";
    const KEY: (&'static str, &'static str) = ("x-goog-api-key", "");
    const COUNTS_CACHE_WRITES: bool = false;

    fn spec() -> ProviderSpec {
        spec("gemini", Wire::Gemini)
    }

    fn frame(data: &str) -> String {
        format!("data: {data}\r\n\r\n")
    }

    fn frames(answer: &Answer) -> Vec<String> {
        let usage = answer.usage;
        let chunk = |parts: Vec<Value>, finish: Option<&str>| {
            json!({
                "responseId": "r-1",
                "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
                "usageMetadata": {
                    "promptTokenCount": usage.input_tokens + usage.cache_read_tokens,
                    "cachedContentTokenCount": usage.cache_read_tokens,
                    "candidatesTokenCount": usage.output_tokens / 2,
                    "thoughtsTokenCount": usage.output_tokens - usage.output_tokens / 2,
                },
            })
        };
        let mut events = Vec::new();
        if let Some((thinking, _)) = answer.thinking {
            events.push(chunk(vec![json!({"text": thinking, "thought": true})], None));
        }
        for text in &answer.text {
            events.push(chunk(vec![json!({"text": text})], None));
        }
        for (number, (id, tool, pieces)) in answer.calls.iter().enumerate() {
            let args: Value = serde_json::from_str(&pieces.concat()).unwrap();
            let mut part = json!({"functionCall": {"id": id, "name": tool, "args": args}});
            if let (0, Some((_, signature))) = (number, answer.thinking) {
                part["thoughtSignature"] = Value::from(signature);
            }
            events.push(chunk(vec![part], None));
        }
        events.push(chunk(vec![json!({"text": ""})], Some("STOP")));
        events.iter().map(|event| Self::frame(&event.to_string())).collect()
    }

    fn sent_signatures(body: &Value) -> Vec<String> {
        every(body, "thoughtSignature")
    }

    fn sent_results(body: &Value) -> Vec<String> {
        let contents = body["contents"].as_array().unwrap();
        let answering = contents.iter().find(|content| content["parts"][0]["functionResponse"].is_object()).unwrap();
        let parts = answering["parts"].as_array().unwrap().iter();
        parts.map(|part| part["functionResponse"]["id"].as_str().unwrap().to_owned()).collect()
    }
}
