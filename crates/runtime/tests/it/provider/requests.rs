//! What each provider makes of one and the same conversation.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use r1_event::Digest;
use r1_runtime::model::{Block, Message, ModelRequest, Role, Thinking, ToolUse};
use serde_json::{Value, json};

use super::dialect::{Answer, Dialect, assistant, request, result, user};
use super::dialects::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
use super::server::{Reply, Scene};

/// A conversation with everything in it.
fn conversation() -> ModelRequest {
    let thinking = |text: &str, signature: &'static str| {
        let signature = Some(Bytes::from_static(signature.as_bytes()));
        Block::Thinking(Thinking { text: text.to_owned(), signature, redacted: text.is_empty() })
    };
    let call = |id: &str, path: &str| {
        Block::ToolUse(ToolUse { call_id: id.to_owned(), tool: "read".to_owned(), input: json!({"path": path}) })
    };
    let attachment = |mime: &str, name: &str, content: &[u8]| Block::Attachment {
        mime: mime.to_owned(),
        name: name.to_owned(),
        digest: Digest::blake3(content),
    };
    let (image, notes, lost) = (&b"\x89PNG"[..], &b"Be brief."[..], &b"lost"[..]);
    let first = Message {
        role: Role::User,
        blocks: vec![
            Block::Text("Compare them.".to_owned()),
            attachment("image/png", "shot.png", image),
            attachment("text/markdown", "notes.md", notes),
            attachment("image/png", "lost.png", lost),
        ],
    };
    let messages = vec![
        first,
        assistant(vec![
            thinking("Two files, then.", r#"[{"type":"reasoning.text","text":"Two files, then.","index":0}]"#),
            Block::Text("I'll read both.".to_owned()),
            call("call_1", "a"),
            call("call_2", "b"),
        ]),
        result("call_1", json!("content of a"), false),
        result("call_2", json!({"error": "no such file"}), true),
        user("b is gone, it seems"),
        assistant(vec![thinking("", r#"[{"type":"reasoning.encrypted","data":"b3BhcXVl","index":0}]"#)]),
        assistant(vec![Block::Text("Then there is only a.".to_owned())]),
        user("Thank you."),
    ];
    let contents = [image, notes].map(|content| (Digest::blake3(content), Bytes::copy_from_slice(content)));
    ModelRequest { attachments: Arc::new(HashMap::from(contents)), ..request(messages) }
}

async fn body_of<D: Dialect>(request: ModelRequest) -> Value {
    let mut scene = Scene::new::<D>(vec![Reply::stream(&D::frames(&Answer::text(&["ok"])).concat())]).await;
    scene.call(request).await.0.unwrap();
    scene.asked().body
}

/// With its keys in order, whether or not something else in the build makes JSON keep another one.
fn readable(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_unstable_by_key(|(name, _)| *name);
                entries.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
            }
            Value::Array(list) => list.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    serde_json::to_string_pretty(&sorted(value)).unwrap()
}

#[tokio::test]
async fn a_conversation_for_anthropic() {
    insta::assert_snapshot!("anthropic", readable(&body_of::<Anthropic>(conversation()).await));
}

#[tokio::test]
async fn a_conversation_for_openai_responses() {
    insta::assert_snapshot!("openai_responses", readable(&body_of::<OpenaiResponses>(conversation()).await));
}

#[tokio::test]
async fn a_conversation_for_openai_chat() {
    insta::assert_snapshot!("openai_chat", readable(&body_of::<OpenaiChat>(conversation()).await));
}

#[tokio::test]
async fn a_conversation_for_gemini() {
    insta::assert_snapshot!("gemini", readable(&body_of::<Gemini>(conversation()).await));
}

async fn body_with<D: Dialect>(params: Value) -> Value {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    body_of::<D>(ModelRequest { params, ..request(vec![user("hi")]) }).await
}

#[tokio::test]
async fn parameters_are_said_in_the_vendors_words() {
    let common = json!({"temperature": 0.5, "top_p": 0.9, "stop_sequences": ["END"], "effort": "high", "seed": 7});

    let body = body_with::<Anthropic>(common.clone()).await;
    assert_eq!((&body["temperature"], &body["stop_sequences"]), (&json!(0.5), &json!(["END"])));
    assert_eq!(body["output_config"], json!({"effort": "high"}));
    assert_eq!(body["thinking"], json!({"type": "adaptive", "display": "summarized"}));

    let body = body_with::<OpenaiResponses>(common.clone()).await;
    assert_eq!(body["reasoning"], json!({"effort": "high", "summary": "auto"}));

    let body = body_with::<OpenaiChat>(common.clone()).await;
    assert_eq!((&body["reasoning_effort"], &body["stop"]), (&json!("high"), &json!(["END"])));
    assert_eq!(body["seed"], 7, "what R1 does not know goes to the vendor as it is");

    let body = body_with::<Gemini>(common).await;
    let generation = &body["generationConfig"];
    assert_eq!((&generation["temperature"], &generation["topP"]), (&json!(0.5), &json!(0.9)));
    assert_eq!(generation["thinkingConfig"], json!({"includeThoughts": true, "thinkingLevel": "high"}));
}

#[tokio::test]
async fn a_budget_for_thinking_leaves_room_for_the_answer() {
    let body = body_with::<Anthropic>(json!({"thinking_budget": 2000})).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2000}));
    let body = body_with::<Anthropic>(json!({"thinking_budget": 9999})).await;
    assert_eq!(body["thinking"]["budget_tokens"], 4095, "less than max_tokens");
    let body = body_with::<Anthropic>(json!({"thinking_budget": 100})).await;
    assert_eq!(body["thinking"], Value::Null, "less than the API takes");
    let body = body_with::<Gemini>(json!({"thinking_budget": 100})).await;
    assert_eq!(body["generationConfig"]["thinkingConfig"]["thinkingBudget"], 100);
}

#[tokio::test]
async fn no_request_has_more_cache_marks_than_anthropic_takes() {
    fn marks(value: &Value) -> usize {
        match value {
            Value::Object(object) => {
                usize::from(object.contains_key("cache_control")) + object.values().map(marks).sum::<usize>()
            }
            Value::Array(list) => list.iter().map(marks).sum(),
            _ => 0,
        }
    }
    let turns = (0..20).flat_map(|_| [user("on"), assistant(vec![Block::Text("ok".to_owned())])]);
    let body = body_of::<Anthropic>(request(turns.chain([user("last")]).collect())).await;
    assert_eq!(marks(&body), 4);
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(marks(last), 1, "the newest is written to the cache");
}

#[tokio::test]
async fn models_that_do_not_reason_are_not_asked_for_reasoning() {
    for (model, asked) in [("gpt-5", true), ("o3", true), ("gpt-4o", false), ("gpt-5-chat-latest", false)] {
        let request = ModelRequest { model: model.to_owned(), ..request(vec![user("hi")]) };
        let body = body_of::<OpenaiResponses>(request).await;
        assert_eq!(body["include"].is_array(), asked, "{model}");
        assert_eq!(body["store"], false);
    }
}

#[tokio::test]
async fn plain_reasoning_goes_back_to_chat_servers_while_its_calls_are_answered() {
    let thinking = Block::Thinking(Thinking { text: "Hm.".to_owned(), signature: None, redacted: false });
    let call =
        Block::ToolUse(ToolUse { call_id: "call_1".to_owned(), tool: "read".to_owned(), input: json!({"path": "a"}) });
    let during = vec![user("hi"), assistant(vec![thinking, call]), result("call_1", json!("A"), false)];
    let after = [during.clone(), vec![assistant(vec![Block::Text("done".to_owned())]), user("next")]].concat();
    let body = body_of::<OpenaiChat>(request(during)).await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Hm.");
    let body = body_of::<OpenaiChat>(request(after)).await;
    assert_eq!(body["messages"][2]["role"], "assistant");
    assert_eq!(body["messages"][2]["reasoning_content"], Value::Null);
}
