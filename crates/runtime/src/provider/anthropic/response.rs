//! An answer of the Messages API.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::StopReason;
use crate::provider::ProviderError;
use crate::provider::answer::{Answer, Place};
use crate::provider::http::{error_in_stream, malformed};
use crate::provider::remote::{Progress, Reader, count_at, parse, text_at};

/// Reads the events of one message.
#[derive(Default)]
pub(in crate::provider) struct MessageReader {
    /// Where the API's content blocks are in the answer.
    places: HashMap<u64, Place>,
}

impl Reader for MessageReader {
    fn read(&mut self, data: &str, answer: &mut Answer) -> Result<Progress, ProviderError> {
        let event = parse(data)?;
        match text_at(&event, "type") {
            "message_start" => {
                let message = &event["message"];
                answer.id = message["id"].as_str().map(str::to_owned);
                take_usage(&message["usage"], answer);
            }
            "content_block_start" => self.begin(&event, answer)?,
            "content_block_delta" => self.go_on(&event, answer)?,
            "message_delta" => {
                take_usage(&event["usage"], answer);
                answer.stop = event["delta"]["stop_reason"].as_str().map(stop_reason).or(answer.stop);
            }
            "message_stop" => return Ok(Progress::Done),
            "error" => return Err(in_stream(&event["error"])),
            // `ping`, `content_block_stop`, and what the API may learn to say.
            _ => {}
        }
        Ok(Progress::Incomplete)
    }
}

impl MessageReader {
    fn begin(&mut self, event: &Value, answer: &mut Answer) -> Result<(), ProviderError> {
        let block = &event["content_block"];
        let place = match text_at(block, "type") {
            "text" => answer.text(None, text_at(block, "text")),
            "thinking" => {
                let place = answer.thinking(None, text_at(block, "thinking"));
                answer.signature(place, text_at(block, "signature"))
            }
            "redacted_thinking" => {
                answer.redacted_thinking(text_at(block, "data"));
                None
            }
            "tool_use" => Some(answer.call(text_at(block, "id"), text_at(block, "name"))),
            // Blocks of tools that the API itself runs; we ask for none.
            _ => None,
        };
        if let Some(place) = place {
            self.places.insert(index_of(event)?, place);
        }
        Ok(())
    }

    fn go_on(&mut self, event: &Value, answer: &mut Answer) -> Result<(), ProviderError> {
        let index = index_of(event)?;
        let known = self.places.get(&index).copied();
        let delta = &event["delta"];
        let place = match text_at(delta, "type") {
            "text_delta" => answer.text(known, text_at(delta, "text")),
            "thinking_delta" => answer.thinking(known, text_at(delta, "thinking")),
            "signature_delta" => answer.signature(known, text_at(delta, "signature")),
            "input_json_delta" => {
                if let Some(place) = known {
                    answer.arguments(place, text_at(delta, "partial_json"));
                }
                known
            }
            _ => known,
        };
        if let Some(place) = place {
            self.places.insert(index, place);
        }
        Ok(())
    }
}

fn index_of(event: &Value) -> Result<u64, ProviderError> {
    event["index"].as_u64().ok_or_else(|| malformed("a content block has no index"))
}

/// The later count is the whole one; a field that is not there has not changed.
fn take_usage(usage: &Value, answer: &mut Answer) {
    let counts = &mut answer.usage;
    for (name, count) in [
        ("input_tokens", &mut counts.input_tokens),
        ("output_tokens", &mut counts.output_tokens),
        ("cache_read_input_tokens", &mut counts.cache_read_tokens),
        ("cache_creation_input_tokens", &mut counts.cache_write_tokens),
    ] {
        if usage[name].is_u64() {
            *count = count_at(usage, name);
        }
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

/// Errors in a stream have types where others have a status.
fn in_stream(error: &Value) -> ProviderError {
    let status = match text_at(error, "type") {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    error_in_stream(status, text_at(error, "message"))
}
