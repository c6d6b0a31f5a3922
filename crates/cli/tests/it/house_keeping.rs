//! Redacting and pruning, and that everything still holds afterwards.

use serde_json::json;

use crate::support::{OTHER_RUN, RUN, SECRET, Sandbox, finished, open};

#[test]
fn log_15_a_redacted_payload_is_gone_and_chain_proofs_and_seal_still_hold() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    sandbox.ok(&["log", "proof", "last", "--seq", "6", "-o", "before.json"]);
    assert!(sandbox.home_contains(SECRET));

    let report = sandbox.json(&["redact", RUN, "--seq", "6", "--reason", "leaked key", "--json"]);
    assert_eq!(report["erased"], serde_json::json!([6]));
    let operator_run = report["redaction"]["run_id"].as_str().unwrap();
    assert_ne!(operator_run, RUN, "a finished run is not appended to");

    assert!(!sandbox.home_contains(SECRET), "the content is still in a file");
    let verdict = sandbox.json(&["log", "validate", RUN, "--json"])["runs"][0].clone();
    assert_eq!(verdict["integrity"], "ok");
    assert_eq!(verdict["structure"]["findings"], serde_json::json!([]));
    assert!(verdict["sealed_by"].is_string(), "{verdict}");
    sandbox.ok(&["log", "proof", "--verify", "before.json", "--log", RUN]);
    sandbox.ok(&["log", "proof", RUN, "--seq", "6", "-o", "after.json"]);
    sandbox.ok(&["log", "proof", "--verify", "after.json"]);

    let shown = sandbox.json(&["log", "show", RUN, "--seq", "6", "--json"]);
    assert_eq!(shown["type"], "tool.completed");
    assert_eq!(shown["data"]["erased"], true);
    let mut told = sandbox.json(&["log", "show", operator_run, "--seq", "2", "--json"]);
    assert_eq!(told["type"], "redaction.applied");
    let nodes = told["data"].as_object_mut().unwrap().remove("nodes").unwrap();
    assert_eq!((&nodes[0]["type"], &nodes[0]["seq"]), (&"TOOL_CALL".into(), &6.into()), "receipts keep its name");
    assert_eq!(
        told["data"],
        serde_json::json!({"run_id": RUN, "sequences": [5], "by": "operator:tester", "reason": "leaked key"})
    );
    assert_eq!(sandbox.r1(&["log", "validate"]).code, 0, "the operator run is sound too");
    sandbox.r1(&["prune", "--run", operator_run]).fails(2, "the record of an operator's action");
}

#[test]
fn an_open_run_says_itself_what_was_erased() {
    let sandbox = Sandbox::new();
    sandbox.import(&open(RUN));
    let report = sandbox.json(&["redact", "last", "--seq", "1-2,6", "--reason", "x", "--by", "operator:me", "--json"]);
    assert_eq!(report["erased"], serde_json::json!([1, 2, 6]));
    assert_eq!(report["redaction"]["run_id"], RUN);
    assert_eq!(report["redaction"]["seq"], 7);
    assert!(!sandbox.home_contains(SECRET));
    assert_eq!(sandbox.r1(&["log", "validate", RUN]).code, 3);
    let again = sandbox.json(&["redact", "last", "--seq", "6", "--reason", "x", "--json"]);
    assert_eq!((&again["erased"], &again["erased_before"]), (&json!([]), &json!([6])));
    assert_eq!(again["redaction"], report["redaction"], "said once");
    assert!(sandbox.ok(&["redact", "last", "--seq", "6", "--reason", "x"]).contains("were cleared of them once more"));
}

#[test]
fn what_verdicts_rest_on_is_never_erased() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    for (seq, name) in [("7", "gate.decision"), ("8", "run.finished")] {
        sandbox.r1(&["redact", "last", "--seq", seq, "--reason", "x"]).fails(2, name);
    }
    sandbox.r1(&["redact", "last", "--seq", "9", "--reason", "x"]).fails(2, "has no event 9");
    assert_eq!(sandbox.json(&["runs", "--json"])["runs"].as_array().unwrap().len(), 1);
    let written = sandbox.json(&["runs", "--kind", "operator", "--json"]);
    assert_eq!(written["runs"].as_array().unwrap().len(), 0, "nothing was written");
}

#[test]
fn log_15_a_pruned_run_still_verifies_and_proves_what_is_left() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["log", "checkpoint", "last"]);
    sandbox.ok(&["log", "proof", "last", "--seq", "3", "-o", "gone.json"]);

    let planned = sandbox.json(&["prune", "--run", "last", "--through", "5", "--dry-run", "--json"]);
    assert_eq!(planned, serde_json::json!({"dry_run": true, "runs": [{"run_id": RUN, "through": 5, "events": 5}]}));
    assert_eq!(sandbox.json(&["log", "validate", "last", "--json"])["runs"][0]["events"], 8);

    sandbox.ok(&["prune", "--run", "last", "--through", "5"]);
    let verdict = sandbox.json(&["log", "validate", "last", "--json"])["runs"][0].clone();
    assert_eq!(verdict["pruned_through"], 5);
    assert_eq!(verdict["events"], 3);
    assert_eq!(verdict["integrity"], "ok");
    assert!(verdict["sealed_by"].is_string(), "{verdict}");
    sandbox.ok(&["log", "proof", "--verify", "gone.json", "--log", "last"]);
    sandbox.ok(&["log", "proof", "last", "--seq", "7", "-o", "left.json"]);
    sandbox.ok(&["log", "proof", "--verify", "left.json", "--log", "last"]);
    sandbox.r1(&["log", "proof", "last", "--seq", "3"]).fails(2, "were pruned");

    sandbox.ok(&["prune", "--run", "last"]);
    assert!(!sandbox.home_contains(SECRET));
    let verdict = sandbox.json(&["log", "validate", "last", "--json"])["runs"][0].clone();
    assert_eq!((&verdict["pruned_through"], &verdict["events"]), (&7.into(), &1.into()));
    sandbox.r1(&["prune", "--run", "last"]).fails(2, "nothing of run");
}

#[test]
fn ep_24_what_was_pruned_is_told_in_its_place() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.ok(&["prune", "--run", "last", "--through", "5"]);
    for command in [["log", "show", "last", "--json"].as_slice(), &["tail", "last", "--json"]] {
        let shown: Vec<serde_json::Value> =
            sandbox.ok(command).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let sequences: Vec<_> = shown.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
        assert_eq!(sequences, [4, 5, 6, 7]);
        assert_eq!(shown[0]["type"], "gap.events_pruned");
        assert_eq!((&shown[0]["data"]["first_pruned_sequence"], &shown[0]["run_id"]), (&0.into(), &RUN.into()));
        assert!(shown[0].get("seq").is_none() && shown[1]["seq"] == 6, "the log itself has no such event");
    }
    let text = sandbox.ok(&["log", "show", "last"]);
    assert!(text.lines().next().unwrap().contains("events 1 to 5 were pruned"), "{text}");
    let rest = sandbox.ok(&["tail", "last", "--from", "6", "--json"]);
    assert_eq!(rest.lines().count(), 3, "who has read them is not told again");
}

#[test]
fn only_finished_runs_that_are_old_enough_are_pruned() {
    let sandbox = Sandbox::new();
    sandbox.import(&finished(RUN));
    sandbox.import(&open(OTHER_RUN));
    sandbox.r1(&["prune", "--run", OTHER_RUN]).fails(2, "is open; only finished runs are pruned");
    sandbox.r1(&["prune", "--run", RUN, "--through", "8"]).fails(2, "can be pruned through 7 at most");
    let nothing = sandbox.json(&["prune", "--older-than", "5000w", "--json"]);
    assert_eq!(nothing["runs"], serde_json::json!([]));
    let pruned = sandbox.json(&["prune", "--older-than", "1d", "--json"]);
    assert_eq!(pruned["runs"], serde_json::json!([{"run_id": RUN, "through": 7, "events": 7}]));
    let rows = sandbox.json(&["runs", "--json"]);
    let row = rows["runs"].as_array().unwrap().iter().find(|row| row["run_id"] == RUN).unwrap().clone();
    assert_eq!((&row["events"], &row["pruned_through"]), (&8.into(), &7.into()));
}
