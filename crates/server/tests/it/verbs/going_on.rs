//! Retry, resume, fork.

use serde_json::{Value, json};

use super::node::{ASKS, Node, prompt};
use crate::support::error_of;

const FAILS: &str = "turns: [{text: half, cost_micros_usd: 5, tool_calls: [{tool: todo_write, input: {todos: []}}]}, {text: no, failures: [{kind: status, status: 400}]}]";

#[tokio::test]
async fn ep_21_a_failed_run_is_resumed_retried_and_forked() {
    let node = Node::start(FAILS).await;
    let (task, run) = node.task(prompt()).await;
    let failed = node.until(&run, "failed").await;
    assert_eq!(failed["error"]["code"], "model_error");

    let resumed = node.did(&format!("/runs/{run}/resume"), json!({ "message": "again", "reason": "try" })).await;
    let id = resumed["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&resumed["number"], &resumed["prior_run_id"], &resumed["task_id"]),
        (&json!(2), &json!(run), &task["id"])
    );
    assert_eq!((&resumed["prior_cost_micros_usd"], &resumed["workspace_path"]), (&json!(5), &failed["workspace_path"]));
    assert_eq!(node.types(&id).await[..3], ["run.resumed_from_event", "run.queued", "user.message"]);
    node.until_run(&id, |found| found["finished_at"].is_string()).await;

    let retried = node.did(&format!("/tasks/{}/runs/{run}/retry", task["id"].as_str().unwrap()), json!({})).await;
    let id = retried["id"].as_str().unwrap().to_owned();
    assert_eq!(node.types(&id).await[..2], ["run.queued", "user.message"]);
    node.until_run(&id, |found| found["finished_at"].is_string()).await;

    let forked = node.did(&format!("/runs/{run}/fork"), json!({ "at_sequence": 4, "message": "otherwise" })).await;
    let id = forked["id"].as_str().unwrap().to_owned();
    assert_eq!(forked["forked_from"], json!({ "run_id": run, "sequence": 4 }));
    assert_eq!(node.types(&id).await[1], "run.branched_from");
    node.until_run(&id, |found| found["finished_at"].is_string()).await;
    assert_eq!(node.get(&format!("/tasks/{}", task["id"].as_str().unwrap())).await["run_count"], 4);
}

#[tokio::test]
async fn ep_21_a_run_is_resumed_from_an_event_and_what_came_after_it_is_not_known_there() {
    let node = Node::start(FAILS).await;
    let (_, run) = node.task(prompt()).await;
    node.until(&run, "failed").await;
    let first_turn = node.types(&run).await.iter().position(|name| name == "turn.started").unwrap();
    let wanted = json!({ "from_sequence": first_turn - 1, "message": "again" });
    let resumed = node.did(&format!("/runs/{run}/resume"), wanted).await;
    assert_eq!(resumed["prior_cost_micros_usd"], json!(5), "what was spent stays spent");
    let id = resumed["id"].as_str().unwrap().to_owned();
    let from = node.get(&format!("/runs/{id}/events?limit=1")).await;
    assert_eq!(from[0]["data"]["from_sequence"], json!(first_turn - 1), "{from}");
    node.until_run(&id, |found| found["finished_at"].is_string()).await;
}

#[tokio::test]
async fn ep_21_what_cannot_go_on_says_why() {
    let node = Node::start("turns: [{text: done}]").await;
    let (_, run) = node.task(prompt()).await;
    node.until(&run, "completed").await;
    error_of(node.post(&format!("/runs/{run}/resume"), json!({})).await, 409, "conflict").await;
    error_of(node.post(&format!("/runs/{run}/fork"), json!({ "at_sequence": 999 })).await, 409, "conflict").await;
    error_of(node.post(&format!("/runs/{run}/fork"), json!({})).await, 400, "validation").await;
    let both = json!({ "checkpoint_id": "ckpt_1", "from_sequence": 1, "message": "x" });
    error_of(node.post(&format!("/runs/{run}/resume"), both).await, 400, "validation").await;
    let unknown = json!({ "checkpoint_id": "ckpt_1", "message": "x" });
    error_of(node.post(&format!("/runs/{run}/resume"), unknown).await, 400, "validation").await;
    error_of(node.post("/runs/run_01J00000000000000000000000/retry", json!({})).await, 404, "not_found").await;
    let elsewhere = format!("/tasks/task_01J00000000000000000000000/runs/{run}/retry");
    error_of(node.post(&elsewhere, json!({})).await, 404, "not_found").await;
}

#[tokio::test]
async fn one_open_run_per_task() {
    let node = Node::with_slots("turns: [{text: done}]", 0).await;
    let (_, run) = node.task(prompt()).await;
    error_of(node.post(&format!("/runs/{run}/retry"), json!({})).await, 409, "conflict").await;
    node.did(&format!("/runs/{run}/cancel"), json!({})).await;
    let second = node.did(&format!("/runs/{run}/retry"), json!({})).await;
    error_of(node.post(&format!("/runs/{run}/resume"), json!({})).await, 409, "conflict").await;
    node.did(&format!("/runs/{}/cancel", second["id"].as_str().unwrap()), json!({})).await;
    node.did(&format!("/runs/{run}/resume"), json!({})).await;
}

#[tokio::test]
async fn an_open_run_without_a_worker_goes_on_when_it_is_resumed() {
    let node = Node::with_slots("turns: [{text: done, when: hello}]", 0).await;
    let (_, run) = node.task(prompt()).await;
    let taken = node.did(&format!("/runs/{run}/resume"), json!({ "message": "hello" })).await;
    assert_eq!(taken["id"], json!(run));
    node.until(&run, "completed").await;

    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    node.approval(&run).await;
    let error: Value = error_of(node.post(&format!("/runs/{run}/resume"), json!({})).await, 409, "conflict").await;
    assert!(error["message"].as_str().unwrap().contains("being worked on"), "{error}");
}
