//! An answer of a Chat Completions API.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{StopReason, Usage};
use crate::provider::ProviderError;
use crate::provider::answer::{Answer, Place};
use crate::provider::http::error_in_stream;
use crate::provider::remote::{Progress, Reader, count_at, parse, text_at};

/// Reads the chunks of one completion.
#[derive(Default)]
pub(in crate::provider) struct ChatReader {
    /// Where the calls are in the answer, by the API's numbers.
    calls: BTreeMap<u64, Place>,
    thinking: Option<Place>,
    /// OpenRouter's form of reasoning, which it wants back as it was.
    details: Vec<Value>,
    finished: bool,
}

impl Reader for ChatReader {
    fn read(&mut self, data: &str, answer: &mut Answer) -> Result<Progress, ProviderError> {
        if data.trim() == "[DONE]" {
            self.sign(answer);
            return Ok(Progress::Done);
        }
        let chunk = parse(data)?;
        if chunk["error"].is_object() || chunk["error"].is_string() {
            return Err(in_stream(&chunk["error"]));
        }
        if let Some(id) = chunk["id"].as_str().filter(|id| !id.is_empty()) {
            answer.id = Some(id.to_owned());
        }
        take_usage(&chunk["usage"], answer);
        let choice = &chunk["choices"][0];
        self.take_delta(&choice["delta"], answer);
        if let Some(word) = choice["finish_reason"].as_str().filter(|word| !word.is_empty()) {
            if word == "error" {
                return Err(in_stream(&choice["error"]));
            }
            answer.stop = stop_reason(word);
            self.finished = true;
            self.sign(answer);
        }
        Ok(if self.finished { Progress::Complete } else { Progress::Incomplete })
    }
}

impl ChatReader {
    fn take_delta(&mut self, delta: &Value, answer: &mut Answer) {
        // Three names for one thing, of which some servers send two at once.
        let reasoning = [&delta["reasoning_content"], &delta["reasoning"]].into_iter().find_map(Value::as_str);
        self.thinking = answer.thinking(self.thinking, reasoning.unwrap_or_default());
        if let Some(details) = delta["reasoning_details"].as_array() {
            details.iter().for_each(|detail| merge_detail(&mut self.details, detail));
        }
        answer.text(answer.last_text(), text_at(delta, "content"));
        answer.text(answer.last_text(), text_at(delta, "refusal"));
        for call in delta["tool_calls"].as_array().map_or(&[][..], Vec::as_slice) {
            self.take_call(call, answer);
        }
    }

    fn take_call(&mut self, call: &Value, answer: &mut Answer) {
        let (id, function) = (text_at(call, "id"), &call["function"]);
        let name = text_at(function, "name");
        // Without a number it is the last call's next piece, unless it begins a new one.
        let last = self.calls.last_key_value().map(|(&index, _)| index);
        let next = last.map_or(0, |last| last.saturating_add(1));
        let index = call["index"].as_u64().unwrap_or(if name.is_empty() { last.unwrap_or(next) } else { next });
        let place = *self.calls.entry(index).or_insert_with(|| answer.call(id, name));
        answer.name_call(place, id, name);
        match &function["arguments"] {
            Value::String(piece) => answer.arguments(place, piece),
            // Some servers send the object itself.
            Value::Object(_) => answer.whole_arguments(place, &function["arguments"].to_string()),
            _ => {}
        }
    }

    /// Once: what must go back is known when nothing more of it can come.
    fn sign(&mut self, answer: &mut Answer) {
        let details = std::mem::take(&mut self.details);
        if !details.is_empty() {
            self.thinking = answer.signature(self.thinking, &Value::from(details).to_string());
        }
    }
}

/// Details are streamed in pieces of one number: texts are joined, other fields come once.
fn merge_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = |known: &&mut Value| {
        known["index"] == piece["index"] && known["type"] == piece["type"] && !piece["index"].is_null()
    };
    let Some(known) = details.iter_mut().find(same) else {
        details.push(piece.clone());
        return;
    };
    for (name, value) in piece.as_object().into_iter().flatten() {
        match (name.as_str(), &mut known[name], value) {
            ("text" | "summary" | "data", Value::String(text), Value::String(more)) => text.push_str(more),
            (_, slot @ Value::Null, value) => *slot = value.clone(),
            _ => {}
        }
    }
}

/// The counts come in a last chunk, or with every chunk, or never.
fn take_usage(usage: &Value, answer: &mut Answer) {
    if !usage.is_object() {
        return;
    }
    let details = &usage["prompt_tokens_details"];
    let prompt = count_at(usage, "prompt_tokens");
    let read = usage["prompt_cache_hit_tokens"].as_u64().unwrap_or_else(|| count_at(details, "cached_tokens"));
    let written = count_at(details, "cache_write_tokens");
    answer.usage = Usage {
        input_tokens: prompt.saturating_sub(read).saturating_sub(written),
        output_tokens: count_at(usage, "completion_tokens"),
        cache_read_tokens: read,
        cache_write_tokens: written,
    };
    if let Some(dollars) = usage["cost"].as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0) {
        // A saturating cast: no cost is that high. The small step back is a float's own dust.
        answer.cost_micros_usd = Some((dollars * 1_000_000.0 - 1e-6).ceil() as u64);
    }
}

fn stop_reason(word: &str) -> Option<StopReason> {
    match word {
        "length" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refusal),
        // `stop`, `tool_calls`, `function_call`: whether there are calls says it better.
        _ => None,
    }
}

/// Errors in a stream carry the status that they would have had before it.
fn in_stream(error: &Value) -> ProviderError {
    let code = &error["code"];
    let number = code.as_u64().or_else(|| code.as_str().and_then(|code| code.parse().ok()));
    let status = number.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    error_in_stream(status.unwrap_or(500), error["message"].as_str().or(error.as_str()).unwrap_or_default())
}
