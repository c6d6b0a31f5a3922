//! Logs of Starling, served here.

use bytes::Bytes;
use r1_event::cbor::Rules;
use r1_event::id::from_hex;
use r1_event::{Kind, Record, v1};
use r1_protocol::schema::{self, Strictness};
use r1_protocol::{Envelope, RunFacts, Thinking, check, registry};
use serde_json::{Value, json};

use crate::hecate;

/// The runs that Starling itself wrote.
pub(crate) fn runs() -> Vec<(String, Vec<Record>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../event/tests/fixtures/starling-v1/runs.json");
    let runs: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let record = |event: &Value| {
        let bytes = Bytes::from(from_hex(event["cbor"].as_str().unwrap()).unwrap());
        v1::Envelope::decode(&bytes, Rules::WRITABLE).unwrap().record
    };
    let run = |run: &Value| {
        let records = run["events"].as_array().unwrap().iter().map(record).collect();
        (run["name"].as_str().unwrap().to_owned(), records)
    };
    runs.iter().map(run).collect()
}

fn served(records: &[Record]) -> Vec<Envelope> {
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    records.iter().map(|record| facts.envelope(record, None, Thinking::Shown).unwrap()).collect()
}

fn run(name: &str) -> Vec<Envelope> {
    let (_, records) = runs().into_iter().find(|(run, _)| run == name).unwrap();
    served(&records)
}

/// Whether R1's own fields hold a float. What a tool or model was given and gave may hold any.
fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(entries) => {
            let foreign = ["input", "output", "value", "args"];
            entries.iter().any(|(key, value)| !foreign.contains(&key.as_str()) && has_float(value))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[test]
fn ep_30_every_v1_event_is_served_as_one_valid_envelope_without_floats() {
    let foreign = hecate::envelope_schema();
    for (name, records) in runs() {
        let envelopes = served(&records);
        assert_eq!(envelopes.len(), records.len(), "{name}");
        for (index, envelope) in envelopes.iter().enumerate() {
            assert_eq!(envelope.sequence, index as u64, "{name}");
            assert_eq!(envelope.run_id, envelopes[0].run_id, "{name}");
            assert_eq!(envelope.session_id, None, "{name}");
            let json: Value = serde_json::from_slice(&envelope.to_bytes()).unwrap();
            assert!(!has_float(&json["data"]), "{name}: {json}");
            assert!(foreign.is_valid(&json), "{name}: {json}");
            assert_eq!(check::envelope_problems(envelope), [""; 0], "{name}: {json}");
            // Nested deeper than Starling itself can read: served as bytes.
            if (name.contains("_deep_") || name.contains("_depth_")) && envelope.data.contains_key("cbor") {
                continue;
            }
            let Some(row) = registry::find(&envelope.type_name) else {
                assert!(envelope.type_name.starts_with("log.kind_"), "{name}: {json}");
                continue;
            };
            let schema = schema::schema(row, Strictness::Recorded);
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {json}\n{errors:#?}");
        }
    }
}

#[test]
fn ep_30_a_v1_run_reads_like_any_other() {
    let lines: Vec<_> = run("02_parallel_tools_full_metadata")
        .iter()
        .map(|envelope| String::from_utf8(envelope.to_bytes()).unwrap())
        .collect();
    insta::assert_snapshot!("v1_run", lines.join("\n"));
}

#[test]
fn ep_30_a_run_id_that_is_no_ulid_is_told_with_event_0() {
    let envelopes = run("03_unicode_namespace");
    let source = envelopes[0].data["source_run_id"].as_str().unwrap();
    assert!(source.contains('/'), "{source}");
    assert_eq!(envelopes[0].run_id, format!("run_{}", source.rsplit('/').next().unwrap()));
    assert!(envelopes[1..].iter().all(|envelope| !envelope.data.contains_key("source_run_id")));
    assert!(!run("01_hello_text")[0].data.contains_key("source_run_id"), "a ULID says it all");
}

#[test]
fn money_in_floats_becomes_whole_micro_dollars() {
    let header = v1::Header { run_id: "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B", seq: 2, prev_hash: None, ts: 0, kind: 10 };
    let payload = r1_event::Payload::BudgetExceeded(r1_event::payload::BudgetExceeded {
        limit: "usd".into(),
        cap: 0.000_002_5,
        actual: 1.000_000_4,
        r#where: "post_call".into(),
        ..Default::default()
    });
    assert_eq!(payload.kind(), Kind::BudgetExceeded);
    let record = Record { header: header.encode().into(), payload: Some(payload.encode()) };
    let facts = RunFacts::of_first(&record, None).unwrap();
    let envelope = facts.envelope(&record, None, Thinking::Hidden).unwrap();
    assert_eq!(
        Value::from(envelope.data),
        json!({ "limit": "usd", "cap": 2, "actual": 1_000_000, "where": "post_call" })
    );
}
