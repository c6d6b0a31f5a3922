//! A payload holds what its kind says.

use r1_event::cbor::Value;
use r1_event::payload::{FieldType, Payload, fields};
use r1_event::{Batch, Chain, Header, Kind, Record, UnixNanos};

use crate::sample::{RUN, check, codes, log_of, options, started};

/// A log whose second event has this payload, whatever it is.
fn log_with(kind: Kind, payload: &Value) -> Vec<Record> {
    let (mut records, chain) = log_of(vec![started()]);
    let bytes = payload.encode();
    let header = Header {
        run_id: RUN,
        seq: chain.next_seq(),
        prev_hash: chain.head(),
        ts: UnixNanos(1_777_000_000_001_000_000),
        kind,
        payload_hash: r1_event::Digest::blake3(&bytes),
        payload_size: bytes.len() as u64,
    };
    records.push(Record { header: header.encode().into(), payload: Some(bytes.into()) });
    records
}

fn codes_of(kind: Kind, payload: &Value) -> Vec<&'static str> {
    codes(&check(&log_with(kind, payload), options(Vec::new())))
}

#[test]
fn log_09_the_data_of_a_typed_event_is_a_map() {
    let typed = |data: Option<Value>| {
        let data = data.map(|data| ("data", data));
        Value::object([("type", Value::text("a.b"))].into_iter().chain(data))
    };
    assert_eq!(codes_of(Kind::Typed, &typed(Some(Value::object::<&str>([])))), Vec::<&str>::new());
    for data in [Some(Value::Uint(1)), Some(Value::Array(vec![Value::Uint(1)])), Some(Value::Null), None] {
        let verdict = check(&log_with(Kind::Typed, &typed(data.clone())), options(Vec::new()));
        assert_eq!((codes(&verdict), verdict.is_corrupt()), (vec!["payload_unreadable"], true), "{data:?}");
        assert_eq!(verdict.findings[0].seq, Some(2));
    }
}

#[test]
fn log_09_every_known_key_holds_what_its_kind_says() {
    let others = |field_type| match field_type {
        FieldType::Raw => Vec::new(),
        FieldType::Text => vec![Value::Uint(1), Value::Bytes(vec![1])],
        FieldType::Uint(bits) if bits < 64 => vec![Value::text("1"), Value::Uint(1 << bits)],
        FieldType::Bool | FieldType::Uint(_) | FieldType::Int | FieldType::Float => vec![Value::text("1")],
        FieldType::Bytes | FieldType::List(_) | FieldType::Struct(_) => vec![Value::text("1"), Value::Uint(1)],
    };
    for number in 2..=17 {
        let kind = Kind::from_number(number);
        for spec in fields(kind) {
            for wrong in others(spec.field_type) {
                let found = codes_of(kind, &Value::object([(spec.name, wrong.clone())]));
                assert!(found.contains(&"payload_unreadable"), "{kind} {}: {wrong:?}: {found:?}", spec.name);
            }
            // Null stands for nothing in every key.
            if matches!(kind, Kind::UserMessageAppended | Kind::ReasoningEmitted | Kind::SideEffectRecorded) {
                assert_eq!(codes_of(kind, &Value::object([(spec.name, Value::Null)])), Vec::<&str>::new());
            }
        }
    }
    let unknown = Value::object([("content", Value::text("x")), ("later", Value::Array(Vec::new()))]);
    assert_eq!(codes_of(Kind::UserMessageAppended, &unknown), Vec::<&str>::new(), "keys of newer writers are theirs");
}

#[test]
fn log_10_a_typed_event_without_a_map_of_data_is_refused_before_it_is_written() {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    batch.push(UnixNanos(0), started()).unwrap();
    let err = batch.push(UnixNanos(0), crate::sample::typed("a.b", Value::Uint(1))).unwrap_err();
    let source = std::error::Error::source(&err).unwrap().to_string();
    assert_eq!(source, "the data of `a.b` is not a map");
    let adopted = log_with(Kind::Typed, &Value::object([("type", Value::text("a.b")), ("data", Value::Null)]));
    let mut copy = Batch::new(&Chain::new(RUN.parse().unwrap()));
    copy.adopt(adopted[0].clone()).unwrap();
    assert!(copy.adopt(adopted[1].clone()).is_err());
    assert_eq!((batch.records().len(), copy.records().len()), (1, 1));
    assert!(matches!(Payload::decode(Kind::Typed, adopted[1].payload.as_ref().unwrap()), Ok(Payload::Typed(_))));
}
