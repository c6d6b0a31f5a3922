//! Gates that a program answers for.

use std::fs;

use serde_json::{Value, json};

use super::ends::assert_ends;
use super::{Steered, lines, project};
use crate::support::Sandbox;

/// One gate passes everywhere, and one wants a person when the plan is done.
const GATES: &str = "
preset: town
composite: { threshold: 0.5 }
gates:
  - { id: always, threshold: 1, blocker: true, command: 'true', at: [PLAN.entry, PLAN.exit, EXECUTE.entry,
      EXECUTE.exit, VERIFY.entry, VERIFY.exit, COMMIT.entry, COMMIT.exit] }
  - { id: mayor, threshold: 1, blocker: true, command: exit 10, at: [PLAN.exit] }
";

const PHASES: [&str; 5] = ["--phases", "--gates", "gates.yaml", "--approve", "full"];

fn town() -> Sandbox {
    let sandbox = project("{ turns: [], default: { text: done } }");
    fs::write(sandbox.path("gates.yaml"), GATES).unwrap();
    sandbox
}

/// A run that waits at its gate, and what is asked there.
fn at_the_gate(sandbox: &Sandbox) -> (Steered, Value) {
    let mut steered = Steered::start(sandbox, &[&["go"], &PHASES[..]].concat());
    let request = steered.of_type("hitl_required");
    assert_eq!((&request["approval_type"], &request["_stoke.dev/context"]["kind"]), (&json!("gate"), &json!("gate")));
    (steered, request)
}

#[test]
fn stoke_06_to_let_a_gate_pass_needs_a_reason_and_is_an_override() {
    let sandbox = town();
    let (mut steered, request) = at_the_gate(&sandbox);
    steered.say(&json!({ "approval_id": request["approval_id"], "decision": true }));
    assert_eq!(steered.of_type("error")["_stoke.dev/kind"], "malformed_reply");
    let reason = "the mayor is on holiday";
    steered.say(&json!({ "decision": true, "reason": reason, "decided_by": "ada" }));
    let line = steered.of_type("stoke.gate.override");
    assert_eq!(
        (&line["reason"], &line["actor"]["id"], &line["actor"]["via"]),
        (&reason.into(), &"ada".into(), &"stdin".into())
    );
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
}

#[test]
fn stoke_05_complete_is_the_last_line_after_a_refusal_and_after_a_gate_that_failed() {
    let sandbox = town();
    let (mut steered, request) = at_the_gate(&sandbox);
    steered.say(&json!({ "approval_id": request["approval_id"], "decision": false, "reason": "not today" }));
    let (refused, code) = steered.finish();
    assert_ends(&refused, code, 3, "error_operator_abort");
    let (failed, code) = lines(&town(), &PHASES);
    assert_ends(&failed, code, 1, "error_ac_failed");
}
