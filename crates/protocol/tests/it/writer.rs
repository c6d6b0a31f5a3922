//! The short way from a stored event to its bytes gives what the long way does.

use bytes::Bytes;
use proptest::prelude::*;
use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, ContextTruncated, ReasoningEmitted, RunCancelled, RunCompleted,
    RunFailed, RunResumed, RunStarted, SideEffectRecorded, ToolCallCompleted, ToolCallFailed, ToolCallScheduled,
    TurnFailed, TurnStarted, Typed, UserMessageAppended,
};
use r1_event::side_record::{Erase, EventRef};
use r1_event::{Batch, Chain, Digest, Payload, Record, Seq, UnixNanos};
use r1_protocol::dialect::Dialect;
use r1_protocol::{EnvelopeWriter, RunFacts, Thinking, View, data, example, json, registry};
use serde_json::{Value, json};

const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

fn log(payloads: impl IntoIterator<Item = Payload>) -> Vec<Record> {
    let first = RunStarted { task_id: Some("task \"é\" \n".into()), ..RunStarted::default() };
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    for (index, payload) in std::iter::once(Payload::RunStarted(Box::new(first))).chain(payloads).enumerate() {
        batch.push(UnixNanos(1_777_000_000_000_000_000 + index as i64 * 1_000_001), payload).unwrap();
    }
    batch.records().to_vec()
}

/// Writes each event both ways, in every view.
fn same_either_way(records: &[Record], erased: Option<&Erase>) {
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    let writer = EnvelopeWriter::new(facts.clone());
    for thinking in [Thinking::Shown, Thinking::Hidden] {
        for dialect in [Dialect::Turn, Dialect::ModelCall] {
            let mut out = Vec::new();
            for record in records {
                let start = out.len();
                let written = writer.write(&mut out, record, erased, View { thinking, dialect }).unwrap();
                let mut envelope = facts.envelope(record, erased, thinking).unwrap();
                assert_eq!(written.type_name, envelope.type_name);
                assert_eq!(Some(written.type_name), EnvelopeWriter::type_of(record, erased));
                assert_eq!(written.sequence, envelope.sequence);
                dialect.apply(&mut envelope);
                assert_eq!(dialect.name_of(&envelope.type_name), envelope.type_name);
                let (short, long) = (&out[start..], envelope.to_bytes());
                assert_eq!(String::from_utf8_lossy(short), String::from_utf8_lossy(&long));
            }
        }
    }
}

fn typed(type_name: &str, value: &Value) -> Payload {
    Payload::Typed(data::typed(type_name, value))
}

#[test]
fn of_every_type() {
    let rows = registry::all().filter(|row| r1_event::projection::reserved_for(row.name).is_none());
    let typed = rows.map(|row| typed(&row.name.replace('*', "example"), &Value::Object(example::most(row).data)));
    same_either_way(&log(typed), None);
    same_either_way(&log([typed_odd("external.odd")]), None);
}

/// A Typed event with what JSON cannot say plainly, and with keys beside its two.
fn typed_odd(type_name: &str) -> Payload {
    use r1_event::cbor::Value as Cbor;
    let odd = Cbor::Map(vec![
        (Cbor::Uint(1), Cbor::Float(f64::NAN)),
        (Cbor::text("b"), Cbor::Bytes(vec![1, 2, 255])),
        (Cbor::text("n"), Cbor::Nint(u64::MAX)),
        (Cbor::text("t"), Cbor::Tag(1, Box::new(Cbor::Simple(7)))),
    ]);
    let mut event = Typed { r#type: type_name.into(), data: (&odd).into(), ..Typed::default() };
    event.extra.set("later", json::to_raw(&json!(1)));
    Payload::Typed(event)
}

#[test]
fn of_every_kind() {
    same_either_way(
        &log([
            Payload::UserMessageAppended(UserMessageAppended::default()),
            Payload::TurnStarted(TurnStarted { turn_index: Some(3), ..TurnStarted::default() }),
            Payload::ReasoningEmitted(ReasoningEmitted { turn_index: Some(3), ..ReasoningEmitted::default() }),
            Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
                cost_usd: 0.25,
                turn_index: Some(3),
                ..AssistantMessageCompleted::default()
            })),
            Payload::ToolCallScheduled(ToolCallScheduled::default()),
            Payload::ToolCallCompleted(ToolCallCompleted {
                result: json::to_raw(&json!({ "z": 1.5, "a": "é" })),
                ..ToolCallCompleted::default()
            }),
            Payload::ToolCallFailed(ToolCallFailed { error_type: "timeout".into(), ..ToolCallFailed::default() }),
            Payload::SideEffectRecorded(SideEffectRecorded::default()),
            Payload::BudgetExceeded(BudgetExceeded::default()),
            Payload::ContextTruncated(ContextTruncated::default()),
            Payload::RunResumed(RunResumed { at_seq: 4, ..RunResumed::default() }),
            Payload::TurnFailed(TurnFailed { turn_index: Some(0), ..TurnFailed::default() }),
            Payload::Other(200, Bytes::from_static(b"\xa1\x61a\x01")),
            Payload::RunCompleted(RunCompleted::default()),
        ]),
        None,
    );
    same_either_way(&log([Payload::RunFailed(RunFailed::default())]), None);
    same_either_way(&log([Payload::RunCancelled(RunCancelled::default())]), None);
}

#[test]
fn of_what_was_erased() {
    let mut records = log([typed("external.a", &json!({})), Payload::TurnStarted(TurnStarted::default())]);
    for record in &mut records[1..] {
        record.payload = None;
    }
    let redaction = EventRef {
        run_id: RUN.parse().unwrap(),
        seq: Seq::new(9).unwrap(),
        ts: UnixNanos(1_777_000_000_000_000_000),
        hash: Digest::blake3(b"redaction"),
    };
    let erase = Erase {
        run_id: RUN.parse().unwrap(),
        seq: Seq::new(2).unwrap(),
        type_name: "external.a".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction,
    };
    same_either_way(&records, Some(&erase));
    same_either_way(&records, None);
}

proptest! {
    #[test]
    fn of_any_data(
        type_name in "[a-z]{1,8}(\\.[a-z_]{1,8}){1,2}",
        keys in prop::collection::vec(".{0,12}", 0..8),
        text in ".{0,60}",
        number in any::<i64>(),
        float in any::<f64>(),
        nanos in any::<i64>(),
    ) {
        let mut object = serde_json::Map::new();
        for (index, key) in keys.into_iter().enumerate() {
            let value = match index % 4 {
                0 => json!(text),
                1 => json!(number),
                2 => json!(float),
                _ => json!({ "turn_index": 1, "b": [text, number] }),
            };
            object.insert(key, value);
        }
        let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
        batch.push(UnixNanos(nanos), Payload::RunStarted(Box::default())).unwrap();
        batch.push(UnixNanos(nanos), typed(&type_name, &Value::Object(object))).unwrap();
        same_either_way(batch.records(), None);
    }
}
