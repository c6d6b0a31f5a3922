//! Tasks: made, changed, started.

use reqwest::Method;
use serde_json::{Value, json};

use super::node::{Node, prompt};
use crate::support::{error_of, json_of};

const DONE: &str = "turns: [{text: done}]";

#[tokio::test]
async fn a_task_is_made_worked_on_and_shown() {
    let node = Node::start(DONE).await;
    let wanted = json!({
        "prompt": "mend it", "title": "Leap years", "priority": "high", "tags": { "team": "calendar" },
        "budget": { "turns": 9 },
    });
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = node.request(Method::POST, "/tasks").header("traceparent", trace);
    let request = request.header("content-type", "application/json").body(wanted.to_string());
    let answer = json_of(request.send().await.unwrap(), 200).await;
    assert_eq!(answer["object"], "task");
    let task = &answer["data"];
    assert_eq!(
        (&task["title"], &task["priority"], &task["kind"]),
        (&json!("Leap years"), &json!("high"), &json!("agent_loop"))
    );
    assert_eq!(
        (&task["tags"], &task["budget"]["turns"], &task["run_count"]),
        (&json!({ "team": "calendar" }), &json!(9), &json!(1))
    );
    let run = node.until(task["latest_run_id"].as_str().unwrap(), "completed").await;
    assert_eq!((&run["number"], &run["task_id"]), (&json!(1), &task["id"]));
    assert_eq!(run["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    let first = &node.events(run["id"].as_str().unwrap()).await[0];
    assert_eq!(first["data"]["actor"]["via"], "http", "who asked is in the log: {first}");
}

#[tokio::test]
async fn a_held_task_starts_when_it_is_started() {
    let node = Node::start(DONE).await;
    let (task, run) = node.task(json!({ "prompt": "go", "start": false })).await;
    assert_eq!(task["status"], "not_started");
    let path = format!("/tasks/{}", task["id"].as_str().unwrap());
    let changed = node.send(Method::PATCH, &path, json!({ "title": "Other" })).await;
    assert_eq!(json_of(changed, 200).await["data"]["title"], "Other");
    let started = node.did(&format!("{path}/start"), json!({})).await;
    assert_eq!(started["id"], json!(run));
    node.until(&run, "completed").await;
    let again = node.did(&format!("{path}/start"), json!({})).await;
    assert_eq!((&again["number"], &again["prior_run_id"]), (&json!(2), &json!(run)));
    node.until(again["id"].as_str().unwrap(), "completed").await;
    assert_eq!(node.get(&path).await["run_count"], 2);
    let tags = node.send(Method::PATCH, &path, json!({ "tags": { "a": "b" } })).await;
    assert_eq!(json_of(tags, 200).await["data"]["tags"], json!({ "a": "b" }), "also of a task that has ended");
    error_of(node.send(Method::DELETE, &path, json!({})).await, 405, "append_only_violation").await;
}

#[tokio::test]
async fn ep_28_what_is_wrong_with_a_task_is_named() {
    let node = Node::start(DONE).await;
    let paths = |error: &Value| {
        let details = error["details"].as_array().unwrap();
        details.iter().map(|detail| detail["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let error = error_of(node.post("/tasks", json!({})).await, 400, "validation").await;
    assert_eq!(paths(&error), ["/prompt"]);
    let error = error_of(node.post("/tasks", json!({ "prompt": "x", "promt": "y" })).await, 400, "validation").await;
    assert_eq!(paths(&error), ["/promt"]);
    let wanted = json!({ "kind": "shell", "prompt": "x", "provider": "p" });
    let error = error_of(node.post("/tasks", wanted).await, 400, "validation").await;
    assert_eq!(paths(&error), ["/prompt", "/command", "/provider"]);
    let unknown = "/tasks/task_01J00000000000000000000000";
    error_of(node.post(&format!("{unknown}/start"), json!({})).await, 404, "not_found").await;
    error_of(node.send(Method::PATCH, unknown, json!({ "title": "x" })).await, 404, "not_found").await;
}

#[tokio::test]
async fn ep_22_a_budget_can_only_rise() {
    let node = Node::with_slots(DONE, 0).await;
    let (task, _) = node.task(json!({ "prompt": "go", "budget": { "output_tokens": 100 } })).await;
    let path = format!("/tasks/{}", task["id"].as_str().unwrap());
    let budget = |tokens: u64| json!({ "budget": { "output_tokens": tokens } });
    error_of(node.send(Method::PATCH, &path, budget(99)).await, 409, "conflict").await;
    let raised = json_of(node.send(Method::PATCH, &path, budget(200)).await, 200).await;
    assert_eq!(raised["data"]["budget"]["output_tokens"], 200);
}

#[tokio::test]
async fn ep_27_a_task_that_is_asked_for_twice_under_one_key_is_made_once() {
    let node = Node::with_slots(DONE, 0).await;
    let ask = |body: Value| {
        let request = node.request(Method::POST, "/tasks").header("idempotency-key", "k1");
        request.header("content-type", "application/json").body(body.to_string()).send()
    };
    let first = json_of(ask(prompt()).await.unwrap(), 200).await;
    let again = ask(prompt()).await.unwrap();
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(json_of(again, 200).await, first);
    error_of(ask(json!({ "prompt": "other" })).await.unwrap(), 409, "conflict").await;
    assert_eq!(node.get("/tasks").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_command_runs_over_http_without_a_model() {
    let node = Node::start(DONE).await;
    let wanted =
        json!({ "kind": "shell", "command": ["sh", "-c", "echo hi > out.txt"], "approval": { "policy": "full" } });
    let (_, run) = node.task(wanted).await;
    let run = node.until(&run, "completed").await;
    assert_eq!((&run["model"], &run["kind"], &run["tool_calls"]), (&json!("none"), &json!("shell"), &json!(1)));
    assert_eq!(std::fs::read_to_string(node.work().join("out.txt")).unwrap(), "hi\n");
}
