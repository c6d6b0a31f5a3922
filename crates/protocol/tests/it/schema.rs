//! The schemas, held against an example of each type by a validator that is not ours.

use jsonschema::Validator;
use r1_protocol::check;
use r1_protocol::registry::{self, EventType, Presence};
use r1_protocol::schema::{self, Strictness};
use serde_json::{Value, json};

use crate::example;

fn validator(row: &EventType, strictness: Strictness) -> Validator {
    jsonschema::draft202012::new(&schema::schema(row, strictness)).unwrap()
}

fn assert_valid(validator: &Validator, event: &Value) {
    let errors: Vec<_> = validator.iter_errors(event).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{event}\n{errors:#?}");
}

#[test]
fn ep_05_the_example_of_every_type_passes_its_schemas() {
    for row in registry::all() {
        let event = example::event(row);
        for strictness in [Strictness::Open, Strictness::Strict, Strictness::Recorded] {
            assert_valid(&validator(row, strictness), &event);
            let any = jsonschema::draft202012::new(&schema::any_envelope(strictness)).unwrap();
            assert_valid(&any, &event);
        }
    }
}

/// Names, fields and words are forever: a change shows here before it reaches anyone's parser.
#[test]
fn ep_05_every_type_has_a_golden_example() {
    let examples: Vec<_> =
        registry::all().map(|row| format!("{} {}", row.name, Value::Object(example::data(row)))).collect();
    insta::assert_snapshot!("examples", examples.join("\n"));
}

#[test]
fn ep_05_every_schema_has_its_own_id() {
    let mut ids: Vec<_> = registry::all()
        .flat_map(|row| [Strictness::Open, Strictness::Strict, Strictness::Recorded].map(|s| schema::schema(row, s)))
        .map(|schema| schema["$id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.contains(&"urn:r1:events:v1:turn.started".into()));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn the_strict_schema_misses_each_required_field() {
    for row in registry::all() {
        let (open, strict) = (validator(row, Strictness::Open), validator(row, Strictness::Strict));
        for field in row.fields {
            let mut event = example::event(row);
            event["data"].as_object_mut().unwrap().remove(field.name);
            let name = format!("{} without {}", row.name, field.name);
            assert_eq!(strict.is_valid(&event), field.presence == Presence::Optional, "strict: {name}");
            assert_eq!(open.is_valid(&event), field.presence != Presence::Identity, "open: {name}");
        }
    }
}

#[test]
fn ep_06_unknown_fields_pass_the_open_schema_alone() {
    for row in registry::all() {
        let mut event = example::event(row);
        event["data"]["invented"] = json!(1);
        assert!(validator(row, Strictness::Open).is_valid(&event), "{}", row.name);
        assert!(validator(row, Strictness::Recorded).is_valid(&event), "{}", row.name);
        assert_eq!(validator(row, Strictness::Strict).is_valid(&event), row.open, "{}", row.name);
        let mut event = example::event(row);
        event["later"] = json!(1);
        assert!(validator(row, Strictness::Open).is_valid(&event), "{}", row.name);
        assert!(!validator(row, Strictness::Strict).is_valid(&event), "{}", row.name);
    }
}

#[test]
fn only_the_strict_schema_insists_on_words_ids_and_times() {
    let row = registry::find("approval.requested").unwrap();
    for (key, value) in
        [("kind", json!("magic")), ("approval_id", json!("7")), ("expires_at", json!("2026-01-01T00:00:00Z"))]
    {
        let mut event = example::event(row);
        event["data"][key] = value;
        assert!(validator(row, Strictness::Open).is_valid(&event), "{key}");
        assert!(!validator(row, Strictness::Strict).is_valid(&event), "{key}");
    }
}

#[test]
fn known_fields_of_another_type_pass_no_schema() {
    let row = registry::find("tool.shell.exited").unwrap();
    let mut event = example::event(row);
    event["data"]["stdout_bytes"] = json!("many");
    assert!(!validator(row, Strictness::Open).is_valid(&event));
    event["data"]["stdout_bytes"] = json!(-1);
    assert!(!validator(row, Strictness::Open).is_valid(&event));
}

#[test]
fn erased_data_passes_where_erasing_is_allowed() {
    let erased = json!({ "erased": true, "payload_hash": "ab", "payload_size": 1, "redaction_event_id": "evt_1" });
    for (name, allowed) in
        [("user.message", true), ("tool.shell.command", true), ("run.finished", false), ("gate.decision", false)]
    {
        let row = registry::find(name).unwrap();
        let mut event = example::event(row);
        event["data"] = erased.clone();
        assert_eq!(validator(row, Strictness::Strict).is_valid(&event), allowed, "{name}");
    }
}

/// Ways in which the data of an event can be wrong, or unusual.
fn variations(row: &EventType) -> Vec<Value> {
    let whole = example::event(row);
    let mut events = vec![whole.clone()];
    let mut with = |key: &str, value: Option<Value>| {
        let mut event = whole.clone();
        let data = event["data"].as_object_mut().unwrap();
        data.remove(key);
        data.extend(value.map(|value| (key.to_owned(), value)));
        events.push(event);
    };
    with("invented", Some(json!(1)));
    for field in row.all_fields() {
        with(field.name, None);
        let others =
            [json!(null), json!(true), json!(7), json!(-7), json!(0.5), json!("other"), json!({}), json!(["x"])];
        others.into_iter().for_each(|other| with(field.name, Some(other)));
    }
    events
}

#[test]
fn ep_02_the_check_of_writers_says_what_the_schemas_say() {
    for row in registry::all() {
        for strictness in [Strictness::Open, Strictness::Strict, Strictness::Recorded] {
            let validator = validator(row, strictness);
            for event in variations(row) {
                let type_name = event["type"].as_str().unwrap();
                let problems = check::problems(type_name, event["data"].as_object().unwrap(), strictness);
                assert_eq!(problems.is_empty(), validator.is_valid(&event), "{strictness:?} {event}\n{problems:?}");
            }
        }
    }
}
