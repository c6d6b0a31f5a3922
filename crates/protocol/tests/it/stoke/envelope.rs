//! The envelope, and the reader of lines.

use proptest::prelude::*;
use r1_event::{Digest, UnixNanos};
use r1_protocol::canonical;
use r1_protocol::data::Object;
use r1_protocol::stoke::{Origin, ReadError, Stamp, read, stoke_line};
use serde_json::{Value, json};

const ENVELOPE: [&str; 9] =
    ["type", "ts", "uuid", "session_id", "stoke_version", "instance_id", "trace_parent", "ledger_node_id", "seq"];

fn origin() -> Origin {
    Origin {
        session_id: "0197e48a-27f7-4276-8d8a-5ad4fb5c51eb".into(),
        instance_id: Some("r1-00000001".into()),
        trace_parent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
    }
}

fn stamp() -> Stamp {
    Stamp {
        ts: UnixNanos(1_777_000_000_123_456_000),
        seq: 7,
        hash: Digest::blake3(b"an event"),
        ledger_node_id: Some(format!("node-sha256-{}", "ab".repeat(32))),
    }
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("no object: {value}") };
    object
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\u{80}-\u{9f}\u{2020}-\u{2030}\n\"]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_key(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => ".{0,8}",
        2 => prop::sample::select(ENVELOPE.to_vec()).prop_map(String::from),
        1 => Just("data".to_owned()),
        1 => "_stoke\\.dev/[a-z]{0,4}",
    ]
}

fn any_body() -> impl Strategy<Value = Object> {
    prop::collection::vec((any_key(), any_json()), 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

/// Numbers have one spelling, so a value is compared as it is written.
fn spelled(value: &Object) -> String {
    let mut out = Vec::new();
    canonical::write_object(&mut out, value);
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn stoke_03_no_body_changes_the_envelope_and_every_body_is_read_back(body in any_body()) {
        let bare: Value = serde_json::from_slice(&stoke_line(&origin(), &stamp(), 3, "stoke.t", Object::new())).unwrap();
        let line = stoke_line(&origin(), &stamp(), 3, "stoke.t", body.clone());
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let text = std::str::from_utf8(&line).unwrap();
        prop_assert_eq!(text.trim_end_matches('\n').lines().count(), 1);
        let ends_a_line = text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
        prop_assert!(!ends_a_line);
        let written: Value = serde_json::from_slice(&line).unwrap();
        for key in ENVELOPE {
            prop_assert_eq!(&written[key], &bare[key]);
        }
        let read = read(&line).unwrap();
        prop_assert_eq!(spelled(&read.body), spelled(&body));
    }

    #[test]
    fn stoke_03_a_flat_body_and_a_nested_one_read_the_same(body in any_body()) {
        let plain: Object = body.into_iter().filter(|(key, _)| {
            !ENVELOPE.contains(&key.as_str()) && key != "data" && !key.starts_with("_stoke.dev/")
        }).collect();
        let flat = stoke_line(&origin(), &stamp(), 0, "stoke.t", plain.clone());
        let mut nested = object(serde_json::from_slice(&flat).unwrap());
        plain.keys().for_each(|key| drop(nested.remove(key)));
        nested.insert("data".into(), plain.into());
        let nested = serde_json::to_vec(&nested).unwrap();
        prop_assert_eq!(read(&flat).unwrap(), read(&nested).unwrap());
    }

    #[test]
    fn stoke_03_any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>(), value in any_json()) {
        let _ = read(&bytes);
        let _ = read(value.to_string().as_bytes());
    }
}

#[test]
fn stoke_01_each_key_of_the_envelope_that_may_be_absent_is() {
    let line = |origin: &Origin, stamp: &Stamp| {
        object(serde_json::from_slice(&stoke_line(origin, stamp, 0, "stoke.t", Object::new())).unwrap())
    };
    let whole = line(&origin(), &stamp());
    assert_eq!(whole.len(), ENVELOPE.len());
    let absent = [
        ("instance_id", line(&Origin { instance_id: None, ..origin() }, &stamp())),
        ("trace_parent", line(&Origin { trace_parent: None, ..origin() }, &stamp())),
        ("ledger_node_id", line(&origin(), &Stamp { ledger_node_id: None, ..stamp() })),
    ];
    for (key, line) in absent {
        let expected: Object = whole.clone().into_iter().filter(|(other, _)| other != key).collect();
        assert_eq!(line, expected);
    }
}

#[test]
fn stoke_03_a_line_of_another_time_is_read_as_far_as_it_can_be() {
    let foreign = br#"{"type":"stoke.of.tomorrow","ts":"2026-04-20T23:05:32+02:00","stoke_version":"1.7","new":1,
        "data":{"ac_id":"a"},"_stoke.dev/x":2}"#;
    let line = read(foreign).unwrap();
    assert_eq!((line.type_name.as_str(), line.uuid, line.seq), ("stoke.of.tomorrow", None, None));
    assert_eq!(line.body, object(json!({ "ac_id": "a" })));
    let claude = read(br#"{"type":"assistant","session_id":"s","message":{"role":"assistant"}}"#).unwrap();
    assert_eq!((claude.stoke_version, claude.body.contains_key("message")), (None, true));
}

#[test]
fn stoke_03_another_major_version_is_refused_by_its_name() {
    for version in ["2.0", "0.9", "10.1", ""] {
        let line = json!({ "type": "stoke.t", "stoke_version": version }).to_string();
        match read(line.as_bytes()) {
            Err(ReadError::OtherMajor { version: named }) => assert_eq!(named, version),
            other => panic!("{other:?}"),
        }
    }
    let wrong = [
        ("[]", "not a JSON object"),
        ("{}", "no `type`"),
        ("{", "not JSON"),
        (r#"{"type":"t","ts":"yesterday"}"#, "`ts`"),
        (r#"{"type":"t","seq":-1}"#, "`seq`"),
        (r#"{"type":"t","data":[]}"#, "`data`"),
    ];
    for (line, why) in wrong {
        let err = read(line.as_bytes()).unwrap_err().to_string();
        assert!(err.contains(why), "{line}: {err}");
    }
}
