use std::collections::HashMap;

use futures_util::FutureExt;
use serde_json::{Map, json};

use super::*;
use crate::model::{Role, ToolResult};

/// The example of the documentation is one that works.
const EXAMPLE: &str = include_str!("../../../../../docs/scripted.md");

fn example() -> Scenario {
    let (_, rest) = EXAMPLE.split_once("```yaml\n").expect("an example");
    let (yaml, _) = rest.split_once("```").expect("its end");
    Scenario::parse(yaml).expect("the documented example can be read")
}

fn request(turn_index: u64, attempt: u64, last: Block) -> ModelRequest {
    ModelRequest {
        model: "scripted".to_owned(),
        system: "".into(),
        messages: Arc::new(vec![Message { role: Role::User, blocks: vec![last] }]),
        tools: Arc::new([]),
        max_output_tokens: 1000,
        params: Map::new(),
        turn_index,
        attempt,
        attachments: Arc::new(HashMap::new()),
    }
}

async fn play(scenario: &Scenario, request: ModelRequest) -> (Result<ModelResponse, ProviderError>, Vec<Delta>) {
    let provider = Scripted::new("scripted", Arc::new(scenario.clone()));
    let (sender, mut receiver) = mpsc::channel(1000);
    let answer = provider.call(request, sender).await;
    let mut deltas = Vec::new();
    while let Ok(delta) = receiver.try_recv() {
        deltas.push(delta);
    }
    (answer, deltas)
}

fn said(text: &str) -> Block {
    Block::Text(text.to_owned())
}

#[tokio::test]
async fn the_documented_example_plays() {
    let scenario = example();
    let (failed, deltas) = play(&scenario, request(0, 1, said("the test fails, fix it"))).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.status, failed.retry_after), (529, Some(Duration::from_millis(200))));
    assert!(deltas.is_empty());

    let (cut, deltas) = play(&scenario, request(0, 2, said("the test fails, fix it"))).await;
    assert_eq!(cut.unwrap_err().kind, ProviderFailure::Unreachable);
    assert!(!deltas.is_empty());

    let (answer, deltas) = play(&scenario, request(0, 3, said("the test fails, fix it"))).await;
    let answer = answer.unwrap();
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    assert!(deltas.len() > 2, "streamed in pieces: {deltas:?}");

    let (last, _) = play(&scenario, request(99, 1, said("anything"))).await;
    assert_eq!(last.unwrap().stop_reason, StopReason::EndTurn);
}

#[tokio::test]
async fn pieces_make_up_the_whole() {
    let scenario = Scenario::parse("turns: [{thinking: hmm…, text: 'grüße, 🦀!', chunk_chars: 2}]").unwrap();
    let (answer, deltas) = play(&scenario, request(0, 1, said("hi"))).await;
    let mut thinking = String::new();
    let mut text = String::new();
    for delta in deltas {
        match delta {
            Delta::Thinking { block, text } => {
                assert_eq!(block, 0);
                thinking.push_str(&text);
            }
            Delta::Text { block, text: more } => {
                assert_eq!(block, 1);
                text.push_str(&more);
            }
        }
    }
    let whole = vec![Block::Thinking(Thinking { text: thinking, signature: None, redacted: false }), Block::Text(text)];
    assert_eq!(answer.unwrap().blocks, whole);
}

#[tokio::test]
async fn the_same_request_gives_the_same_answer_from_a_new_provider() {
    let scenario =
        Scenario::parse(r#"{"turns": [{"tool_calls": [{"tool": "a"}, {"tool": "b", "id": "mine"}]}]}"#).unwrap();
    let first = play(&scenario, request(0, 1, said("hi"))).await.0.unwrap();
    assert_eq!(play(&scenario, request(0, 1, said("hi"))).await.0.unwrap(), first);
    let call = |id: &str, tool: &str| {
        Block::ToolUse(ToolUse { call_id: id.to_owned(), tool: tool.to_owned(), input: json!({}) })
    };
    assert_eq!(first.blocks, [call("call_0_0", "a"), call("mine", "b")]);
}

#[tokio::test]
async fn a_turn_for_another_conversation_says_so() {
    let scenario = Scenario::parse("turns: [{when: exit code 1, text: I see}]").unwrap();
    let result = |content| Block::ToolResult(ToolResult { call_id: "1".to_owned(), content, is_error: true });
    let (seen, _) = play(&scenario, request(0, 1, result(json!({"stderr": "exit code 1"})))).await;
    assert!(seen.is_ok());
    let (unseen, _) = play(&scenario, request(0, 1, result(json!("fine")))).await;
    let unseen = unseen.unwrap_err();
    assert_eq!(unseen.kind, ProviderFailure::Rejected, "trying again does not help");
    assert!(unseen.message.contains("turn 1") && unseen.message.contains("`exit code 1`"), "{unseen}");
}

#[tokio::test]
async fn a_scenario_that_is_over_says_so() {
    let scenario = Scenario::parse("turns: [{text: hi}]").unwrap();
    let over = play(&scenario, request(1, 1, said("and now?"))).await.0.unwrap_err();
    assert_eq!(over.message, "the scenario has 1 turns and no `default`, but turn 2 was asked for");
    assert!(!over.kind.is_retriable());
}

#[tokio::test]
async fn a_provider_that_hangs_is_only_ended_by_its_caller() {
    let scenario = Scenario::parse("turns: [{failures: [{kind: hang}], text: never}]").unwrap();
    let hanging = play(&scenario, request(0, 1, said("hi")));
    assert!(hanging.now_or_never().is_none(), "it answers nothing");
    let (timeout, _) =
        play(&Scenario::parse("turns: [{failures: [{kind: timeout}]}]").unwrap(), request(0, 1, said(""))).await;
    assert_eq!(timeout.unwrap_err().kind, ProviderFailure::Timeout);
}

#[test]
fn a_scenario_survives_being_stored() {
    let scenario = example();
    let stored = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&stored).unwrap(), scenario);
    assert_eq!(Scenario::parse(&stored).unwrap(), scenario, "JSON is read like YAML");
}

#[test]
fn mistakes_are_named() {
    for (text, named) in [
        ("turns: [{txt: hi}]", "txt"),
        ("turns: [{failures: [{kind: boom}]}]", "boom"),
        ("turns: [{failures: [{kind: status, status: 200}]}]", "status 200"),
        ("turns: {", ""),
    ] {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}
