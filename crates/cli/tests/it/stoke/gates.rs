//! Gates that a program answers for.

use std::fs;

use serde_json::{Value, json};

use super::ends::assert_ends;
use super::{Steered, lines, project};
use crate::serving::{Serving, post};
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

/// What the receipt of the last run says of its gates; it is valid.
fn verified(sandbox: &Sandbox) -> Value {
    sandbox.ok(&["receipt", "create", "last", "-o", "run.receipt.json"]);
    let told = sandbox.json(&["receipt", "verify", "run.receipt.json", "--json"]);
    assert_eq!(told["verdict"], "VALID", "{told}");
    told
}

/// The run was let through: everyone who looks sees who did it, and why.
fn assert_overridden(sandbox: &Sandbox, line: &Value, actor: &Value, reason: &str) {
    assert_eq!((&line["reason"], &line["actor"]), (&reason.into(), actor), "{line}");
    let log = sandbox.ok(&["log", "show", "last"]);
    assert!(log.contains(&format!("by {}: {reason}", actor["id"].as_str().unwrap())), "{log}");
    let overrides = &verified(sandbox)["overrides"];
    assert_eq!(overrides.as_array().unwrap().len(), 1, "{overrides}");
    let who = format!("operator:{}", actor["id"].as_str().unwrap());
    assert_eq!((&overrides[0]["actor"], &overrides[0]["reason"]), (&who.into(), &reason.into()), "{overrides}");
}

/// The run was refused: it ended at this gate, and the receipt has no step beyond it.
fn assert_refused(sandbox: &Sandbox, lines: &[Value], code: i32, reason: &str) {
    assert_ends(lines, code, 3, "error_operator_abort");
    let resolved = lines.iter().find(|line| line["type"] == "stoke.approval.resolved").unwrap();
    assert_eq!((&resolved["decision"], &resolved["comment"]), (&"rejected".into(), &reason.into()), "{resolved}");
    let went_on = ["stoke.gate.override", "stoke.phase.transition"];
    assert!(lines.iter().all(|line| went_on.iter().all(|name| line["type"] != *name)), "{lines:?}");
    let log = sandbox.ok(&["log", "show", "last"]);
    assert!(log.contains(&format!("rejected by operator: {reason}")), "{log}");
    let told = verified(sandbox);
    assert_eq!((&told["gates"]["transitions"], &told["overrides"]), (&1.into(), &json!([])), "{told}");
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
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
    assert_overridden(&sandbox, &line, &json!({ "kind": "operator", "id": "ada", "via": "stdin" }), reason);
}

#[test]
fn stoke_05_complete_is_the_last_line_after_a_refusal_and_after_a_gate_that_failed() {
    let sandbox = town();
    let (mut steered, request) = at_the_gate(&sandbox);
    steered.say(&json!({ "approval_id": request["approval_id"], "decision": false, "reason": "not today" }));
    let (refused, code) = steered.finish();
    assert_refused(&sandbox, &refused, code, "not today");
    let (failed, code) = lines(&town(), &PHASES);
    assert_ends(&failed, code, 1, "error_ac_failed");
}

/// A server of the same home, and how it is told what to do with what is asked.
struct Desk {
    serving: Serving,
    path: String,
}

impl Desk {
    fn open(sandbox: &Sandbox) -> Self {
        Self { serving: Serving::start(sandbox, &["--workers", "1"]), path: String::new() }
    }

    fn asked(mut self, request: &Value) -> Self {
        self.path = format!("/hecate/v1/approvals/{}/resolve", request["approval_id"].as_str().unwrap());
        self
    }

    fn answer(&self, body: &Value) -> (u16, Value) {
        let token = self.serving.said["token"].as_str().unwrap();
        let (status, answer) = post(self.serving.url(), &self.path, token, body);
        (status, serde_json::from_str(&answer).unwrap())
    }
}

#[test]
fn stoke_25_a_gate_is_overridden_over_http_with_a_reason_and_once() {
    let sandbox = town();
    let desk = Desk::open(&sandbox);
    let (mut steered, request) = at_the_gate(&sandbox);
    let desk = desk.asked(&request);
    let (status, refusal) = desk.answer(&json!({ "decision": "approve" }));
    assert_eq!((status, &refusal["error"]["code"]), (400, &"validation".into()), "{refusal}");
    let reason = "the mayor is on holiday";
    let (status, resolved) = desk.answer(&json!({ "decision": "approve", "comment": reason }));
    assert_eq!((status, &resolved["data"]["status"]), (200, &"approved".into()), "{resolved}");
    let line = steered.of_type("stoke.gate.override");
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
    // Whoever comes later is told that it is decided.
    let (status, late) = desk.answer(&json!({ "decision": "reject" }));
    assert_eq!((status, &late["error"]["code"]), (409, &"conflict".into()), "{late}");
    assert_overridden(&sandbox, &line, &line["actor"], reason);
    assert_eq!((&line["actor"]["kind"], &line["actor"]["via"]), (&"operator".into(), &"http".into()), "{line}");
}

#[test]
fn stoke_25_a_gate_is_refused_over_http_and_the_task_ends_there() {
    let sandbox = town();
    let desk = Desk::open(&sandbox);
    let (steered, request) = at_the_gate(&sandbox);
    let (status, resolved) = desk.asked(&request).answer(&json!({ "decision": "reject", "comment": "not today" }));
    assert_eq!((status, &resolved["data"]["status"]), (200, &"rejected".into()), "{resolved}");
    let (lines, code) = steered.finish();
    assert_refused(&sandbox, &lines, code, "not today");
}

#[test]
fn stoke_25_a_gate_that_is_asked_again_over_http_decides_anew_and_nobody_overrides() {
    let sandbox = town();
    let gates = GATES.replace("command: exit 10", "command: test -e ready || exit 10");
    fs::write(sandbox.path("gates.yaml"), gates).unwrap();
    let desk = Desk::open(&sandbox);
    let (mut steered, request) = at_the_gate(&sandbox);
    fs::write(sandbox.path("project/ready"), "").unwrap();
    let again = json!({ "decision": "approve", "edited_input": { "action": "retry" } });
    let (status, resolved) = desk.asked(&request).answer(&again);
    assert_eq!(status, 200, "{resolved}");
    let decision = steered.until(|line| line["type"] == "stoke.gate.decision" && line["gate_id"] == "mayor");
    // The first round led into the plan, and the second one asked.
    assert_eq!((&decision["verdict"], &decision["round"]), (&"allow".into(), &3.into()), "{decision}");
    let (lines, code) = steered.finish();
    assert_ends(&lines, code, 0, "success");
    assert_eq!(verified(&sandbox)["overrides"], json!([]));
}
