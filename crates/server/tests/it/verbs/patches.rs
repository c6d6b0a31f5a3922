//! Patches, applied, rejected and reverted over HTTP.

use serde_json::{Value, json};

use super::node::Node;
use crate::support::{error_of, json_of};

const EDITS: &str =
    "turns: [{tool_calls: [{tool: file_write, input: {path: a.txt, content: \"new\\n\"}}]}, {text: done}]";

async fn edited(node: &Node, policy: &str) -> (String, Value) {
    std::fs::write(node.work().join("a.txt"), "old\n").unwrap();
    let (_, run) = node.task(json!({ "prompt": "go", "approval": { "policy": policy } })).await;
    let run_ended = async { node.until(&run, "completed").await };
    if policy == "edits" {
        run_ended.await;
    } else {
        let approval = node.approval(&run).await;
        node.did(&format!("/approvals/{}/resolve", approval["id"].as_str().unwrap()), json!({ "decision": "reject" }))
            .await;
        run_ended.await;
    }
    let patches = node.get(&format!("/runs/{run}/artifacts?kind=patch")).await;
    (run, patches[0].clone())
}

fn text(node: &Node) -> String {
    std::fs::read_to_string(node.work().join("a.txt")).unwrap()
}

#[tokio::test]
async fn ep_25_a_patch_of_a_finished_run_is_reverted_and_done_again() {
    let node = Node::start(EDITS).await;
    let (run, patch) = edited(&node, "edits").await;
    assert_eq!((patch["status"].as_str(), text(&node).as_str()), (Some("applied"), "new\n"));
    let before = node.events(&run).await;
    let path = format!("/artifacts/{}", patch["id"].as_str().unwrap());
    let answer = json_of(node.post(&format!("{path}/revert"), json!({ "reason": "no" })).await, 200).await;
    assert!(answer["data"]["reverted_at"].is_string(), "{answer}");
    let inverse = answer["related"][0].clone();
    assert_eq!(inverse["reverts_artifact_id"], patch["id"]);
    assert_eq!(text(&node), "old\n");
    assert_eq!(node.events(&run).await, before, "a finished log is never touched");
    let again = json_of(node.post(&format!("{path}/revert"), json!({})).await, 200).await;
    assert_eq!(again["data"], answer["data"], "twice is once");
    error_of(node.post(&format!("{path}/reject"), json!({})).await, 409, "conflict").await;

    std::fs::write(node.work().join("a.txt"), "other\n").unwrap();
    let redo = format!("/artifacts/{}/revert", inverse["id"].as_str().unwrap());
    let error = error_of(node.post(&redo, json!({})).await, 409, "conflict").await;
    assert_eq!(error["details"][0]["path"], "a.txt", "{error}");
    std::fs::write(node.work().join("a.txt"), "old\n").unwrap();
    node.did(&redo, json!({})).await;
    assert_eq!(text(&node), "new\n");
    error_of(node.post("/artifacts/art_01J00000000000000000000000/apply", json!({})).await, 404, "not_found").await;
}

#[tokio::test]
async fn ep_25_a_refused_patch_stays_refused() {
    let node = Node::start(EDITS).await;
    let (_, patch) = edited(&node, "ask").await;
    assert_eq!((patch["status"].as_str(), text(&node).as_str()), (Some("rejected"), "old\n"));
    let path = format!("/artifacts/{}", patch["id"].as_str().unwrap());
    error_of(node.post(&format!("{path}/apply"), json!({})).await, 409, "conflict").await;
    node.did(&format!("{path}/reject"), json!({})).await;
    error_of(node.post(&format!("{path}/apply"), json!({ "force": true })).await, 400, "validation").await;
}
