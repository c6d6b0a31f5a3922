//! An answer of the Responses API.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::model::{StopReason, Usage};
use crate::provider::ProviderError;
use crate::provider::answer::{Answer, Place};
use crate::provider::http::error_in_stream;
use crate::provider::remote::{Progress, Reader, count_at, parse, text_at};

/// Reads the events of one response.
#[derive(Default)]
pub(in crate::provider) struct ResponseReader {
    /// Where the API's output items are in the answer.
    items: HashMap<u64, Item>,
    refused: bool,
}

#[derive(Default)]
struct Item {
    place: Option<Place>,
    /// The parts of text or summary that have been streamed: a part that was not is taken whole.
    streamed: HashSet<u64>,
    is_whole: bool,
}

impl Reader for ResponseReader {
    fn read(&mut self, data: &str, answer: &mut Answer) -> Result<Progress, ProviderError> {
        let event = parse(data)?;
        let delta = text_at(&event, "delta");
        match text_at(&event, "type") {
            "response.created" => answer.id = event["response"]["id"].as_str().map(str::to_owned),
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let (id, tool) = (text_at(&event["item"], "call_id"), text_at(&event["item"], "name"));
                self.item(&event).place = Some(answer.call(id, tool));
            }
            "response.output_text.delta" => self.item(&event).say(count_at(&event, "content_index"), delta, answer),
            "response.refusal.delta" => {
                self.refused = true;
                self.item(&event).say(count_at(&event, "content_index"), delta, answer);
            }
            "response.reasoning_summary_text.delta" => {
                self.item(&event).think(count_at(&event, "summary_index"), delta, answer);
            }
            // Models that are served elsewhere show the reasoning itself.
            "response.reasoning_text.delta" => {
                self.item(&event).think(count_at(&event, "content_index"), delta, answer);
            }
            "response.function_call_arguments.delta" => {
                if let Some(place) = self.item(&event).place {
                    answer.arguments(place, delta);
                }
            }
            "response.output_item.done" => self.complete(count_at(&event, "output_index"), &event["item"], answer),
            "response.completed" | "response.incomplete" => {
                self.end(&event["response"], answer);
                return Ok(Progress::Done);
            }
            "response.failed" => return Err(in_stream(&event["response"]["error"])),
            "error" => return Err(in_stream(if event["error"].is_object() { &event["error"] } else { &event })),
            _ => {}
        }
        Ok(Progress::Incomplete)
    }
}

impl ResponseReader {
    fn item(&mut self, event: &Value) -> &mut Item {
        self.items.entry(count_at(event, "output_index")).or_default()
    }

    /// Takes of a whole item what its deltas did not bring.
    fn complete(&mut self, index: u64, whole: &Value, answer: &mut Answer) {
        let item = self.items.entry(index).or_default();
        if std::mem::replace(&mut item.is_whole, true) {
            return;
        }
        let parts = |name: &str| whole[name].as_array().map_or(&[][..], Vec::as_slice);
        match text_at(whole, "type") {
            "message" => {
                for (number, part) in (0..).zip(parts("content")) {
                    self.refused |= part["type"] == "refusal";
                    let text = part["text"].as_str().unwrap_or_else(|| text_at(part, "refusal"));
                    if !item.streamed.contains(&number) {
                        item.say(number, text, answer);
                    }
                }
            }
            "reasoning" => {
                let shown = if parts("summary").is_empty() { "content" } else { "summary" };
                for (number, part) in (0..).zip(parts(shown)) {
                    if !item.streamed.contains(&number) {
                        item.think(number, text_at(part, "text"), answer);
                    }
                }
                item.place = answer.signature(item.place, text_at(whole, "encrypted_content"));
            }
            "function_call" => {
                let (id, tool) = (text_at(whole, "call_id"), text_at(whole, "name"));
                let place = *item.place.get_or_insert_with(|| answer.call(id, tool));
                answer.whole_arguments(place, text_at(whole, "arguments"));
            }
            _ => {}
        }
    }

    fn end(&mut self, response: &Value, answer: &mut Answer) {
        for (index, item) in (0..).zip(response["output"].as_array().map_or(&[][..], Vec::as_slice)) {
            self.complete(index, item, answer);
        }
        if let Some(id) = response["id"].as_str() {
            answer.id = Some(id.to_owned());
        }
        let usage = &response["usage"];
        let cached = count_at(&usage["input_tokens_details"], "cached_tokens");
        answer.usage = Usage {
            input_tokens: count_at(usage, "input_tokens").saturating_sub(cached),
            output_tokens: count_at(usage, "output_tokens"),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        };
        answer.stop = match text_at(&response["incomplete_details"], "reason") {
            "max_output_tokens" => Some(StopReason::MaxTokens),
            "content_filter" => Some(StopReason::Refusal),
            _ if self.refused => Some(StopReason::Refusal),
            _ => None,
        };
    }
}

impl Item {
    fn say(&mut self, part: u64, text: &str, answer: &mut Answer) {
        self.streamed.insert(part);
        self.place = answer.text(self.place, text);
    }

    fn think(&mut self, part: u64, text: &str, answer: &mut Answer) {
        if self.streamed.insert(part) && self.place.is_some() && !text.is_empty() {
            answer.thinking(self.place, "\n\n");
        }
        self.place = answer.thinking(self.place, text);
    }
}

/// Errors in a stream have codes where others have a status.
fn in_stream(error: &Value) -> ProviderError {
    let status = match text_at(error, "code") {
        "rate_limit_exceeded" | "insufficient_quota" => 429,
        "context_length_exceeded" | "invalid_prompt" | "invalid_request_error" | "image_parse_error" => 400,
        "invalid_api_key" => 401,
        "model_not_found" => 404,
        _ => 500,
    };
    error_in_stream(status, text_at(error, "message"))
}
