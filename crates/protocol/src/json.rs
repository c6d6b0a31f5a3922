//! JSON as CBOR, and CBOR as JSON.
//!
//! What came from JSON goes back unchanged. The other way some of CBOR has no JSON: byte strings become
//! base64, numbers that are none become their names, and a key that is no text its diagnostic notation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::cbor::Value as Cbor;
use r1_event::exchange::diagnostic;
use r1_event::payload::Raw;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value as Json};

/// Anything that has a JSON form, as it is kept in a log.
#[must_use]
pub fn to_raw<T: Serialize>(value: &T) -> Raw {
    // What R1 keeps are structs of text, numbers and JSON values: there is nothing that could fail.
    Raw::from(&to_cbor(&serde_json::to_value(value).unwrap_or_default()))
}

/// What a log keeps, as JSON; null if it cannot be read.
#[must_use]
pub fn from_raw(raw: &Raw) -> Json {
    raw.value().map_or(Json::Null, |value| from_cbor(&value))
}

/// What a log keeps, as `T`, if it is one.
#[must_use]
pub fn read<T: DeserializeOwned>(raw: &Raw) -> Option<T> {
    serde_json::from_value(from_raw(raw)).ok()
}

/// A JSON value as CBOR.
#[must_use]
pub fn to_cbor(value: &Json) -> Cbor {
    match value {
        Json::Null => Cbor::Null,
        Json::Bool(value) => Cbor::Bool(*value),
        Json::Number(number) => number_to_cbor(number),
        Json::String(text) => Cbor::text(text),
        Json::Array(items) => Cbor::Array(items.iter().map(to_cbor).collect()),
        Json::Object(entries) => Cbor::object(entries.iter().map(|(key, value)| (key.as_str(), to_cbor(value)))),
    }
}

fn number_to_cbor(number: &Number) -> Cbor {
    if let Some(n) = number.as_u64() {
        Cbor::Uint(n)
    } else if let Some(n) = number.as_i64() {
        Cbor::int(n)
    } else {
        number.as_f64().map_or(Cbor::Null, Cbor::Float)
    }
}

/// A CBOR item as JSON.
#[must_use]
pub fn from_cbor(value: &Cbor) -> Json {
    match value {
        Cbor::Uint(n) => Json::from(*n),
        Cbor::Nint(n) => i64::try_from(*n).map_or_else(|_| Json::from(diagnostic(value)), |n| Json::from(!n)),
        Cbor::Bytes(bytes) => Json::from(STANDARD.encode(bytes)),
        Cbor::Text(text) => Json::from(text.as_str()),
        Cbor::Array(items) => items.iter().map(from_cbor).collect(),
        Cbor::Map(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key_text(key), from_cbor(value))).collect())
        }
        Cbor::Tag(_, item) => from_cbor(item),
        Cbor::Bool(value) => Json::from(*value),
        Cbor::Null | Cbor::Undefined => Json::Null,
        Cbor::Simple(_) => Json::from(diagnostic(value)),
        Cbor::Float(number) => Number::from_f64(*number).map_or_else(|| Json::from(diagnostic(value)), Json::Number),
    }
}

/// A map's key as JSON spells it.
#[must_use]
pub fn key_text(key: &Cbor) -> String {
    key.as_text().map_or_else(|| diagnostic(key), Into::into)
}
