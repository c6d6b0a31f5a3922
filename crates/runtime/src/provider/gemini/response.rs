//! An answer of the Gemini API.

use serde_json::Value;

use crate::model::{StopReason, Usage};
use crate::provider::ProviderError;
use crate::provider::answer::Answer;
use crate::provider::http::{error_in_stream, malformed};
use crate::provider::remote::{Progress, Reader, count_at, parse, text_at};

/// Reads the chunks of one answer. Each is a whole response of its own with the next parts in it.
#[derive(Default)]
pub(in crate::provider) struct ContentReader {
    finished: bool,
}

impl Reader for ContentReader {
    fn read(&mut self, data: &str, answer: &mut Answer) -> Result<Progress, ProviderError> {
        let chunk = parse(data)?;
        if chunk["error"].is_object() {
            let status = u16::try_from(count_at(&chunk["error"], "code")).unwrap_or(500);
            return Err(error_in_stream(status, text_at(&chunk["error"], "message")));
        }
        if let Some(id) = chunk["responseId"].as_str() {
            answer.id = Some(id.to_owned());
        }
        take_usage(&chunk["usageMetadata"], answer);
        if chunk["promptFeedback"]["blockReason"].is_string() {
            answer.stop = Some(StopReason::Refusal);
            self.finished = true;
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().map_or(&[][..], Vec::as_slice) {
            take_part(part, answer);
        }
        if let Some(word) = candidate["finishReason"].as_str() {
            answer.stop = stop_reason(word, text_at(candidate, "finishMessage"))?;
            self.finished = true;
        }
        Ok(if self.finished { Progress::Complete } else { Progress::Incomplete })
    }
}

fn take_part(part: &Value, answer: &mut Answer) {
    let signature = text_at(part, "thoughtSignature");
    if part["functionCall"].is_object() {
        // Before the call: that is how the request finds out whose it is.
        answer.signature(answer.last_unsigned_thinking(), signature);
        let function = &part["functionCall"];
        let place = answer.call(text_at(function, "id"), text_at(function, "name"));
        if function["args"].is_object() {
            answer.whole_arguments(place, &function["args"].to_string());
        }
        return;
    }
    let text = text_at(part, "text");
    if part["thought"].as_bool().unwrap_or(false) {
        let place = answer.thinking(answer.last_unsigned_thinking(), text);
        answer.signature(place, signature);
    } else {
        answer.text(answer.last_text(), text);
        answer.signature(None, signature);
    }
}

/// Counts of the answer so far; thoughts are counted beside what is said, cached tokens within the prompt.
fn take_usage(usage: &Value, answer: &mut Answer) {
    if !usage.is_object() {
        return;
    }
    let cached = count_at(usage, "cachedContentTokenCount");
    let read = count_at(usage, "promptTokenCount").saturating_add(count_at(usage, "toolUsePromptTokenCount"));
    answer.usage = Usage {
        input_tokens: read.saturating_sub(cached),
        output_tokens: count_at(usage, "candidatesTokenCount").saturating_add(count_at(usage, "thoughtsTokenCount")),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
    };
}

fn stop_reason(word: &str, message: &str) -> Result<Option<StopReason>, ProviderError> {
    match word {
        "MAX_TOKENS" => Ok(Some(StopReason::MaxTokens)),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" | "LANGUAGE" => {
            Ok(Some(StopReason::Refusal))
        }
        // The model's own call could not be read: another try may give a better one.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" => {
            Err(malformed(format!("the model stopped with {word}: {message}")))
        }
        _ => Ok(None),
    }
}
