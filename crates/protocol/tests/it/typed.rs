//! Typed events: from a struct into the log's bytes and back.

use std::collections::HashSet;

use r1_event::payload::Typed;
use r1_event::{Kind, Payload, UnixNanos, projection};
use r1_protocol::data::{self, EventData, Stream, Time, ToolKind};
use r1_protocol::{json, registry};
use serde_json::json;

fn typed(payload: &Payload) -> Typed {
    let bytes = payload.encode();
    match Payload::decode(Kind::Typed, &bytes).unwrap() {
        Payload::Typed(typed) => typed,
        other => panic!("{other:?} is no Typed event"),
    }
}

#[test]
fn a_struct_comes_back_from_its_payload() {
    let exited = data::ToolShellExited {
        tool_call_id: "call_1".into(),
        exit_code: -1,
        signal: Some("SIGKILL".into()),
        stdout_bytes: 3,
        redacted_paths: Some(vec!["/signal".into()]),
        ..Default::default()
    };
    let event = typed(&exited.to_payload());
    assert_eq!(event.r#type, "tool.shell.exited");
    assert_eq!(data::ToolShellExited::read(&event), Some(exited));
    assert_eq!(data::ToolShellCommand::read(&event), None, "another type");
}

#[test]
fn optional_fields_are_left_out_and_nullable_ones_written_as_null() {
    let requested = data::ApprovalRequested { approval_id: "appr_1".into(), ..Default::default() };
    let event = typed(&requested.to_payload());
    let written = json::from_cbor(&event.data.value().unwrap());
    assert_eq!(
        written,
        json!({
            "approval_id": "appr_1", "kind": "", "summary": "", "policy_reason": "", "subject_hash": "",
            "expires_at": null, "scopes": [],
        })
    );
}

#[test]
fn words_and_keys_that_are_unknown_do_not_stop_reading() {
    let event = data::typed(
        "tool.shell.output_chunk",
        &json!({ "tool_call_id": "c", "stream": "fd3", "data": "x", "byte_offset": 0, "later": 1 }),
    );
    let chunk = data::ToolShellOutputChunk::read(&event).unwrap();
    assert_eq!(chunk.stream, Stream::Other("fd3".into()));
    assert_eq!(chunk.stream.as_str(), "fd3");
}

#[test]
fn a_field_of_another_type_is_not_read_as_something_else() {
    let event = data::typed("tool.shell.output_chunk", &json!({ "tool_call_id": "c", "byte_offset": "zero" }));
    assert_eq!(data::ToolShellOutputChunk::read(&event), None);
}

#[test]
fn times_are_stored_as_text_of_nine_digits() {
    let started = data::RunStarted { lease_until: UnixNanos(1).into(), ..Default::default() };
    let event = typed(&started.to_payload());
    let stored = event.data.value().unwrap();
    assert_eq!(stored.get("lease_until").unwrap().as_text(), Some("1970-01-01T00:00:00.000000001Z"));
    assert_eq!(data::RunStarted::read(&event).unwrap().lease_until, Time::from(UnixNanos(1)));
}

#[test]
fn there_are_seventeen_kinds_of_tools() {
    assert_eq!(ToolKind::WORDS.len(), 17);
    for word in ToolKind::WORDS {
        assert_ne!(ToolKind::from(*word), ToolKind::Other((*word).into()));
    }
}

#[test]
fn every_row_has_a_valid_name_of_its_own_and_a_summary() {
    let mut names = HashSet::new();
    for row in registry::all() {
        let name = row.name.strip_suffix(".*").unwrap_or(row.name);
        let is_word = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
        };
        assert!(name.split('.').all(is_word), "{name}");
        assert!(row.is_family() || name.contains('.'), "{name}");
        assert!(names.insert(row.name), "{name} is there twice");
        assert!(!row.summary.is_empty(), "{name}");
        let mut keys = HashSet::new();
        assert!(row.fields.iter().all(|field| keys.insert(field.name)), "{name} has a key twice");
    }
}

#[test]
fn rows_and_the_log_agree_on_which_kind_a_type_has() {
    for row in registry::all() {
        match projection::reserved_for(row.name) {
            Some(kind) => assert_eq!(row.kinds, [kind], "{}", row.name),
            None => assert!(row.kinds.contains(&Kind::Typed) || row.kinds == [Kind::RunStarted], "{}", row.name),
        }
    }
    for kind in Kind::NAMED {
        assert!(registry::all().any(|row| row.kinds.contains(kind)), "{kind}");
    }
}

#[test]
fn a_type_is_found_by_its_name_or_its_family() {
    let found = |name: &str| registry::find(name).map(|row| row.name);
    assert_eq!(found("turn.started"), Some("turn.started"));
    assert_eq!(found("external.ci.failed"), Some("external.*"));
    assert_eq!(found("external."), None);
    assert_eq!(found("turn.invented"), None);
}
