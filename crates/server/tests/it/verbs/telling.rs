//! What a run is told: messages, events from outside, files.

use reqwest::Method;
use serde_json::json;

use super::node::{ASKS, Node, prompt};
use crate::support::{error_of, json_of};

#[tokio::test]
async fn a_message_is_the_event_that_it_becomes_and_the_same_one_is_sent_once() {
    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    node.approval(&run).await;
    let path = format!("/runs/{run}/messages");
    let message = json!({ "text": "use the helper", "client_message_id": "m1" });
    let answer = json_of(node.post(&path, message.clone()).await, 200).await;
    assert_eq!(answer["object"], "event");
    let event = &answer["data"];
    assert_eq!((&event["type"], &event["data"]["text"]), (&json!("user.message"), &json!("use the helper")));
    let sequence = usize::try_from(event["sequence"].as_u64().unwrap()).unwrap();
    assert_eq!(&node.events(&run).await[sequence], event, "as it is served everywhere");
    assert_eq!(&node.did(&path, message).await, event);
    let other = json!({ "text": "something else", "client_message_id": "m1" });
    error_of(node.post(&path, other).await, 409, "conflict").await;
    error_of(node.post(&path, json!({ "text": " " })).await, 400, "validation").await;
    node.did(&format!("/runs/{run}/cancel"), json!({})).await;
    error_of(node.post(&path, json!({ "text": "late" })).await, 423, "append_only_violation").await;
}

#[tokio::test]
async fn ep_29_only_events_from_outside_are_taken() {
    let node = Node::with_slots(ASKS, 0).await;
    let (_, run) = node.task(prompt()).await;
    let path = format!("/runs/{run}/events");
    let event = node.did(&path, json!({ "type": "external.build", "data": { "ok": true } })).await;
    assert_eq!((&event["type"], &event["data"]["ok"]), (&json!("external.build"), &json!(true)));
    for reserved in ["run.finished", "approval.resolved", "tool.completed"] {
        error_of(node.post(&path, json!({ "type": reserved, "data": {} })).await, 403, "permission_denied").await;
    }
    error_of(node.post(&path, json!({ "type": "external", "data": {} })).await, 400, "validation").await;
    let large = json!({ "type": "external.large", "data": { "text": "x".repeat(300 << 10) } });
    error_of(node.post(&path, large).await, 400, "validation").await;
    node.did(&format!("/runs/{run}/cancel"), json!({})).await;
    let late = json!({ "type": "external.late", "data": {} });
    error_of(node.post(&path, late).await, 423, "append_only_violation").await;
}

#[tokio::test]
async fn ep_26_a_file_is_uploaded_and_comes_with_a_message() {
    let node = Node::start("turns: [{tool_calls: [{tool: shell, input: {command: 'true'}}]}, {text: seen}]").await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    let path = format!("/runs/{run}/artifacts?name=notes.txt");
    let upload = node.request(Method::POST, &path).header("content-type", "text/plain").body("read me");
    let answer = json_of(upload.send().await.unwrap(), 200).await;
    let artifact = &answer["data"];
    assert_eq!(
        (&artifact["name"], &artifact["size_bytes"], &artifact["kind"]),
        (&json!("notes.txt"), &json!(7), &json!("file_snapshot"))
    );
    let id = artifact["id"].as_str().unwrap();
    let unknown = json!({ "text": "look", "artifact_ids": ["art_01J00000000000000000000000"] });
    error_of(node.post(&format!("/runs/{run}/messages"), unknown).await, 400, "validation").await;
    node.did(&format!("/runs/{run}/messages"), json!({ "text": "look", "artifact_ids": [id] })).await;
    let types = node.types(&run).await;
    assert_eq!(types[types.len() - 2..], ["user.message", "user.attachment"]);
    node.did(&format!("/approvals/{}/resolve", approval["id"].as_str().unwrap()), json!({ "decision": "approve" }))
        .await;
    node.until(&run, "completed").await;
    let state = r1_runtime::history::load(&node.store, &run.parse().unwrap()).await.unwrap();
    assert!(format!("{:?}", state.conversation.messages()).contains("notes.txt"), "the model was shown it");
    let late = node.request(Method::POST, &path).header("content-type", "text/plain").body("late");
    error_of(late.send().await.unwrap(), 423, "append_only_violation").await;
    let kind = format!("/runs/{run}/artifacts?kind=patch");
    let wrong = node.request(Method::POST, &kind).header("content-type", "text/plain").body("x");
    error_of(wrong.send().await.unwrap(), 400, "validation").await;
    let records = r1_store::Pages::of_all(&*node.store, &run.parse().unwrap()).to_end().await.unwrap();
    let problems = r1_protocol::conformance::problems(&records, &[]);
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(node.engine.instance().starts_with("r1-"));
}
