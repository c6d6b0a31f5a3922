//! The names that other producers use.

use r1_protocol::data::Object;
use r1_protocol::dialect::{from_model_call, to_model_call};
use r1_protocol::registry;
use serde_json::{Value, json};

use r1_protocol::example;

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn renamed(rename: fn(&mut String, &mut Object), name: &str, data: Value) -> (String, Value) {
    let (mut name, mut data) = (name.to_owned(), object(data));
    rename(&mut name, &mut data);
    (name, data.into())
}

#[test]
fn turns_become_model_calls_counted_from_one() {
    assert_eq!(
        renamed(to_model_call, "turn.started", json!({ "turn_index": 0, "model": "m" })),
        ("model.call.started".into(), json!({ "model_call_index": 1, "model": "m" }))
    );
    assert_eq!(
        renamed(to_model_call, "run.finished", json!({ "turns": 4 })),
        ("run.finished".into(), json!({ "model_call_count": 4 }))
    );
    assert_eq!(
        renamed(to_model_call, "assistant.text_delta", json!({ "turn_index": 2 })),
        ("assistant.text_delta".into(), json!({ "model_call_index": 3 }))
    );
}

#[test]
fn what_others_define_keeps_its_names() {
    for name in ["external.turns", "agent.codex.turn", "note.unknown"] {
        let data = json!({ "turn_index": 1, "turns": 2, "model_call_index": 3 });
        assert_eq!(renamed(to_model_call, name, data.clone()), (name.into(), data.clone()));
        assert_eq!(renamed(from_model_call, name, data.clone()), (name.into(), data));
    }
}

#[test]
fn an_index_that_cannot_be_converted_is_left_alone() {
    let data = json!({ "model_call_index": 0 });
    assert_eq!(renamed(from_model_call, "model.call.started", data.clone()), ("turn.started".into(), data));
}

#[test]
fn the_example_of_every_type_survives_both_dialects() {
    for row in registry::all().filter(|row| !row.is_family()) {
        let own = (row.name.to_owned(), Value::Object(example::most(row).data));
        let there = renamed(to_model_call, &own.0, own.1.clone());
        let back = renamed(from_model_call, &there.0, there.1.clone());
        assert_eq!(back, own);
        assert_eq!(renamed(to_model_call, &back.0, back.1), there);
    }
}
