//! What every provider promises.

use std::time::Duration;

use r1_event::Digest;
use r1_runtime::model::{Block, Delta, ModelResponse, StopReason, ToolUse, Usage};
use r1_runtime::provider::{ProviderError, ProviderFailure};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::dialect::{Answer, Dialect, assistant, request, result, user};
use super::server::{KEY, Reply, Scene};

/// All promises for one dialect.
macro_rules! provider_conformance {
    ($name:ident, $dialect:ty) => {
        $crate::provider::conformance::provider_conformance!(@each $name, $dialect =>
            text_is_streamed_and_comes_whole,
            a_tool_call_comes_with_its_input,
            parallel_tool_calls_stay_apart,
            thinking_is_kept_and_sent_back,
            usage_counts_cached_tokens_apart,
            the_key_travels_in_its_header_alone,
            results_are_sent_together_and_before_what_is_said,
            statuses_become_failures_with_the_providers_words,
            retry_after_is_passed_on,
            a_redirect_is_not_followed,
            a_cut_stream_is_unreachable,
            a_stream_that_ends_early_is_unreachable,
            silence_is_a_timeout,
            no_first_byte_is_a_timeout,
            malformed_json_is_refused,
            an_answer_that_is_no_stream_is_refused,
            a_huge_event_is_refused,
            characters_may_be_split_anywhere,
            dropping_the_call_closes_the_connection,
            whoever_does_not_listen_still_gets_the_answer);
    };
    (@each $name:ident, $dialect:ty => $($promise:ident),+ $(,)?) => {
        mod $name {
            use super::*;
            $(#[tokio::test]
            async fn $promise() { conformance::$promise::<$dialect>().await; })+
        }
    };
}
pub(crate) use provider_conformance;

fn whole<D: Dialect>(answer: &Answer) -> String {
    D::frames(answer).concat()
}

async fn ask<D: Dialect>(reply: Reply) -> (Result<ModelResponse, ProviderError>, Vec<Delta>) {
    Scene::new::<D>(vec![reply]).await.call(request(vec![user("hi")])).await
}

async fn ask_well<D: Dialect>(answer: &Answer) -> (ModelResponse, Vec<Delta>) {
    let (answer, deltas) = ask::<D>(Reply::stream(&whole::<D>(answer))).await;
    (answer.unwrap(), deltas)
}

async fn ask_badly<D: Dialect>(reply: Reply) -> ProviderError {
    ask::<D>(reply).await.0.unwrap_err()
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn call(id: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse { call_id: id.to_owned(), tool: "read".to_owned(), input })
}

pub(crate) async fn text_is_streamed_and_comes_whole<D: Dialect>() {
    let stream = whole::<D>(&Answer::text(&["Hello", ", ", "world"]));
    let (answer, deltas) = ask::<D>(Reply::stream(&stream)).await;
    let answer = answer.unwrap();
    assert_eq!(answer.blocks, [text("Hello, world")]);
    assert_eq!(answer.stop_reason, StopReason::EndTurn);
    assert_eq!(answer.raw_response_hash, Digest::blake3(stream.as_bytes()));
    assert!(answer.request_id.is_some());
    assert_eq!(answer.cost_micros_usd, None);
    let delta = |text: &str| Delta::Text { block: 0, text: text.to_owned() };
    assert_eq!(deltas, [delta("Hello"), delta(", "), delta("world")]);
}

pub(crate) async fn a_tool_call_comes_with_its_input<D: Dialect>() {
    let answer = Answer {
        text: vec!["I'll look."],
        calls: vec![("call_1", "read", vec![r#"{"path": "src"#, r#"/lib.rs"}"#])],
        ..Answer::default()
    };
    let (answer, _) = ask_well::<D>(&answer).await;
    assert_eq!(answer.blocks, [text("I'll look."), call("call_1", json!({"path": "src/lib.rs"}))]);
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
}

pub(crate) async fn parallel_tool_calls_stay_apart<D: Dialect>() {
    let answer = Answer {
        calls: vec![
            ("call_1", "read", vec![r#"{"path""#, r#": "a"}"#]),
            ("call_2", "read", vec![r#"{"path": "#, r#""b"}"#]),
        ],
        ..Answer::default()
    };
    let (answer, _) = ask_well::<D>(&answer).await;
    assert_eq!(answer.blocks, [call("call_1", json!({"path": "a"})), call("call_2", json!({"path": "b"}))]);
}

pub(crate) async fn thinking_is_kept_and_sent_back<D: Dialect>() {
    let signature = r#"[{"type":"reasoning.encrypted","data":"c2lnbmVk","index":0}]"#;
    let answer = Answer {
        thinking: Some(("Look first.", signature)),
        calls: vec![("call_1", "read", vec![r#"{"path": "a"}"#])],
        ..Answer::default()
    };
    let mut scene =
        Scene::new::<D>(vec![Reply::stream(&whole::<D>(&answer)), Reply::stream(&whole::<D>(&Answer::text(&["ok"])))])
            .await;
    let (answer, deltas) = scene.call(request(vec![user("hi")])).await;
    let answer = answer.unwrap();
    let Some(Block::Thinking(thinking)) = answer.blocks.first() else { panic!("no thinking: {answer:?}") };
    assert_eq!((thinking.text.as_str(), thinking.redacted), ("Look first.", false));
    assert_eq!(deltas, [Delta::Thinking { block: 0, text: "Look first.".to_owned() }]);
    assert!(D::sent_signatures(&scene.asked().body).is_empty());

    let conversation = vec![user("hi"), assistant(answer.blocks), result("call_1", json!("content"), false)];
    scene.call(request(conversation)).await.0.unwrap();
    assert_eq!(D::sent_signatures(&scene.asked().body), [signature]);
}

pub(crate) async fn usage_counts_cached_tokens_apart<D: Dialect>() {
    let cache_write_tokens = if D::COUNTS_CACHE_WRITES { 512 } else { 0 };
    let usage = Usage { input_tokens: 11, output_tokens: 25, cache_read_tokens: 640, cache_write_tokens };
    let (answer, _) = ask_well::<D>(&Answer { usage, ..Answer::text(&["ok"]) }).await;
    assert_eq!(answer.usage, usage);
}

pub(crate) async fn the_key_travels_in_its_header_alone<D: Dialect>() {
    let mut scene = Scene::new::<D>(vec![Reply::stream(&whole::<D>(&Answer::text(&["ok"])))]).await;
    scene.call(request(vec![user("hi")])).await.0.unwrap();
    let asked = scene.asked();
    assert_eq!(asked.uri, D::URI);
    let (header, prefix) = D::KEY;
    assert_eq!(asked.headers[header], format!("{prefix}{KEY}"));
    assert!(!asked.body.to_string().contains(KEY) && !asked.uri.contains(KEY));
    let carriers = asked.headers.values().filter(|value| value.to_str().is_ok_and(|value| value.contains(KEY)));
    assert_eq!(carriers.count(), 1);
}

pub(crate) async fn results_are_sent_together_and_before_what_is_said<D: Dialect>() {
    let mut scene = Scene::new::<D>(vec![Reply::stream(&whole::<D>(&Answer::text(&["ok"])))]).await;
    let calls = vec![call("call_1", json!({"path": "a"})), call("call_2", json!({"path": "b"}))];
    let conversation = vec![
        user("hi"),
        assistant(calls),
        user("and hurry"),
        result("call_1", json!("A"), false),
        result("call_2", json!({"error": "gone"}), true),
    ];
    scene.call(request(conversation)).await.0.unwrap();
    let body = scene.asked().body;
    assert_eq!(D::sent_results(&body), ["call_1", "call_2"]);
    let sent = body.to_string();
    assert!(sent.find("and hurry") > sent.rfind("gone"), "{sent}");
}

pub(crate) async fn statuses_become_failures_with_the_providers_words<D: Dialect>() {
    for (status, kind) in [
        (400, ProviderFailure::Rejected),
        (401, ProviderFailure::Unauthorized),
        (403, ProviderFailure::Unauthorized),
        (404, ProviderFailure::Rejected),
        (408, ProviderFailure::Overloaded),
        (409, ProviderFailure::Overloaded),
        (429, ProviderFailure::Overloaded),
        (500, ProviderFailure::Overloaded),
        (529, ProviderFailure::Overloaded),
    ] {
        let body = json!({"error": {"type": "some_error", "message": format!("no: {KEY} {}", "x".repeat(9000))}});
        let error = ask_badly::<D>(Reply::Status(status, Vec::new(), body.to_string())).await;
        assert_eq!((error.kind, error.status), (kind, status));
        assert!(error.message.starts_with("no: [key] xxx"), "{error}");
        assert!(error.message.len() < 3000, "it is cut");
        assert_eq!(error.retry_after, None);
    }
}

pub(crate) async fn retry_after_is_passed_on<D: Dialect>() {
    let header =
        |value: &str| vec![("retry-after", value.to_owned()), ("date", "Fri, 02 Jan 2026 03:04:05 GMT".to_owned())];
    for (value, seconds) in [("7", 7), ("Fri, 02 Jan 2026 03:04:35 GMT", 30)] {
        let error = ask_badly::<D>(Reply::Status(429, header(value), String::new())).await;
        assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)), "{value}");
    }
}

pub(crate) async fn a_redirect_is_not_followed<D: Dialect>() {
    let error = ask_badly::<D>(Reply::Status(307, vec![("location", "/elsewhere".to_owned())], String::new())).await;
    assert_eq!((error.kind, error.status), (ProviderFailure::Rejected, 307));
    assert!(error.message.contains("base URL"), "{error}");
}

pub(crate) async fn a_cut_stream_is_unreachable<D: Dialect>() {
    let stream = whole::<D>(&Answer::text(&["Hello", ", world"])).into_bytes();
    let at = stream.windows(7).position(|window| window == b", world").unwrap();
    let (error, deltas) = ask::<D>(Reply::Cut(vec![stream[..at].to_vec()])).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind, ProviderFailure::Unreachable, "{error}");
    assert_eq!(deltas, [Delta::Text { block: 0, text: "Hello".to_owned() }], "what came before stays said");
}

pub(crate) async fn a_stream_that_ends_early_is_unreachable<D: Dialect>() {
    let frames = D::frames(&Answer::text(&["Hello", ", world"]));
    let hello = frames.iter().position(|frame| frame.contains("Hello")).unwrap();
    let error = ask_badly::<D>(Reply::stream(&frames[..=hello].concat())).await;
    assert_eq!(error.kind, ProviderFailure::Unreachable, "{error}");
    let error = ask_badly::<D>(Reply::stream("")).await;
    assert_eq!(error.kind, ProviderFailure::Unreachable, "{error}");
}

pub(crate) async fn silence_is_a_timeout<D: Dialect>() {
    let frames = D::frames(&Answer::text(&["Hello", ", world"]));
    let scene = Scene::new::<D>(vec![Reply::Silence(vec![frames[0].clone().into_bytes()], None)]).await;
    let error = scene.impatient(60_000, 50).call(request(vec![user("hi")])).await.0.unwrap_err();
    assert_eq!(error.kind, ProviderFailure::Timeout, "{error}");
    assert!(error.message.contains("0.05 s"), "{error}");
}

pub(crate) async fn no_first_byte_is_a_timeout<D: Dialect>() {
    let scene = Scene::new::<D>(vec![Reply::Nothing]).await.impatient(50, 60_000);
    let error = scene.call(request(vec![user("hi")])).await.0.unwrap_err();
    assert_eq!((error.kind, error.status), (ProviderFailure::Timeout, 0), "{error}");
}

pub(crate) async fn malformed_json_is_refused<D: Dialect>() {
    let error = ask_badly::<D>(Reply::stream(&D::frame("{\"type\": "))).await;
    assert_eq!(error.kind, ProviderFailure::Malformed, "{error}");
}

pub(crate) async fn an_answer_that_is_no_stream_is_refused<D: Dialect>() {
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    let body = json!({"error": {"message": "streaming is off"}}).to_string();
    let error = ask_badly::<D>(Reply::Status(200, headers, body)).await;
    assert_eq!(error.kind, ProviderFailure::Malformed);
    assert!(error.message.contains("streaming is off"), "{error}");
}

pub(crate) async fn a_huge_event_is_refused<D: Dialect>() {
    let chunks = std::iter::once(b"data: ".to_vec()).chain((0..17).map(|_| vec![b'x'; 1024 * 1024]));
    let error = ask_badly::<D>(Reply::Stream(chunks.collect())).await;
    assert_eq!(error.kind, ProviderFailure::Malformed);
    assert!(error.message.contains("larger than"), "{error}");
}

pub(crate) async fn characters_may_be_split_anywhere<D: Dialect>() {
    let stream = whole::<D>(&Answer::text(&["grüße ", "🦀", " ende"]));
    let (answer, _) = ask::<D>(Reply::Stream(stream.bytes().map(|byte| vec![byte]).collect())).await;
    let answer = answer.unwrap();
    assert_eq!(answer.blocks, [text("grüße 🦀 ende")]);
    assert_eq!(answer.raw_response_hash, Digest::blake3(stream.as_bytes()));
}

pub(crate) async fn dropping_the_call_closes_the_connection<D: Dialect>() {
    let frames = D::frames(&Answer::text(&["Hello", ", world"]));
    let hello = frames.iter().position(|frame| frame.contains("Hello")).unwrap();
    let (sender, hung_up) = oneshot::channel();
    let sent = frames[..=hello].concat().into_bytes();
    let scene = Scene::new::<D>(vec![Reply::Silence(vec![sent], Some(sender))]).await;
    let (deltas, mut heard) = mpsc::channel(8);
    {
        let call = scene.start(request(vec![user("hi")]), deltas);
        tokio::select! {
            ended = call => panic!("the call ended: {ended:?}"),
            delta = heard.recv() => assert!(delta.is_some(), "the answer has begun"),
        }
    }
    hung_up.await.expect("the server is told that nobody listens any more");
}

pub(crate) async fn whoever_does_not_listen_still_gets_the_answer<D: Dialect>() {
    let scene = Scene::new::<D>(vec![Reply::stream(&whole::<D>(&Answer::text(&["Hello"])))]).await;
    let (deltas, receiver) = mpsc::channel(1);
    drop(receiver);
    let answer = scene.start(request(vec![user("hi")]), deltas).await.unwrap();
    assert_eq!(answer.blocks, [text("Hello")]);
}
