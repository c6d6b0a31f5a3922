//! What only one of the wire formats can say, and what some servers leave out.

use r1_runtime::model::{Block, ModelResponse, StopReason, Thinking, ToolUse, Usage};
use r1_runtime::provider::{KeySource, ProviderError, ProviderFailure, ProviderSpec, Wire, open};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::dialect::{Answer, Dialect, assistant, request, result, user};
use super::dialects::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
use super::server::{Reply, Scene};

fn stream(events: &[Value]) -> Reply {
    Reply::stream(&events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

async fn read<D: Dialect, const N: usize>(events: [Value; N]) -> Result<ModelResponse, ProviderError> {
    Scene::new::<D>(vec![stream(&events)]).await.call(request(vec![user("hi")])).await.0
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn call(id: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse { call_id: id.to_owned(), tool: "read".to_owned(), input })
}

#[tokio::test]
async fn anthropic_redacted_thinking_is_kept_and_sent_back() {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "redacted_thinking", "data": "b3BhcXVl"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hi"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ];
    let ok = Anthropic::frames(&Answer::text(&["ok"])).concat();
    let mut scene = Scene::new::<Anthropic>(vec![stream(&events), Reply::stream(&ok)]).await;
    let answer = scene.call(request(vec![user("hi")])).await.0.unwrap();
    let redacted = Thinking { text: "b3BhcXVl".to_owned(), signature: None, redacted: true };
    assert_eq!(answer.blocks, [Block::Thinking(redacted), text("Hi")]);
    assert_eq!(answer.stop_reason, StopReason::MaxTokens);
    assert_eq!(answer.request_id.as_deref(), Some("msg_1"));
    scene.asked();
    scene.call(request(vec![user("hi"), assistant(answer.blocks), user("go on")])).await.0.unwrap();
    let sent = &scene.asked().body["messages"][1]["content"];
    assert_eq!(sent[0], json!({"type": "redacted_thinking", "data": "b3BhcXVl"}));
}

#[tokio::test]
async fn errors_in_a_stream_are_as_good_as_statuses() {
    let error = read::<Anthropic, _>([
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ])
    .await
    .unwrap_err();
    assert_eq!((error.kind, error.status, error.message.as_str()), (ProviderFailure::Overloaded, 529, "Overloaded"));

    let failed = json!({"code": "rate_limit_exceeded", "message": "Slow down"});
    let error = read::<OpenaiResponses, _>([json!({"type": "response.failed", "response": {"error": failed}})])
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.status), (ProviderFailure::Overloaded, 429));
    let error = read::<OpenaiResponses, _>([json!({"type": "error", "code": "invalid_prompt", "message": "No"})]);
    assert_eq!(error.await.unwrap_err().kind, ProviderFailure::Rejected);

    let error =
        read::<OpenaiChat, _>([json!({"error": {"code": 502, "message": "upstream is down"}})]).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ProviderFailure::Overloaded, 502));

    let error = read::<Gemini, _>([json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})])
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ProviderFailure::Overloaded, "busy"));
}

#[tokio::test]
async fn openai_items_without_deltas_are_taken_whole() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi"}]});
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "b3BhcXVl"});
    let function =
        json!({"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"a\"}"});
    let answer = read::<OpenaiResponses, _>([
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": message}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "output": [reasoning, message, function]}}),
    ])
    .await
    .unwrap();
    let thinking = Thinking { text: String::new(), signature: Some("b3BhcXVl".into()), redacted: true };
    assert_eq!(answer.blocks, [Block::Thinking(thinking), text("Hi"), call("call_1", json!({"path": "a"}))]);
    assert_eq!(answer.request_id.as_deref(), Some("resp_1"));
}

#[tokio::test]
async fn openai_summaries_of_several_parts_are_paragraphs() {
    let delta = |part: u64, text: &str| {
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": part,
            "delta": text})
    };
    let answer = read::<OpenaiResponses, _>([
        delta(0, "One"),
        delta(0, "."),
        delta(1, "Two."),
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
    ])
    .await
    .unwrap();
    let thinking = Thinking { text: "One.\n\nTwo.".to_owned(), signature: None, redacted: false };
    assert_eq!(answer.blocks, [Block::Thinking(thinking)]);
    assert_eq!(answer.stop_reason, StopReason::MaxTokens);
}

#[tokio::test]
async fn chat_servers_may_leave_out_usage_ids_and_numbers() {
    let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
    let answer = read::<OpenaiChat, _>([
        delta(json!({"content": "Hi"})),
        delta(json!({"tool_calls": [{"function": {"name": "read", "arguments": "{\"path\":"}}]})),
        delta(json!({"tool_calls": [{"function": {"arguments": "\"a\"}"}}]})),
        delta(json!({"tool_calls": [{"function": {"name": "read", "arguments": {"path": "b"}}}]})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    ])
    .await
    .unwrap();
    let calls = [call("r1_call_3_1", json!({"path": "a"})), call("r1_call_3_2", json!({"path": "b"}))];
    assert_eq!(answer.blocks[0], text("Hi"));
    assert_eq!(answer.blocks[1..], calls, "without [DONE] the stream's end will do");
    assert_eq!(answer.stop_reason, StopReason::ToolUse, "whatever the server calls it");
    assert_eq!((answer.usage, answer.request_id), (Usage::default(), None));
}

#[tokio::test]
async fn chat_servers_may_leave_out_why_they_stopped() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n";
    let answer = Scene::new::<OpenaiChat>(vec![Reply::stream(stream)]).await.call(request(vec![user("hi")])).await.0;
    assert_eq!(answer.unwrap().blocks, [text("Hi")]);
}

#[tokio::test]
async fn a_cost_that_the_provider_tells_is_taken_in_micros() {
    let chunk = |cost: Value| {
        json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "cost": cost}})
    };
    for (dollars, micros) in
        [(json!(0.0001), Some(100)), (json!(0.000_012_3), Some(13)), (json!(0), Some(0)), (json!(null), None)]
    {
        let answer = read::<OpenaiChat, _>([chunk(dollars)]).await.unwrap();
        assert_eq!(answer.cost_micros_usd, micros);
    }
}

#[tokio::test]
async fn gemini_calls_without_ids_are_answered_in_order() {
    let events = [
        json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2lnbmVk"},
            {"functionCall": {"name": "read", "args": {"path": "b"}}},
        ]}}]}),
        json!({"candidates": [{"finishReason": "STOP"}]}),
    ];
    let ok = Gemini::frames(&Answer::text(&["ok"])).concat();
    let mut scene = Scene::new::<Gemini>(vec![stream(&events), Reply::stream(&ok)]).await;
    let answer = scene.call(request(vec![user("hi")])).await.0.unwrap();
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    let call_id = |block: &Block| if let Block::ToolUse(call) = block { Some(call.call_id.clone()) } else { None };
    let ids: Vec<String> = answer.blocks.iter().filter_map(call_id).collect();
    scene.asked();
    let results = ids.iter().map(|id| result(id, json!("content"), false));
    let conversation = [user("hi"), assistant(answer.blocks)].into_iter().chain(results).collect();
    scene.call(request(conversation)).await.0.unwrap();
    let contents = &scene.asked().body["contents"];
    assert_eq!(
        contents[1]["parts"],
        json!([
            {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2lnbmVk"},
            {"functionCall": {"name": "read", "args": {"path": "b"}}},
        ])
    );
    let answered = json!({"functionResponse": {"name": "read", "response": {"output": "content"}}});
    assert_eq!(contents[2]["parts"], json!([answered, answered]));
}

#[tokio::test]
async fn gemini_refusals_and_failed_calls_are_told_apart() {
    let blocked = read::<Gemini, _>([json!({"promptFeedback": {"blockReason": "SAFETY"}})]).await.unwrap();
    assert_eq!((blocked.stop_reason, blocked.blocks.len()), (StopReason::Refusal, 0));
    let broken = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "bad args"}]});
    let broken = read::<Gemini, _>([broken]).await.unwrap_err();
    assert!(broken.kind.is_retriable() && broken.message.contains("bad args"), "{broken}");
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable_and_says_why() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let spec = ProviderSpec {
        name: "gone".to_owned(),
        wire: Wire::OpenaiChat,
        base_url: Some(format!("http://{address}/v1")),
        key: Some(KeySource::Env("THE_KEY".to_owned())),
        ..ProviderSpec::default()
    };
    let provider = open(&spec, &|_| Some("sk-1".to_owned())).unwrap();
    let error = provider.call(request(vec![user("hi")]), mpsc::channel(1).0).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ProviderFailure::Unreachable, 0));
    assert!(error.message.contains("refused"), "{error}");
}
