//! The schemas, held against an example of each type by a validator that is not ours.

use jsonschema::Validator;
use r1_protocol::registry::{self, EventType, Presence};
use r1_protocol::schema::{self, Strictness};
use r1_protocol::{Envelope, check, example};
use serde_json::{Value, json};

use crate::hecate;

fn validator(row: &EventType, strictness: Strictness) -> Validator {
    jsonschema::draft202012::new(&schema::schema(row, strictness)).unwrap()
}

fn most(row: &EventType) -> Value {
    json_of(&example::most(row))
}

fn json_of(envelope: &Envelope) -> Value {
    serde_json::from_slice(&envelope.to_bytes()).unwrap()
}

fn assert_valid(validator: &Validator, event: &Value) {
    let errors: Vec<_> = validator.iter_errors(event).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{event}\n{errors:#?}");
}

#[test]
fn ep_05_the_examples_of_every_type_pass_its_schemas() {
    let foreign = hecate::envelope_schema();
    for row in registry::all() {
        for event in [example::most(row), example::least(row)] {
            assert_eq!(check::envelope_problems(&event), [""; 0]);
            let event = json_of(&event);
            assert_valid(&foreign, &event);
            for strictness in [Strictness::Open, Strictness::Strict, Strictness::Recorded] {
                assert_valid(&validator(row, strictness), &event);
                let any = jsonschema::draft202012::new(&schema::any_envelope(strictness)).unwrap();
                assert_valid(&any, &event);
            }
        }
    }
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
            let mut event = most(row);
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
        let mut event = most(row);
        event["data"]["invented"] = json!(1);
        assert!(validator(row, Strictness::Open).is_valid(&event), "{}", row.name);
        assert!(validator(row, Strictness::Recorded).is_valid(&event), "{}", row.name);
        assert_eq!(validator(row, Strictness::Strict).is_valid(&event), row.open, "{}", row.name);
        let mut event = most(row);
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
        let mut event = most(row);
        event["data"][key] = value;
        assert!(validator(row, Strictness::Open).is_valid(&event), "{key}");
        assert!(!validator(row, Strictness::Strict).is_valid(&event), "{key}");
    }
}

#[test]
fn known_fields_of_another_type_pass_no_schema() {
    let row = registry::find("tool.shell.exited").unwrap();
    let mut event = most(row);
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
        let mut event = most(row);
        event["data"] = erased.clone();
        assert_eq!(validator(row, Strictness::Strict).is_valid(&event), allowed, "{name}");
    }
}

/// Ways in which the data of an event can be wrong, or unusual.
fn variations(row: &EventType) -> Vec<Value> {
    let whole = most(row);
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

/// Ways in which an envelope can be wrong, or unusual.
fn strange_envelopes() -> Vec<Envelope> {
    let whole = example::most(registry::find("external.ci").unwrap());
    let with = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = whole.clone();
        change(&mut envelope);
        envelope
    };
    let ids = ["", "7", "evt_", "evt_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B", "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"];
    let ids = ids.into_iter().chain(["task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B", "chat_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B"]);
    let ids = ids.chain(["run_01k0e8m9zq4t7v2w5x8y1z3a6b", "evt_01K0E8M9ZQ4T7V2W5X8Y1Z3A6I"]);
    let mut envelopes = Vec::new();
    for id in ids {
        envelopes.push(with(&|envelope| envelope.event_id = id.into()));
        envelopes.push(with(&|envelope| envelope.run_id = id.into()));
        envelopes.push(with(&|envelope| envelope.task_id = Some(id.into())));
        envelopes.push(with(&|envelope| envelope.session_id = Some(id.into())));
    }
    envelopes.push(with(&|envelope| (envelope.task_id, envelope.session_id) = (None, None)));
    for sequence in [0, (1 << 53) - 1, 1 << 53, u64::MAX] {
        envelopes.push(with(&|envelope| envelope.sequence = sequence));
    }
    for time in ["", "now", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", "2026-01-01 00:00:00.000000000Z"]
    {
        envelopes.push(with(&|envelope| envelope.occurred_at = time.into()));
    }
    let long = |length: usize| format!("external.{}", "x".repeat(length - 9));
    for name in ["", "one", "a.b", "a..b", ".a", "a.", "A.b", "a.1", "a_1.b2", "a.b-c", &long(128), &long(129)] {
        envelopes.push(with(&|envelope| envelope.type_name = name.into()));
    }
    envelopes
}

#[test]
fn ep_02_the_check_of_envelopes_says_what_the_schemas_say() {
    let strict = jsonschema::draft202012::new(&schema::any_envelope(Strictness::Strict)).unwrap();
    let foreign = hecate::envelope_schema();
    let envelopes = strange_envelopes();
    let fine = envelopes.iter().filter(|envelope| check::envelope_problems(envelope).is_empty()).count();
    assert!(fine > 5 && fine < envelopes.len() / 2, "{fine} of {}", envelopes.len());
    for envelope in envelopes {
        let (problems, json) = (check::envelope_problems(&envelope), json_of(&envelope));
        assert_eq!(problems.is_empty(), strict.is_valid(&json), "{json}\n{problems:?}");
        assert!(!problems.is_empty() || foreign.is_valid(&json), "{json}");
    }
}
