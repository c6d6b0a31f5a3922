//! Steps from phase to phase, and the decisions that they stand on.

use serde_json::json;

use crate::forge::Forge;
use crate::sample::{Log, verdict};

/// A task that went on twice.
fn phased() -> Forge {
    let mut log = Log::new();
    log.gate(1, "START>PLAN", "PLAN.entry/policy", "allow");
    log.transition(1, "START", "PLAN", &["PLAN.entry/policy"]);
    log.gate(2, "PLAN>EXECUTE", "EXECUTE.entry/policy", "allow");
    log.gate(2, "PLAN>EXECUTE", "PLAN.exit/scope", "allow");
    log.transition(2, "PLAN", "EXECUTE", &["EXECUTE.entry/policy", "PLAN.exit/scope"]);
    log.end();
    Forge::open(&log.receipt().bytes)
}

fn decisions(forge: &Forge) -> Vec<usize> {
    let is_decision = |place: &usize| forge.events[*place].type_name == "GATE_DECISION";
    (0..forge.events.len()).filter(is_decision).collect()
}

#[test]
fn stoke_22_a_forged_receipt_without_a_decision_of_a_round_is_gate_missing() {
    let whole = phased();
    assert_eq!(verdict(&whole.sign()), "VALID");
    for place in decisions(&whole) {
        let mut forge = whole.clone();
        forge.remove(place);
        assert_eq!(verdict(&forge.sign()), "INVALID gate_missing");
    }
}

#[test]
fn stoke_22_a_decision_of_another_round_task_or_gate_is_none() {
    let whole = phased();
    let changes =
        [("round", json!(7)), ("task_id", json!("task_other")), ("gate_id", json!("lint")), ("phase", json!("VERIFY"))];
    for place in decisions(&whole) {
        for (key, value) in &changes {
            let mut forge = whole.clone();
            forge.events[place].body[*key] = value.clone();
            assert_eq!(verdict(&forge.sign()), "INVALID gate_missing", "{key}");
        }
    }
}

#[test]
fn stoke_22_a_step_that_demands_nothing_is_gate_missing() {
    let whole = phased();
    let steps = (0..whole.events.len()).filter(|place| whole.events[*place].type_name == "PHASE_TRANSITION");
    for place in steps {
        let mut forge = whole.clone();
        forge.events[place].body["required"] = json!([]);
        assert_eq!(verdict(&forge.sign()), "INVALID gate_missing");
    }
}
