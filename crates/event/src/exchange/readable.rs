//! What an event says, in JSON that people and scripts can read. Nothing is ever read back from it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::cbor::{Rules, Value};
use crate::id::to_hex;
use crate::kind::Kind;
use crate::payload::{self, FieldType};

/// How byte strings are spelled: hashes in hex, as everywhere; content in base64.
#[derive(Clone, Copy)]
enum Spelling {
    Hex,
    Base64,
}

/// A payload as the event protocol's `data`: a Typed event's own, the payload itself for other kinds.
///
/// Bytes that are no CBOR are given as `{"cbor": base64}`.
#[must_use]
pub fn readable_payload(kind: Kind, bytes: &[u8]) -> Json {
    let Ok(value) = Value::decode(bytes, Rules::READABLE) else {
        return serde_json::json!({ "cbor": STANDARD.encode(bytes) });
    };
    if let (Kind::Typed, Some(data)) = (kind, value.get("data")) {
        return to_json(data, Spelling::Base64);
    }
    let Value::Map(entries) = &value else { return to_json(&value, Spelling::Hex) };
    let embedded = |key: &Value| {
        let spec = payload::fields(kind).iter().find(|spec| key.as_text() == Some(spec.name));
        spec.is_none_or(|spec| matches!(spec.field_type, FieldType::Raw))
    };
    let entries = entries.iter().map(|(key, value)| {
        let spelling = if embedded(key) { Spelling::Base64 } else { Spelling::Hex };
        (key_text(key), to_json(value, spelling))
    });
    Json::Object(entries.collect())
}

/// Any CBOR item as JSON, byte strings in hex.
#[must_use]
pub fn readable_value(value: &Value) -> Json {
    to_json(value, Spelling::Hex)
}

fn to_json(value: &Value, spelling: Spelling) -> Json {
    match value {
        Value::Uint(n) => Json::from(*n),
        Value::Nint(n) => i64::try_from(*n).map_or_else(|_| Json::from(diagnostic(value)), |n| Json::from(!n)),
        Value::Bytes(bytes) => match spelling {
            Spelling::Hex => Json::from(to_hex(bytes)),
            Spelling::Base64 => Json::from(STANDARD.encode(bytes)),
        },
        Value::Text(text) => Json::from(text.as_str()),
        Value::Array(items) => items.iter().map(|item| to_json(item, spelling)).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key_text(key), to_json(value, spelling))).collect())
        }
        Value::Tag(_, item) => to_json(item, spelling),
        Value::Bool(value) => Json::from(*value),
        Value::Null | Value::Undefined => Json::Null,
        Value::Simple(_) => Json::from(diagnostic(value)),
        Value::Float(number) if number.is_finite() => Json::from(*number),
        Value::Float(_) => Json::from(diagnostic(value)),
    }
}

fn key_text(key: &Value) -> String {
    key.as_text().map_or_else(|| diagnostic(key), Into::into)
}

/// The item in CBOR's diagnostic notation (RFC 8949 §8).
#[must_use]
pub fn diagnostic(value: &Value) -> String {
    let list = |items: &[Value]| items.iter().map(diagnostic).collect::<Vec<_>>().join(", ");
    match value {
        Value::Uint(n) => n.to_string(),
        Value::Nint(n) => (-1 - i128::from(*n)).to_string(),
        Value::Bytes(bytes) => format!("h'{}'", to_hex(bytes)),
        Value::Text(text) => Json::from(text.as_str()).to_string(),
        Value::Array(items) => format!("[{}]", list(items)),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|(key, value)| format!("{}: {}", diagnostic(key), diagnostic(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Tag(number, item) => format!("{number}({})", diagnostic(item)),
        Value::Bool(value) => value.to_string(),
        Value::Null => "null".into(),
        Value::Undefined => "undefined".into(),
        Value::Simple(n) => format!("simple({n})"),
        Value::Float(number) if number.is_nan() => "NaN".into(),
        Value::Float(number) if number.is_infinite() => if *number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Value::Float(number) => format!("{number:?}"),
    }
}
