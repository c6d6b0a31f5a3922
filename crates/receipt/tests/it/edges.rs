//! What follows from what.

use r1_event::payload::{Payload, RunResumed};
use r1_receipt::{Graph, Node, NodeId, NodeType};
use serde_json::{Value as Json, json};

use crate::sample::{Log, TASK, decision_id, full, verdict};

/// Every node of a log, in its order.
fn nodes(log: &Log) -> Vec<Node> {
    let mut graph = Graph::default();
    log.records().iter().flat_map(|record| graph.push(record).nodes).collect()
}

fn body(node: &Node) -> Json {
    serde_json::from_str(&node.body).unwrap()
}

fn find(nodes: &[Node], node_type: NodeType, key: &str, value: &str) -> usize {
    nodes.iter().position(|node| node.node_type() == node_type && body(node)[key] == value).unwrap()
}

/// The preds of a node as places in the list.
fn preds(nodes: &[Node], at: usize) -> Vec<usize> {
    let place = |pred: &NodeId| nodes.iter().position(|node| node.id() == *pred).unwrap();
    let mut places: Vec<_> = nodes[at].skeleton.preds.iter().map(place).collect();
    places.sort_unstable();
    places
}

#[test]
fn stoke_09_each_event_names_a_node_of_the_receipt_and_nodes_are_known_at_once() {
    let log = full();
    let receipt: Json = serde_json::from_slice(&log.receipt().bytes).unwrap();
    let ids: Vec<&str> =
        receipt["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap()).collect();
    let mut graph = Graph::default();
    let mut made = 0;
    for record in log.records() {
        let step = graph.push(record);
        let ledger = step.ledger.unwrap();
        assert!(ids.contains(&ledger.to_string().as_str()), "the line's node is in the receipt");
        assert!(ledger.ledger().starts_with("node-sha256-"));
        made += step.nodes.len();
        for node in &step.nodes {
            assert!(ids.contains(&node.id().to_string().as_str()));
        }
        if let Some(first) = step.nodes.first() {
            assert_eq!(first.id(), ledger);
        }
    }
    assert_eq!(made + 1, ids.len(), "all but the log's own node");
}

#[test]
fn stoke_09_an_event_without_a_node_names_the_thought_it_goes_back_to() {
    let mut log = Log::new();
    let args = json!({});
    log.user("go on");
    log.turn("T1", &[("slow", "shell", args.clone())]);
    log.schedule("T1", "slow", "shell", &args, 1);
    log.turn("T2", &[]);
    log.typed("tool.output", &json!({ "tool_call_id": "slow", "stream": "stdout", "text": "…" }));
    log.typed("assistant.text_complete", &json!({ "turn_id": "T1" }));
    log.typed("cost.tick", &json!({}));
    let mut graph = Graph::default();
    let steps: Vec<_> = log.records().iter().map(|record| graph.push(record)).collect();
    let made = |at: usize| steps[at].nodes[0].id();
    let (root, first, second) = (made(0), made(3), made(6));
    let named: Vec<NodeId> = steps.iter().map(|step| step.ledger.unwrap()).collect();
    assert_eq!(named, [root, root, root, first, first, first, second, first, first, second]);
}

#[test]
fn stoke_15_parallel_calls_are_siblings_whatever_ends_first() {
    let run = |first: &str, second: &str| {
        let mut log = Log::new();
        let args = json!({});
        log.turn("T1", &[("a", "shell", args.clone()), ("b", "shell", args.clone())]);
        log.schedule("T1", "a", "shell", &args, 1);
        log.schedule("T1", "b", "shell", &args, 1);
        log.complete(first, &json!(1), 1);
        log.complete(second, &json!(1), 1);
        log.turn("T2", &[]);
        log.end();
        let nodes = nodes(&log);
        let thought = find(&nodes, NodeType::Thought, "turn_id", "T1");
        let calls =
            [find(&nodes, NodeType::ToolCall, "call_id", "a"), find(&nodes, NodeType::ToolCall, "call_id", "b")];
        for call in calls {
            assert_eq!(preds(&nodes, call), [thought]);
        }
        let mut calls = calls.to_vec();
        calls.sort_unstable();
        assert_eq!(preds(&nodes, find(&nodes, NodeType::Thought, "turn_id", "T2")), calls);
    };
    run("a", "b");
    run("b", "a");
}

#[test]
fn a_call_follows_its_proposer_its_memory_and_its_previous_attempt_and_artifacts_follow_it() {
    let mut log = Log::new();
    let args = json!({ "n": 1 });
    log.turn("T1", &[("a", "shell", args.clone())]);
    log.schedule("T1", "a", "shell", &args, 1);
    log.typed(
        "memory.write",
        &json!({ "tier": "L1", "store": "episodic", "key": "k", "by": "agent", "op": "delete",
        "diff_hash": crate::sample::hash("d"), "call_id": "a" }),
    );
    log.artifact("art_1", Some("a"));
    log.fail("a", "timeout", 1);
    log.schedule("T1", "a", "shell", &args, 2);
    log.complete("a", &json!(null), 2);
    log.artifact("art_2", Some("a"));
    log.artifact("art_3", None);
    log.end();
    let nodes = nodes(&log);
    let calls: Vec<usize> = (0..nodes.len()).filter(|at| nodes[*at].node_type() == NodeType::ToolCall).collect();
    let (thought, memory) =
        (find(&nodes, NodeType::Thought, "turn_id", "T1"), find(&nodes, NodeType::MemoryWrite, "key", "k"));
    assert_eq!(preds(&nodes, calls[0]), [thought, memory]);
    assert_eq!(preds(&nodes, calls[1]), [thought, memory, calls[0]]);
    assert_eq!(body(&nodes[calls[0]])["status"], "timeout");
    let artifact = |id: &str| find(&nodes, NodeType::Artifact, "artifact_id", id);
    assert_eq!(preds(&nodes, artifact("art_1")), [calls[0]]);
    assert_eq!(body(&nodes[artifact("art_1")])["seq"], body(&nodes[calls[0]])["seq"], "made when its call ended");
    assert_eq!(preds(&nodes, artifact("art_2")), [calls[1]]);
    assert_eq!(preds(&nodes, artifact("art_3")), [thought]);
    assert_eq!(verdict(&log.receipt().bytes), "VALID");
}

#[test]
fn what_a_call_is_given_stands_where_it_was_proposed_unless_it_was_changed_since() {
    let mut log = Log::new();
    let (planned, nothing, changed) = (json!({ "path": "a" }), json!(null), json!({ "path": "b" }));
    log.turn("T1", &[("a", "edit", planned.clone()), ("b", "edit", planned.clone())]);
    for attempt in [1, 2] {
        log.schedule("T1", "a", "edit", &nothing, attempt);
        log.fail("a", "timeout", attempt);
    }
    log.schedule("T1", "b", "edit", &changed, 1);
    log.complete("b", &json!("done"), 1);
    log.end();
    let nodes = nodes(&log);
    let calls = nodes.iter().filter(|node| node.node_type() == NodeType::ToolCall).map(body);
    let args: Vec<_> = calls.map(|body| body["args"].as_str().unwrap().to_owned()).collect();
    assert_eq!(args, [planned.to_string(), planned.to_string(), changed.to_string()]);
}

#[test]
fn calls_that_nobody_saw_end_are_unknown_in_order_of_schedule() {
    let mut log = Log::new();
    let args = json!({});
    log.turn("T1", &[("b", "shell", args.clone()), ("a", "shell", args.clone()), ("c", "shell", args.clone())]);
    log.schedule("T1", "b", "shell", &args, 1);
    log.schedule("T1", "a", "shell", &args, 1);
    log.push(Payload::RunResumed(RunResumed::default()));
    log.schedule("T1", "c", "shell", &args, 1);
    log.end();
    let nodes = nodes(&log);
    let unknown: Vec<Json> = nodes.iter().filter(|node| node.node_type() == NodeType::ToolCall).map(body).collect();
    let ids: Vec<&str> = unknown.iter().map(|body| body["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
    assert!(unknown.iter().all(|body| body["status"] == "unknown"));
}

#[test]
fn a_refused_call_says_who_refused_it() {
    let mut log = Log::new();
    let args = json!({ "command": "rm" });
    log.turn("T1", &[("a", "shell", args.clone()), ("b", "shell", args.clone()), ("c", "shell", args.clone())]);
    for (approval, call) in [("appr_a", "a"), ("appr_b", "b"), ("appr_c", "c")] {
        log.typed("approval.requested", &json!({ "approval_id": approval, "tool_call_id": call, "kind": "shell" }));
    }
    log.typed(
        "approval.resolved",
        &json!({ "approval_id": "appr_a", "decision": "rejected", "by": "operator",
        "actor": { "kind": "operator", "id": "alice", "via": "cli" } }),
    );
    log.typed("approval.timed_out", &json!({ "approval_id": "appr_b", "after_seconds": 1 }));
    log.typed(
        "approval.resolved",
        &json!({ "approval_id": "appr_c", "decision": "approved", "by": "operator",
        "actor": { "kind": "operator", "id": "bob" } }),
    );
    log.call("T1", "c", "shell", &args);
    log.end();
    let nodes = nodes(&log);
    let call = |id: &str| body(&nodes[find(&nodes, NodeType::ToolCall, "call_id", id)]);
    assert_eq!(call("a")["approval"], json!({ "decision": "denied", "by": "operator:alice", "id": "appr_a" }));
    assert_eq!(call("a")["status"], "denied");
    assert_eq!(call("a")["args"], r#"{"command":"rm"}"#);
    assert_eq!(call("b")["approval"], json!({ "decision": "denied", "by": "timeout", "id": "appr_b" }));
    assert_eq!(call("c")["approval"], json!({ "decision": "approved", "by": "operator:bob", "id": "appr_c" }));
    assert_eq!(verdict(&log.receipt().bytes), "VALID");
}

#[test]
fn gates_of_a_round_are_siblings_a_composite_follows_them_and_an_override_its_decision() {
    let mut log = Log::new();
    log.turn("T1", &[]);
    log.gate(1, "START>PLAN", "PLAN.entry/policy", "block");
    log.gate(1, "START>PLAN", "PLAN.entry/tests", "allow");
    log.gate(1, "START>PLAN", "PLAN.entry/composite", "allow");
    log.typed(
        "phase.transition_refused",
        &json!({ "task_id": TASK, "round": 1, "from": "START", "to": "PLAN", "missing": [] }),
    );
    log.gate(2, "START>PLAN", "PLAN.entry/policy", "escalate");
    let decision = decision_id(log.records());
    log.typed(
        "gate.override",
        &json!({ "of": decision, "actor": { "kind": "operator", "id": "alice" }, "reason": "yes" }),
    );
    log.transition(2, "START", "PLAN", &["PLAN.entry/policy"]);
    log.turn("T2", &[]);
    log.end();
    let nodes = nodes(&log);
    let kinds: Vec<NodeType> = nodes.iter().map(Node::node_type).collect();
    use NodeType::{GateDecision, MemoryRead, PhaseTransition, Thought};
    assert_eq!(
        kinds,
        [
            MemoryRead,
            Thought,
            GateDecision,
            GateDecision,
            GateDecision,
            GateDecision,
            GateDecision,
            PhaseTransition,
            Thought
        ]
    );
    assert_eq!(preds(&nodes, 2), [1]);
    assert_eq!(preds(&nodes, 3), [1]);
    assert_eq!(preds(&nodes, 4), [2, 3]);
    assert_eq!(preds(&nodes, 5), [4], "the next round follows what the one before decided");
    assert_eq!(preds(&nodes, 6), [5]);
    assert_eq!(preds(&nodes, 7), [0, 5, 6]);
    assert_eq!(preds(&nodes, 8), [7]);
    assert_eq!(body(&nodes[6])["duration_ms"], 0);
    assert!(body(&nodes[6]).get("score").is_none(), "optional keys are not copied");
    assert_eq!(verdict(&log.receipt().bytes), "VALID");
}

#[test]
fn wizards_and_beacons_have_chains_of_their_own() {
    let mut log = Log::new();
    let skill = |step: u64, revision: Option<&str>| {
        let mut data = json!({ "wizard_id": "w", "step": step, "stage": "identity", "question_id": "skill.name",
            "mode": "operator", "answer": "a", "interpretation": "{}", "confidence": 1000, "path": "name", "confirmed": true });
        if let Some(revision) = revision {
            data["revision_of"] = revision.into();
        }
        data
    };
    log.typed("skill.authoring_decision", &skill(0, None));
    log.typed("skill.authoring_decision", &skill(1, None));
    let first = nodes(&log)[1].id().to_string();
    log.typed("skill.authoring_decision", &skill(2, Some(&first)));
    let beacon = |kind: &str, detail: Json| {
        json!({ "kind": kind, "beacon_id": "b", "operator_id": "o", "device_id": "d",
        "chain": [], "bridge": "x", "detail": detail })
    };
    log.typed(
        "beacon.event",
        &beacon(
            "command",
            json!({ "session_ref": "s", "command_kind": "run", "payload_hash": crate::sample::hash("p") }),
        ),
    );
    let command = nodes(&log).last().unwrap().id().to_string();
    log.typed("beacon.event", &beacon("session_closed", json!({ "session_ref": "s", "reason": "done" })));
    log.typed("beacon.event", &beacon("command_result", json!({ "command_event": command, "status": "ok" })));
    log.turn("T1", &[]);
    log.end();
    let nodes = nodes(&log);
    assert_eq!([preds(&nodes, 1), preds(&nodes, 2), preds(&nodes, 3)], [vec![0], vec![1], vec![1, 2]]);
    assert_eq!([preds(&nodes, 4), preds(&nodes, 5), preds(&nodes, 6)], [vec![0], vec![4], vec![4, 5]]);
    assert_eq!(preds(&nodes, 7), [0], "a thought follows from neither");
    assert_eq!(verdict(&log.receipt().bytes), "VALID");
}

#[test]
fn a_child_run_follows_the_call_that_started_it() {
    let log = full();
    let nodes = nodes(&log);
    let child = find(&nodes, NodeType::Artifact, "kind", "child_run");
    assert_eq!(preds(&nodes, child), [find(&nodes, NodeType::ToolCall, "call_id", "call_a")]);
}
