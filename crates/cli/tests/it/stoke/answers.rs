//! Requests for approval, answered on standard input.

use std::fs;

use serde_json::{Value, json};

use super::{Steered, project};
use crate::support::Sandbox;

const EDITS_THREE: &str = "
turns:
  - tool_calls:
      - { tool: edit, id: c1, input: { path: a.txt, old_string: hello, new_string: one } }
      - { tool: edit, id: c2, input: { path: b.txt, old_string: hello, new_string: two } }
      - { tool: edit, id: c3, input: { path: c.txt, old_string: hello, new_string: three } }
  - text: Done.
";

fn asked(steered: &mut Steered, count: usize) -> Vec<Value> {
    let mut requests: Vec<_> = (0..count).map(|_| steered.of_type("hitl_required")).collect();
    requests.sort_by_key(|request| request["tool_call_id"].as_str().unwrap().to_owned());
    requests
}

/// The kind of the error that comes next; before that nothing is answered.
fn error(steered: &mut Steered) -> String {
    let line = steered.until(|line| line["type"] == "error" || line["type"] == "stoke.approval.resolved");
    line["_stoke.dev/kind"].as_str().unwrap_or_else(|| panic!("no error: {line}")).to_owned()
}

fn file(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path("project").join(name)).unwrap()
}

#[test]
fn stoke_06_each_reply_answers_its_own_request_and_nothing_else() {
    let sandbox = project(EDITS_THREE);
    let mut steered = Steered::start(&sandbox, &["edit them"]);
    let requests = asked(&mut steered, 3);
    let id = |index: usize| requests[index]["approval_id"].clone();
    assert_eq!((&requests[0]["approval_type"], &requests[0]["file"]), (&json!("file_write"), &json!("a.txt")));

    steered.say(&json!({ "decision": true }));
    assert_eq!(error(&mut steered), "ambiguous_reply");
    steered.say(&json!({ "approval_id": "appr_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B", "decision": true }));
    assert_eq!(error(&mut steered), "unknown_approval");
    steered.say(&json!({ "approval_id": id(0), "decision": "perhaps" }));
    assert_eq!(error(&mut steered), "malformed_reply");

    // Out of order, and twice.
    steered.say(&json!({ "approval_id": id(2), "decision": true, "decided_by": "ada" }));
    let resolved = steered.of_type("stoke.approval.resolved");
    assert_eq!((&resolved["approval_id"], &resolved["decision"]), (&id(2), &json!("approved")));
    assert_eq!(resolved["actor"], json!({ "kind": "operator", "id": "ada", "via": "stdin" }));
    steered.say(&json!({ "approval_id": id(2), "decision": false }));
    assert_eq!(error(&mut steered), "already_resolved");
    steered.say(&json!({ "approval_id": id(2), "decision": true }));
    assert_eq!(error(&mut steered), "already_resolved");
    steered.say(&json!({ "approval_id": id(0), "decision": false, "reason": "leave it" }));
    assert_eq!(steered.of_type("stoke.approval.resolved")["approval_id"], id(0));

    // Only one is left.
    steered.say(&json!({ "decision": true }));
    let resolved = steered.of_type("stoke.approval.resolved");
    assert_eq!((&resolved["approval_id"], &resolved["actor"]["id"]), (&id(1), &json!("stdin")));

    let (lines, code) = steered.finish();
    assert_eq!(code, 0, "{lines:?}");
    assert_eq!(["a.txt", "b.txt", "c.txt"].map(|name| file(&sandbox, name)), ["hello\n", "two\n", "three\n"]);
    let result = lines.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1, "{result}");
}

#[test]
fn stoke_06_a_closed_stdin_refuses_what_is_open() {
    let sandbox = project(EDITS_THREE);
    let mut steered = Steered::start(&sandbox, &["edit them"]);
    let _ = asked(&mut steered, 3);
    steered.close_input();
    let (lines, _) = steered.finish();
    let refused: Vec<_> = lines.iter().filter(|line| line["type"] == "stoke.approval.resolved").collect();
    assert_eq!(refused.len(), 3, "{lines:?}");
    assert!(refused.iter().all(|line| line["comment"] == "stdin_closed" && line["decision"] == "rejected"));
    assert_eq!(file(&sandbox, "a.txt"), "hello\n");
}

#[test]
fn stoke_06_an_answer_that_comes_too_late_changes_nothing() {
    // The run must still be there when the answer comes.
    let slow = format!("text: {}, chunk_chars: 1, delay_ms: 100", "x".repeat(3_000));
    let sandbox = project(&EDITS_THREE.replace("  - text: Done.", &format!("  - {{ {slow} }}")));
    fs::create_dir(sandbox.home()).unwrap();
    fs::write(sandbox.home().join("config.toml"), "[run]\napproval_timeout = \"1s\"\n").unwrap();
    let mut steered = Steered::start(&sandbox, &["edit them"]);
    let requests = asked(&mut steered, 3);
    let lapsed = steered.of_type("stoke.approval.timed_out");
    assert!(requests.iter().any(|request| request["approval_id"] == lapsed["approval_id"]), "{lapsed}");
    steered.say(&json!({ "approval_id": lapsed["approval_id"], "decision": true }));
    assert_eq!(error(&mut steered), "already_resolved");
    steered.signal("-INT");
    let (lines, code) = steered.finish();
    assert_eq!(code, 130, "{lines:?}");
    assert_eq!(["a.txt", "b.txt", "c.txt"].map(|name| file(&sandbox, name)), ["hello\n"; 3]);
}

#[test]
fn stoke_06_a_program_has_an_hour_to_answer_unless_the_settings_say_otherwise() {
    let sandbox = project(EDITS_THREE);
    let mut steered = Steered::start(&sandbox, &["edit them"]);
    let request = asked(&mut steered, 3).remove(0);
    let at = |key: &str| request[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let seconds = (at("expires_at") - at("ts")).get_seconds();
    assert!((3_590..=3_600).contains(&seconds), "{request}");
    steered.close_input();
    steered.finish();
}

#[test]
fn the_first_message_is_the_prompt_and_a_later_one_is_heard() {
    let scenario = "
turns:
  - tool_calls: [{ tool: edit, input: { path: a.txt, old_string: hello, new_string: one } }]
  - when: and be quick
    text: Done.
";
    let sandbox = project(scenario);
    let mut steered = Steered::start(&sandbox, &["--replay-user-messages"]);
    steered.say(&json!({ "no": "message" }));
    assert_eq!(error(&mut steered), "malformed_reply");
    steered.message("edit it");
    let said = steered.of_type("user");
    assert_eq!(said["message"]["content"][0]["text"], "edit it");
    let request = steered.of_type("hitl_required");
    steered.message("and be quick");
    steered.of_type("user");
    steered.say(&json!({ "approval_id": request["approval_id"], "decision": true }));
    let (lines, code) = steered.finish();
    assert_eq!(code, 0, "{lines:?}");
}
