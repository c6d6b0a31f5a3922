//! Approvals: each decision, scope and edit, through whichever node.

use serde_json::{Value, json};

use super::node::{ASKS, Node, prompt};
use crate::support::error_of;

fn resolve(approval: &Value) -> String {
    format!("/approvals/{}/resolve", approval["id"].as_str().unwrap())
}

fn out(node: &Node) -> Option<String> {
    std::fs::read_to_string(node.work().join("out.txt")).ok()
}

#[tokio::test]
async fn ep_16_a_yes_lets_the_call_run_and_is_the_same_when_repeated() {
    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    assert_eq!((&approval["status"], &approval["tool_name"]), (&json!("pending"), &json!("shell")));
    let yes = json!({ "decision": "approve", "subject_hash": approval["subject_hash"], "comment": "fine" });
    let resolved = node.did(&resolve(&approval), yes.clone()).await;
    assert_eq!(
        (&resolved["status"], &resolved["comment"], &resolved["by"]),
        (&json!("approved"), &json!("fine"), &json!("operator"))
    );
    assert_eq!(node.did(&resolve(&approval), json!({ "decision": "approved" })).await, resolved);
    error_of(node.post(&resolve(&approval), json!({ "decision": "reject" })).await, 409, "conflict").await;
    node.until(&run, "completed").await;
    assert_eq!(node.did(&resolve(&approval), yes).await, resolved, "also after the run has ended");
    assert_eq!(out(&node).as_deref(), Some("one\n"));
}

#[tokio::test]
async fn ep_16_a_no_is_heard_and_the_run_goes_on() {
    let node = Node::start("turns: [{tool_calls: [{tool: shell, input: {command: 'echo one >> out.txt'}}]}, {text: sorry, when: too risky}]").await;
    let (task, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    let path = format!("/tasks/{}{}", task["id"].as_str().unwrap(), resolve(&approval));
    let resolved = node.did(&path, json!({ "decision": "denied", "comment": "too risky" })).await;
    assert_eq!(resolved["status"], "rejected");
    node.until(&run, "completed").await;
    assert_eq!(out(&node), None);
}

#[tokio::test]
async fn ep_16_an_edit_replaces_what_runs_and_a_changed_subject_is_refused() {
    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    let wrong = json!({ "decision": "approve", "subject_hash": "00".repeat(32) });
    error_of(node.post(&resolve(&approval), wrong).await, 409, "conflict").await;
    let not_an_object = json!({ "decision": "approve", "edited_input": "rm" });
    error_of(node.post(&resolve(&approval), not_an_object).await, 400, "validation").await;
    let edited = json!({ "decision": "approve", "edited_input": { "command": "echo two >> out.txt" } });
    node.did(&resolve(&approval), edited).await;
    node.until(&run, "completed").await;
    assert_eq!(out(&node).as_deref(), Some("two\n"));
}

#[tokio::test]
async fn ep_16_a_yes_for_the_session_is_asked_once() {
    let call = "{tool_calls: [{tool: shell, input: {command: 'echo one >> out.txt'}}]}";
    let node = Node::start(&format!("turns: [{call}, {call}, {{text: done}}]")).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    node.did(&resolve(&approval), json!({ "decision": "approve", "scope": "session" })).await;
    node.until(&run, "completed").await;
    assert_eq!(out(&node).as_deref(), Some("one\none\n"));
    assert_eq!(node.get(&format!("/runs/{run}/approvals")).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn ep_16_nobody_answers_in_time() {
    let node = Node::start(ASKS).await;
    let (_, run) = node.task(json!({ "prompt": "go", "approval": { "timeout_seconds": 1 } })).await;
    let approval = node.approval(&run).await;
    node.until(&run, "completed").await;
    let error = error_of(node.post(&resolve(&approval), json!({ "decision": "approve" })).await, 409, "conflict").await;
    assert!(error["message"].as_str().unwrap().contains("timed_out"), "{error}");
    assert_eq!(out(&node), None);
}

#[tokio::test]
async fn ep_16_a_pending_approval_survives_its_worker_and_is_resolved_through_another_node() {
    let node = Node::start(ASKS).await;
    let other = node.another(0).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    let held = other.did(&resolve(&approval), json!({ "decision": "approve" })).await;
    assert_eq!(held["status"], "approved", "the worker is elsewhere");
    node.until(&run, "completed").await;

    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    node.stop_working();
    node.until(&run, "queued").await;
    assert_eq!(other.approval(&run).await["id"], approval["id"], "the question stays");
    other.did(&resolve(&approval), json!({ "decision": "approve" })).await;
    let third = node.another(2).await;
    third.until(&run, "completed").await;
    assert_eq!(out(&node).as_deref(), Some("one\none\n"));
}

#[tokio::test]
async fn an_approval_is_found_under_its_own_task_only() {
    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    let elsewhere = format!("/tasks/task_01J00000000000000000000000{}", resolve(&approval));
    error_of(node.post(&elsewhere, json!({ "decision": "approve" })).await, 404, "not_found").await;
    let unknown = "/approvals/appr_01J00000000000000000000000/resolve";
    error_of(node.post(unknown, json!({ "decision": "approve" })).await, 404, "not_found").await;
    error_of(node.post(&resolve(&approval), json!({ "decision": "maybe" })).await, 400, "validation").await;
    error_of(node.post(&resolve(&approval), json!({})).await, 400, "validation").await;
}
