//! What went wrong, in the words that the loop and the log understand.

use std::error::Error as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::failure_of;
use crate::provider::{ProviderError, ProviderFailure};
use crate::world;

/// An event holds the message, so it is kept short.
const MAX_MESSAGE_BYTES: usize = 2048;

/// A response that is an error.
pub(super) fn of_response(status: u16, headers: &HeaderMap, text: &str) -> ProviderError {
    let said = message_in(text);
    let message = match status {
        200..=299 if said.is_empty() => "the provider answered with something else than a stream".to_owned(),
        200..=299 => format!("the provider answered with something else than a stream: {said}"),
        300..=399 => format!("the provider redirects (status {status}): check its base URL"),
        _ if said.is_empty() => format!("the provider answered with status {status}"),
        _ => said,
    };
    let retry_after = retry_after(headers, Timestamp::from_nanosecond(world::now().0.into()).ok());
    ProviderError { kind: failure_of(status), status, message: cut(message), retry_after }
}

/// An error that came in the middle of a stream that had begun well.
pub(in crate::provider) fn error_in_stream(status: u16, message: &str) -> ProviderError {
    let message = if message.is_empty() { "the provider ended its answer with an error" } else { message };
    ProviderError { kind: failure_of(status), status, message: cut(message.to_owned()), retry_after: None }
}

/// An answer that makes no sense.
pub(in crate::provider) fn malformed(message: impl Into<String>) -> ProviderError {
    ProviderError { kind: ProviderFailure::Malformed, status: 200, message: cut(message.into()), retry_after: None }
}

/// No connection, or one that broke. The URL stays out: it says nothing that the settings do not.
pub(super) fn unreachable(err: reqwest::Error, status: u16) -> ProviderError {
    let what = if status == 0 { "cannot reach the provider" } else { "the provider's answer was cut off" };
    let err = err.without_url();
    let mut cause = err.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    let cause = cause.map_or_else(|| err.to_string(), ToString::to_string);
    let message = cut(format!("{what}: {cause}"));
    ProviderError { kind: ProviderFailure::Unreachable, status, message, retry_after: None }
}

pub(super) fn timeout(what: &str, waited: Duration, status: u16) -> ProviderError {
    let message = format!("the provider is silent: {what} for {} s", waited.as_secs_f64());
    ProviderError { kind: ProviderFailure::Timeout, status, message, retry_after: None }
}

/// The sentence for people in an error's body; every vendor has another place for it.
fn message_in(text: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(text) else {
        // A page of a proxy: its markup helps nobody.
        return if text.trim_start().starts_with('<') { String::new() } else { text.trim().to_owned() };
    };
    // Gemini's streams wrap errors in a list.
    let body = if let Value::Array(list) = &body { list.first().unwrap_or(&Value::Null) } else { &body };
    let error = &body["error"];
    [&error["message"], error, &body["message"], &body["detail"]]
        .into_iter()
        .find_map(Value::as_str)
        .map_or_else(|| text.trim().to_owned(), str::to_owned)
}

fn retry_after(headers: &HeaderMap, now: Option<Timestamp>) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = rfc2822::parse(value).ok()?.timestamp();
    // By the server's own clock if it tells it: ours may be wrong.
    let servers_now = text(DATE.as_str()).and_then(|date| rfc2822::parse(date).ok()).map(|date| date.timestamp());
    let wait = then.duration_since(servers_now.or(now)?);
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

fn cut(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn statuses_say_whether_to_try_again() {
        for status in [408, 409, 429, 500, 502, 503, 529] {
            assert!(failure_of(status).is_retriable(), "{status}");
        }
        for status in [400, 401, 402, 403, 404, 413, 422, 302] {
            assert!(!failure_of(status).is_retriable(), "{status}");
        }
        assert_eq!(failure_of(401), ProviderFailure::Unauthorized);
        assert_eq!(failure_of(403), ProviderFailure::Unauthorized);
    }

    #[test]
    fn the_sentence_for_people_is_found_in_every_vendors_error() {
        for (body, said) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "Overloaded"),
            (r#"[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}]"#, "Quota"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"message":"no"}"#, "no"),
            (r#"{"detail":"not found"}"#, "not found"),
            ("plain words\n", "plain words"),
            ("<html><body>Bad gateway</body></html>", ""),
        ] {
            assert_eq!(message_in(body), said, "{body}");
        }
        let error = of_response(502, &HeaderMap::new(), "<html>");
        assert_eq!(error.message, "the provider answered with status 502");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let error = of_response(400, &HeaderMap::new(), &"ü".repeat(5000));
        assert_eq!(error.message, "ü".repeat(MAX_MESSAGE_BYTES / 2) + "…");
    }

    #[test]
    fn retry_after_is_understood_in_every_form() {
        let now = "2026-01-02T03:04:05Z".parse().ok();
        let at = |pairs: &[_]| retry_after(&headers(pairs), now);
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(at(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(at(&[("retry-after-ms", "250"), ("retry-after", "7")]), Some(Duration::from_millis(250)));
        assert_eq!(at(&[("retry-after", "Fri, 02 Jan 2026 03:04:35 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(at(&[("retry-after", "Fri, 02 Jan 2026 03:04:00 GMT")]), Some(Duration::ZERO));
        let by_its_own_clock =
            [("retry-after", "Fri, 02 Jan 2026 05:00:10 GMT"), ("date", "Fri, 02 Jan 2026 05:00:00 GMT")];
        assert_eq!(at(&by_its_own_clock), Some(Duration::from_secs(10)));
        for nonsense in ["soon", "-1", "NaN", "inf"] {
            assert_eq!(at(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }
}
