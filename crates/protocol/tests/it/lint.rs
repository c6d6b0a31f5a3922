//! The protocol linter: a good log passes, and each way to spoil it is found.

use r1_protocol::data::Object;
use r1_protocol::lint::{Linter, Rule, Writer};
use serde_json::{Value, json};

type Log = Vec<(&'static str, Value)>;

fn lint(writer: Writer, log: &Log) -> Vec<(Rule, u64)> {
    let mut linter = Linter::new(writer);
    for (sequence, (type_name, data)) in log.iter().enumerate() {
        let data: Object = serde_json::from_value(data.clone()).unwrap();
        linter.push(sequence as u64, type_name, &data);
    }
    linter.finish().into_iter().map(|finding| (finding.rule, finding.sequence)).collect()
}

/// A run with two turns, an approved edit, a shell command and a seam.
fn good() -> Log {
    vec![
        ("run.queued", json!({})),
        ("user.message", json!({ "turn_index": 0 })),
        ("run.started", json!({})),
        ("turn.started", json!({ "turn_index": 0, "turn_id": "A" })),
        ("assistant.text_delta", json!({ "turn_index": 0, "block_index": 0, "delta": "I " })),
        ("assistant.text_delta", json!({ "turn_index": 0, "block_index": 0, "delta": "edit" })),
        ("assistant.text_complete", json!({ "turn_index": 0, "block_index": 0, "text": "I edit" })),
        ("assistant.tool_call_proposed", json!({ "turn_index": 0, "tool_call_id": "edit" })),
        ("assistant.tool_call_proposed", json!({ "turn_index": 0, "tool_call_id": "test" })),
        ("turn.completed", json!({ "turn_index": 0, "turn_id": "A", "tool_calls": 2, "stop_reason": "tool_use" })),
        ("cost.tick", json!({ "cumulative_input_tokens": 5, "cumulative_cost_micros_usd": 10 })),
        (
            "artifact.created",
            json!({ "artifact_id": "P", "kind": "patch", "status": "proposed", "tool_call_id": "edit" }),
        ),
        ("run.side_effect", json!({ "name": "tool.prepared" })),
        ("approval.requested", json!({ "approval_id": "a", "tool_call_id": "edit" })),
        ("approval.resolved", json!({ "approval_id": "a", "decision": "approved" })),
        ("tool.invoked", json!({ "tool_call_id": "edit", "attempt": 1 })),
        ("tool.started", json!({ "tool_call_id": "edit" })),
        ("tool.edit.proposed", json!({ "tool_call_id": "edit", "patch_artifact_id": "P" })),
        ("tool.edit.applied", json!({ "tool_call_id": "edit", "patch_artifact_id": "P" })),
        (
            "artifact.updated",
            json!({ "artifact_id": "P", "field": "status", "old_value": "proposed", "new_value": "applied" }),
        ),
        ("tool.completed", json!({ "tool_call_id": "edit", "attempt": 1 })),
        ("policy.tool_allowed", json!({ "tool_call_id": "test" })),
        ("tool.invoked", json!({ "tool_call_id": "test", "attempt": 1 })),
        ("tool.started", json!({ "tool_call_id": "test" })),
        ("tool.shell.command", json!({ "tool_call_id": "test" })),
        ("tool.failed", json!({ "tool_call_id": "test", "attempt": 1, "outcome": "unknown", "final": false })),
        ("run.resumed", json!({ "at_sequence": 24 })),
        ("tool.invoked", json!({ "tool_call_id": "test", "attempt": 2 })),
        ("tool.started", json!({ "tool_call_id": "test" })),
        ("tool.shell.command", json!({ "tool_call_id": "test" })),
        (
            "tool.shell.output_chunk",
            json!({ "tool_call_id": "test", "stream": "stdout", "data": "ö\n", "byte_offset": 0 }),
        ),
        (
            "tool.shell.output_chunk",
            json!({ "tool_call_id": "test", "stream": "stderr", "data": "!", "byte_offset": 0 }),
        ),
        (
            "tool.shell.output_chunk",
            json!({ "tool_call_id": "test", "stream": "stdout", "data": "/w==", "encoding": "base64", "byte_offset": 3 }),
        ),
        (
            "tool.shell.exited",
            json!({ "tool_call_id": "test", "stdout_bytes": 4, "stderr_bytes": 1, "truncated": false }),
        ),
        ("artifact.created", json!({ "artifact_id": "O", "kind": "command_output", "tool_call_id": "test" })),
        ("tool.completed", json!({ "tool_call_id": "test", "attempt": 2 })),
        ("turn.started", json!({ "turn_index": 1, "turn_id": "B" })),
        ("assistant.text_delta", json!({ "turn_index": 1, "block_index": 0, "delta": "void" })),
        ("turn.failed", json!({ "turn_index": 1, "turn_id": "B", "will_retry": true })),
        ("run.resumed", json!({ "at_sequence": 38 })),
        ("turn.started", json!({ "turn_index": 1, "turn_id": "C" })),
        ("assistant.text_complete", json!({ "turn_index": 1, "block_index": 0, "text": "done" })),
        ("assistant.final_answer", json!({ "turn_index": 1, "summary": "done" })),
        ("turn.completed", json!({ "turn_index": 1, "turn_id": "C", "tool_calls": 0, "stop_reason": "end_turn" })),
        ("cost.tick", json!({ "cumulative_input_tokens": 9, "cumulative_cost_micros_usd": 12 })),
        ("run.finished", json!({})),
    ]
}

fn at(log: &Log, type_name: &str, nth: usize) -> usize {
    log.iter().enumerate().filter(|(_, (name, _))| *name == type_name).nth(nth).unwrap().0
}

#[test]
fn ep_13_a_good_run_has_no_findings() {
    assert_eq!(lint(Writer::R1, &good()), []);
}

#[test]
fn ep_13_a_run_that_is_still_open_has_no_findings_yet() {
    let mut linter = Linter::new(Writer::R1);
    for (sequence, (type_name, data)) in good().iter().enumerate() {
        linter.push(sequence as u64, type_name, data.as_object().unwrap());
        assert_eq!(linter.findings(), [], "{type_name}");
    }
}

/// A way to spoil the good log, and the rule that it breaks.
struct Mutation {
    what: &'static str,
    rule: Rule,
    spoil: fn(&mut Log),
}

/// Removes the nth event of a type.
fn remove(log: &mut Log, type_name: &str, nth: usize) {
    let index = at(log, type_name, nth);
    log.remove(index);
}

/// Says the nth event of a type twice.
fn repeat(log: &mut Log, type_name: &str, nth: usize) {
    let index = at(log, type_name, nth);
    log.insert(index, log[index].clone());
}

/// Changes a field of the nth event of a type.
fn set(log: &mut Log, type_name: &str, nth: usize, key: &str, value: Value) {
    let index = at(log, type_name, nth);
    log[index].1[key] = value;
}

/// Puts an event right before the nth one of a type.
fn insert_before(log: &mut Log, type_name: &str, nth: usize, event: (&'static str, Value)) {
    let index = at(log, type_name, nth);
    log.insert(index, event);
}

const MUTATIONS: &[Mutation] = &[
    Mutation { what: "another first event", rule: Rule::L1, spoil: |log| remove(log, "run.queued", 0) },
    Mutation { what: "no end", rule: Rule::L1, spoil: |log| remove(log, "run.finished", 0) },
    Mutation { what: "two ends", rule: Rule::L1, spoil: |log| repeat(log, "run.finished", 0) },
    Mutation { what: "life after the end", rule: Rule::L1, spoil: |log| log.push(("cost.tick", json!({}))) },
    Mutation { what: "no start", rule: Rule::L2, spoil: |log| remove(log, "run.started", 0) },
    Mutation { what: "two starts", rule: Rule::L2, spoil: |log| repeat(log, "run.started", 0) },
    Mutation { what: "a turn in a turn", rule: Rule::L3, spoil: |log| repeat(log, "turn.started", 0) },
    Mutation { what: "an end without a turn", rule: Rule::L3, spoil: |log| repeat(log, "turn.completed", 0) },
    Mutation { what: "a run that ends in a turn", rule: Rule::L3, spoil: |log| remove(log, "turn.completed", 1) },
    Mutation {
        what: "the end of another turn",
        rule: Rule::L3,
        spoil: |log| set(log, "turn.completed", 0, "turn_id", json!("X")),
    },
    Mutation {
        what: "a cut turn under its old id",
        rule: Rule::L3,
        spoil: |log| set(log, "turn.started", 2, "turn_id", json!("B")),
    },
    Mutation {
        what: "a cut turn under another index",
        rule: Rule::L3,
        spoil: |log| set(log, "turn.started", 2, "turn_index", json!(2)),
    },
    Mutation {
        what: "a turn left out",
        rule: Rule::L3,
        spoil: |log| set(log, "turn.started", 1, "turn_index", json!(2)),
    },
    Mutation { what: "no tick", rule: Rule::L4, spoil: |log| remove(log, "cost.tick", 0) },
    Mutation {
        what: "a tool inside of a turn",
        rule: Rule::L4,
        spoil: |log| insert_before(log, "turn.completed", 1, ("tool.invoked", json!({ "tool_call_id": "new" }))),
    },
    Mutation {
        what: "words outside of a turn",
        rule: Rule::L4,
        spoil: |log| insert_before(log, "run.finished", 0, ("assistant.text_delta", json!({ "delta": "x" }))),
    },
    Mutation { what: "a lost delta", rule: Rule::L4, spoil: |log| remove(log, "assistant.text_delta", 1) },
    Mutation { what: "a block twice", rule: Rule::L4, spoil: |log| repeat(log, "assistant.text_complete", 0) },
    Mutation { what: "a lost proposal", rule: Rule::L4, spoil: |log| remove(log, "assistant.tool_call_proposed", 1) },
    Mutation { what: "two final answers", rule: Rule::L4, spoil: |log| repeat(log, "assistant.final_answer", 0) },
    Mutation {
        what: "a call proposed twice",
        rule: Rule::L5,
        spoil: |log| repeat(log, "assistant.tool_call_proposed", 0),
    },
    Mutation { what: "a call closed twice", rule: Rule::L5, spoil: |log| repeat(log, "tool.completed", 0) },
    Mutation {
        what: "a call left open",
        rule: Rule::L5,
        spoil: |log| {
            insert_before(
                log,
                "assistant.final_answer",
                0,
                ("assistant.tool_call_proposed", json!({ "tool_call_id": "new" })),
            )
        },
    },
    Mutation {
        what: "a call blocked after it ended",
        rule: Rule::L5,
        spoil: |log| insert_before(log, "run.finished", 0, ("policy.tool_blocked", json!({ "tool_call_id": "edit" }))),
    },
    Mutation { what: "a call before its approval", rule: Rule::L6, spoil: |log| remove(log, "approval.resolved", 0) },
    Mutation { what: "a call invoked twice", rule: Rule::L6, spoil: |log| repeat(log, "tool.invoked", 0) },
    Mutation { what: "a call not invoked", rule: Rule::L6, spoil: |log| remove(log, "tool.invoked", 0) },
    Mutation { what: "a call not started", rule: Rule::L6, spoil: |log| remove(log, "tool.started", 0) },
    Mutation {
        what: "an attempt left out",
        rule: Rule::L6,
        spoil: |log| set(log, "tool.invoked", 2, "attempt", json!(3)),
    },
    Mutation {
        what: "output after the exit",
        rule: Rule::L6,
        spoil: |log| {
            let chunk = log[at(log, "tool.shell.output_chunk", 1)].clone();
            insert_before(log, "artifact.created", 1, chunk);
        },
    },
    Mutation {
        what: "an artifact after the end of its call",
        rule: Rule::L6,
        spoil: |log| {
            let artifact = log.remove(at(log, "artifact.created", 1));
            insert_before(log, "turn.started", 1, artifact);
        },
    },
    Mutation { what: "a call open at a seam", rule: Rule::L7, spoil: |log| remove(log, "tool.failed", 0) },
    Mutation {
        what: "an unknown outcome without a word on the next attempt",
        rule: Rule::L7,
        spoil: |log| set(log, "tool.failed", 0, "final", Value::Null),
    },
    Mutation {
        what: "a call that was to run again and did not",
        rule: Rule::L7,
        spoil: |log| {
            log.retain(|(name, data)| {
                !(name.starts_with("tool.shell.") || data["tool_call_id"] == "test" && data["attempt"] == 2)
            })
        },
    },
    Mutation { what: "a lost chunk", rule: Rule::L8, spoil: |log| remove(log, "tool.shell.output_chunk", 0) },
    Mutation { what: "a repeated chunk", rule: Rule::L8, spoil: |log| repeat(log, "tool.shell.output_chunk", 1) },
    Mutation {
        what: "a wrong total",
        rule: Rule::L8,
        spoil: |log| set(log, "tool.shell.exited", 0, "stderr_bytes", json!(2)),
    },
    Mutation {
        what: "falling cost",
        rule: Rule::L8,
        spoil: |log| set(log, "cost.tick", 1, "cumulative_cost_micros_usd", json!(9)),
    },
    Mutation { what: "an approval asked for twice", rule: Rule::L8, spoil: |log| repeat(log, "approval.requested", 0) },
    Mutation { what: "an approval ended twice", rule: Rule::L8, spoil: |log| repeat(log, "approval.resolved", 0) },
    Mutation { what: "an approval never asked for", rule: Rule::L8, spoil: |log| remove(log, "approval.requested", 0) },
    Mutation { what: "an artifact applied twice", rule: Rule::L8, spoil: |log| repeat(log, "artifact.updated", 0) },
    Mutation {
        what: "an artifact that goes back",
        rule: Rule::L8,
        spoil: |log| {
            let back =
                json!({ "artifact_id": "P", "field": "status", "old_value": "applied", "new_value": "proposed" });
            insert_before(log, "run.finished", 0, ("artifact.updated", back));
        },
    },
    Mutation { what: "an artifact made twice", rule: Rule::L8, spoil: |log| repeat(log, "artifact.created", 0) },
];

#[test]
fn ep_13_each_violation_is_found() {
    for Mutation { what, rule, spoil } in MUTATIONS {
        let mut log = good();
        spoil(&mut log);
        let findings = lint(Writer::R1, &log);
        assert!(findings.iter().any(|(found, _)| found == rule), "{what}: {findings:?}");
    }
}

#[test]
fn ep_13_recorded_runs_keep_their_own_order() {
    for Mutation { what, rule, spoil } in MUTATIONS {
        let mut log = good();
        spoil(&mut log);
        let findings = lint(Writer::Recorded, &log);
        let foreign = [Rule::L2, Rule::L4, Rule::L6];
        assert!(findings.iter().all(|(found, _)| !foreign.contains(found)), "{what}: {findings:?}");
        let is_found = findings.iter().any(|(found, _)| found == rule);
        assert!(is_found || foreign.contains(rule), "{what}: {findings:?}");
    }
}

#[test]
fn a_rejected_call_is_closed_by_its_approval() {
    for end in [
        ("approval.resolved", json!({ "approval_id": "a", "decision": "rejected" })),
        ("approval.timed_out", json!({ "approval_id": "a" })),
    ] {
        let mut log = good();
        let index = at(&log, "approval.resolved", 0);
        log[index] = end;
        log.retain(|(name, data)| data["tool_call_id"] != "edit" || !name.starts_with("tool."));
        log.retain(|(name, _)| *name != "artifact.updated");
        assert_eq!(lint(Writer::R1, &log), []);
    }
}

#[test]
fn a_cancelled_run_may_leave_everything_open() {
    let mut log = good();
    log.truncate(at(&log, "tool.shell.output_chunk", 1));
    log.push(("run.cancelled", json!({})));
    assert_eq!(lint(Writer::R1, &log), []);
}

#[test]
fn what_was_pruned_or_erased_is_not_missed() {
    let mut log = good();
    let cut = at(&log, "tool.shell.output_chunk", 1);
    log.drain(..cut);
    log.insert(0, ("gap.events_pruned", json!({})));
    assert_eq!(lint(Writer::R1, &log), []);

    let mut log = good();
    let index = at(&log, "tool.started", 0);
    log[index].1 = json!({ "erased": true });
    assert_eq!(lint(Writer::R1, &log), []);
}
