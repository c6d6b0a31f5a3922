//! Events of another producer of the same protocol, in both of its dialects.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use r1_protocol::data::Object;
use r1_protocol::dialect::{from_model_call, to_model_call};
use r1_protocol::registry;
use r1_protocol::schema::{self, Strictness};
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hecate");

/// The schema that it publishes for every envelope.
pub(crate) fn envelope_schema() -> Validator {
    let text = fs::read_to_string(Path::new(FOLDER).join("envelope.schema.json")).unwrap();
    let schema = serde_json::from_str(&text).unwrap();
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap()
}

fn events(dialect: &str) -> Vec<Value> {
    let files = fs::read_dir(Path::new(FOLDER).join(dialect)).unwrap();
    let read = |path: &Path| serde_json::from_str::<Vec<Value>>(&fs::read_to_string(path).unwrap()).unwrap();
    files.flat_map(|file| read(&file.unwrap().path())).collect()
}

fn renamed(event: &Value, rename: fn(&mut String, &mut Object)) -> Value {
    let mut event = event.clone();
    let mut type_name = event["type"].as_str().unwrap().to_owned();
    let data = event["data"].as_object_mut().unwrap();
    rename(&mut type_name, data);
    event["type"] = type_name.into();
    event
}

fn assert_open(event: &Value) {
    let row = registry::find(event["type"].as_str().unwrap()).unwrap_or_else(|| panic!("unknown: {event}"));
    for schema in [schema::schema(row, Strictness::Open), schema::any_envelope(Strictness::Open)] {
        let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap();
        let errors: Vec<_> = validator.iter_errors(event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{event}\n{errors:#?}");
    }
}

#[test]
fn ep_01_events_of_another_producer_pass_the_open_schemas_in_both_dialects() {
    let (turns, calls) = (events("turn"), events("model_call"));
    assert!(turns.len() > 25 && calls.iter().any(|event| event["type"] == "model.call.failed"));
    turns.iter().for_each(assert_open);
    calls.iter().map(|event| renamed(event, from_model_call)).for_each(|event| assert_open(&event));
}

#[test]
fn ep_01_renaming_there_and_back_changes_nothing() {
    for event in events("turn") {
        assert_eq!(renamed(&renamed(&event, to_model_call), from_model_call), event);
    }
    for event in events("model_call") {
        assert_eq!(renamed(&renamed(&event, from_model_call), to_model_call), event);
    }
}

#[test]
fn ep_01_its_own_envelope_schema_accepts_both_dialects() {
    let schema = envelope_schema();
    for event in events("turn").iter().chain(&events("model_call")) {
        assert!(schema.is_valid(event), "{event}");
        assert!(schema.is_valid(&renamed(event, to_model_call)), "{event}");
        assert!(schema.is_valid(&renamed(event, from_model_call)), "{event}");
    }
}
