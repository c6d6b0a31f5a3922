//! What Starling itself wrote and said, as facts: bytes, hashes, verdicts.

use bytes::Bytes;
use r1_event::id::from_hex;
use r1_event::{Digest, Record, v1};
use serde_json::Value;

/// One file of the fixtures.
pub(crate) fn load(name: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/starling-v1/");
    let text = std::fs::read_to_string(format!("{path}{name}")).unwrap();
    match serde_json::from_str(&text).unwrap() {
        Value::Array(rows) => rows,
        other => vec![other],
    }
}

/// The text under a key, if it is not null.
pub(crate) fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row[key].as_str()
}

pub(crate) fn hex(value: &Value) -> Bytes {
    from_hex(value.as_str().unwrap()).unwrap().into()
}

pub(crate) fn digest(value: &Value) -> Digest {
    value.as_str().unwrap().parse().unwrap()
}

/// An event given as `[run_id, seq, kind, ts, prev_hash, payload, hash]`.
pub(crate) fn record(row: &Value) -> Record {
    let optional = |value: &Value| value.as_str().map(|text| Bytes::from(from_hex(text).unwrap()));
    let prev_hash = optional(&row[4]);
    let header = v1::Header {
        run_id: row[0].as_str().unwrap(),
        seq: row[1].as_u64().unwrap(),
        kind: u8::try_from(row[2].as_u64().unwrap()).unwrap(),
        ts: row[3].as_i64().unwrap(),
        prev_hash: prev_hash.as_deref(),
    };
    Record { header: header.encode().into(), payload: optional(&row[5]) }
}
