//! Cancel and interrupt, in every state.

use serde_json::{Value, json};

use super::node::{ASKS, Node, prompt};

const HANGS: &str = "turns: [{text: never, failures: [{kind: hang}]}]";

async fn cancel(node: &Node, run: &str) -> Value {
    node.did(&format!("/runs/{run}/cancel"), json!({ "reason": "enough" })).await
}

/// What holds for every run that was cancelled.
async fn is_cancelled(node: &Node, run: &str) {
    let found = cancel(node, run).await;
    assert_eq!((&found["status"], &found["pending_approvals"]), (&json!("cancelled"), &json!(0)), "twice is once");
    let events = node.events(run).await;
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["data"]["reason"]), (&json!("run.cancelled"), &json!("enough")));
    let ends = ["run.finished", "run.failed", "run.cancelled"];
    assert_eq!(events.iter().filter(|event| ends.contains(&event["type"].as_str().unwrap())).count(), 1);
}

#[tokio::test]
async fn ep_20_a_run_that_nobody_works_on_is_cancelled_without_a_worker() {
    let node = Node::with_slots(HANGS, 0).await;
    for start in [false, true] {
        let (_, run) = node.task(json!({ "prompt": "go", "start": start })).await;
        assert_eq!(cancel(&node, &run).await["status"], "cancelled");
        is_cancelled(&node, &run).await;
    }
}

#[tokio::test]
async fn ep_20_a_running_run_and_one_that_waits_are_cancelled() {
    let node = Node::start(HANGS).await;
    let (_, run) = node.task(prompt()).await;
    node.until(&run, "running").await;
    cancel(&node, &run).await;
    is_cancelled(&node, &run).await;

    let node = Node::start(ASKS).await;
    let (_, run) = node.task(prompt()).await;
    let approval = node.approval(&run).await;
    cancel(&node, &run).await;
    is_cancelled(&node, &run).await;
    let types = node.types(&run).await;
    assert_eq!(types[types.len() - 2..], ["approval.resolved", "run.cancelled"]);
    let found = node.get(&format!("/approvals/{}", approval["id"].as_str().unwrap())).await;
    assert_eq!(found["status"], "cancelled");
}

#[tokio::test]
async fn ep_20_a_call_under_way_is_stopped_and_a_finished_run_stays_as_it_is() {
    let node = Node::start("turns: [{tool_calls: [{tool: shell, input: {command: 'sleep 100'}}]}, {text: done}]").await;
    let (_, run) = node.task(json!({ "prompt": "go", "approval": { "policy": "full" } })).await;
    node.until_run(&run, |found| found["tool_calls"] == 1).await;
    cancel(&node, &run).await;
    is_cancelled(&node, &run).await;

    let node = Node::start("turns: [{text: done}]").await;
    let (_, run) = node.task(prompt()).await;
    let done = node.until(&run, "completed").await;
    assert_eq!(cancel(&node, &run).await, done);
}

#[tokio::test]
async fn ep_20_many_cancels_race_with_each_other_and_with_the_end() {
    for _ in 0..4 {
        let node = Node::start("turns: [{text: one}]").await;
        let (_, run) = node.task(prompt()).await;
        let path = format!("/runs/{run}/cancel");
        let cancels = (0..6).map(|_| node.post(&path, json!({})));
        for answer in futures_util::future::join_all(cancels).await {
            assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        }
        let ends = ["run.finished", "run.failed", "run.cancelled"];
        let types = node.types(&run).await;
        assert_eq!(types.iter().filter(|name| ends.contains(&name.as_str())).count(), 1, "{types:?}");
        assert!(ends.contains(&types.last().unwrap().as_str()));
    }
}

#[tokio::test]
async fn an_interrupt_ends_a_task_run() {
    let node = Node::start(HANGS).await;
    let (_, run) = node.task(prompt()).await;
    node.until(&run, "running").await;
    let found = node.did(&format!("/runs/{run}/interrupt"), json!({ "reason": "stop" })).await;
    assert_eq!(found["status"], "cancelled");
}
