//! What events may say: rules between their keys, and between them and the events that they name.

use r1_receipt::NodeType;
use serde_json::{Value as Json, json};

use crate::forge::Forge;
use crate::sample::{Log, check, full, hash, last_id};

fn sound() -> Forge {
    Forge::open(&full().receipt().bytes)
}

/// The verdict on a receipt whose first event of a type says something else.
fn saying(type_name: &str, change: impl FnOnce(&mut Json)) -> String {
    let mut forge = sound();
    let place = forge.first(type_name);
    change(&mut forge.events[place].body);
    check(&forge.sign()).verdict().to_string()
}

#[test]
fn an_operator_is_sure_and_a_model_need_not_be() {
    let skill = |mode: &str, confidence: u64| {
        saying("SKILL_AUTHORING_DECISION", |body| {
            (body["mode"], body["confidence"]) = (mode.into(), confidence.into());
        })
    };
    assert_eq!(skill("operator", 1000), "VALID");
    assert_eq!(skill("operator", 500), "INVALID bad_body");
    assert_eq!(skill("llm-best-judgment", 500), "VALID");
}

#[test]
fn a_gate_stands_at_a_phase_that_there_is() {
    // Not one that a transition needs, so that nothing else is wrong with it.
    let phase = |word: &str| {
        let mut log = full_with_spare_gate();
        let spare = log.events.iter().rposition(|event| event.type_name == "GATE_DECISION").unwrap();
        log.events[spare].body["phase"] = word.into();
        check(&log.sign()).verdict().to_string()
    };
    for word in ["PLAN", "EXECUTE", "VERIFY", "COMMIT"] {
        assert_eq!(phase(word), "VALID", "{word}");
    }
    for word in ["NOPE", "plan", "START", "END", ""] {
        assert_eq!(phase(word), "INVALID bad_body", "{word}");
    }
}

fn full_with_spare_gate() -> Forge {
    let mut log = Log::new();
    log.gate(1, "START>PLAN", "PLAN.entry/policy", "allow");
    log.transition(1, "START", "PLAN", &["PLAN.entry/policy"]);
    log.gate(1, "PLAN>EXECUTE", "PLAN.exit/scope", "block");
    log.end();
    Forge::open(&log.receipt().bytes)
}

#[test]
fn arguments_that_are_shown_are_json() {
    let args = |text: &str| {
        saying("TOOL_CALL", |body| {
            (body["args"], body["args_hash"]) = (text.into(), hash(text).into());
        })
    };
    for json in ["{}", "[1.5,null]", "\"x\""] {
        assert_eq!(args(json), "VALID", "{json}");
    }
    for other in ["", "x", "{", "{} {}", "\"\\ud800\""] {
        assert_eq!(args(other), "INVALID bad_body", "{other}");
    }
}

/// A wizard that revises its first answer, and a beacon's command with its result.
fn linked() -> Forge {
    let mut log = Log::new();
    log.skill(0, None);
    let first = last_id(log.records(), NodeType::SkillAuthoringDecision);
    log.skill(1, None);
    log.skill(2, Some(&first));
    log.beacon("command", &json!({ "session_ref": "s1", "command_kind": "run", "payload_hash": hash("p") }));
    let command = last_id(log.records(), NodeType::BeaconLedgerEvent);
    log.beacon("session_closed", &json!({ "session_ref": "s1", "reason": "done" }));
    log.beacon("command_result", &json!({ "command_event": command, "status": "ok" }));
    log.end();
    Forge::open(&log.receipt().bytes)
}

fn nobody() -> String {
    format!("sha256:{}", hash("nobody"))
}

#[test]
fn what_a_decision_revises_and_a_result_answers_came_before_it() {
    let verdict = |change: fn(&mut Forge, skill: usize, beacon: usize)| {
        let mut forge = linked();
        let skill = forge.find("SKILL_AUTHORING_DECISION", |body| body["step"] == 2);
        let beacon = forge.find("BEACON_LEDGER_EVENT", |body| body["kind"] == "command_result");
        change(&mut forge, skill, beacon);
        let report = check(&forge.sign());
        report.verdict().to_string()
    };
    assert_eq!(verdict(|_, _, _| {}), "VALID");
    assert_eq!(
        verdict(|forge, skill, _| forge.events[skill].body["revision_of"] = nobody().into()),
        "INVALID bad_body"
    );
    assert_eq!(
        verdict(|forge, _, beacon| forge.events[beacon].body["detail"]["command_event"] = nobody().into()),
        "INVALID bad_body"
    );
    // An event of the receipt, but on another branch.
    assert_eq!(
        verdict(|forge, skill, _| {
            let other = forge.find("BEACON_LEDGER_EVENT", |body| body["kind"] == "command");
            forge.events[skill].body["revision_of"] = forge.ids()[other].clone().into();
        }),
        "INVALID bad_body"
    );
    // Reached only over the answer between the two.
    assert_eq!(
        verdict(|forge, skill, _| {
            let between = forge.find("SKILL_AUTHORING_DECISION", |body| body["step"] == 1);
            forge.events[skill].preds = vec![between];
        }),
        "VALID"
    );
}

#[test]
fn stoke_16_links_that_are_no_edges_are_followed_up_to_a_bound() {
    // All revise the first, each over all those between.
    let decisions = |count: u64| {
        let mut log = Log::new();
        log.skill(0, None);
        let first = last_id(log.records(), NodeType::SkillAuthoringDecision);
        for step in 1..count {
            log.skill(step, Some(&first));
        }
        log.end();
        let mut forge = Forge::open(&log.receipt().bytes);
        let of_wizard = |event: &usize| forge.events[*event].type_name == "SKILL_AUTHORING_DECISION";
        let mut places: Vec<_> = (0..forge.events.len()).filter(of_wizard).collect();
        places.sort_by_key(|place| forge.events[*place].body["step"].as_u64());
        places.windows(2).for_each(|pair| forge.events[pair[1]].preds = vec![pair[0]]);
        check(&forge.sign()).verdict().to_string()
    };
    assert_eq!(decisions(300), "VALID");
    assert_eq!(decisions(1_500), "INVALID bad_body");
}

#[test]
fn what_was_pruned_cannot_be_asked_for() {
    let mut forge = linked();
    let skill = forge.find("SKILL_AUTHORING_DECISION", |body| body["step"] == 2);
    forge.events[skill].body["revision_of"] = format!("sha256:{}", hash("pruned")).into();
    let root = forge.first("MEMORY_READ");
    forge.stub(root, "pruned");
    assert_eq!(check(&forge.sign()).verdict().to_string(), "INCOMPLETE run_pruned");
}

#[test]
fn of_two_events_that_follow_nothing_the_one_too_many_is_a_bad_root() {
    let read = |change: fn(&mut Json)| {
        let mut forge = sound();
        let place = forge.find("MEMORY_READ", |body| body["tier"] == "L1");
        forge.events[place].preds.clear();
        change(&mut forge.events[place].body);
        check(&forge.sign()).verdict().to_string()
    };
    assert_eq!(read(|_| {}), "INVALID bad_root");
    assert_eq!(read(|body| body["run_id"] = "another".into()), "INVALID bad_root");
    assert_eq!(read(|body| body["extra"] = 1.into()), "INVALID bad_body");
    let unnamed = saying("MEMORY_READ", |body| drop(body.as_object_mut().unwrap().remove("run_id")));
    assert_eq!(unnamed, "INVALID bad_body", "a beginning must say of which run");
}
