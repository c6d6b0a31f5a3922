//! Payloads as JSON, the way Starling exports them: bytes and raw CBOR in base64.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Map, Number, Value as Json};

use super::examine::read_leniently;
use super::fields::Fields;
use super::kind::KindName;
use super::table::{Field, Shape, Table};
use crate::cbor::{Reader, Rules, Value, scan, write};

/// A payload as JSON.
pub fn payload_to_json(kind: u8, payload: Option<&Bytes>) -> Result<Json, PayloadJsonError> {
    let table = Table::of(kind).ok_or(PayloadJsonError::NoTable { kind: KindName(kind) })?;
    let bytes = payload.cloned().unwrap_or_default();
    let fields = match Fields::read(table, &bytes) {
        Some(fields) => fields,
        None => read_leniently(table, &bytes, Rules::WELL_FORMED)
            .map_err(|why| PayloadJsonError::Unreadable { kind: KindName(kind), why: why.to_string() })?,
    };
    Ok(object(&fields))
}

/// Payload bytes from what [`payload_to_json`] gave, given as the CBOR of that JSON.
pub(super) fn payload_from_json(kind: u8, json: &Value) -> Result<Vec<u8>, PayloadJsonError> {
    let table = Table::of(kind).ok_or(PayloadJsonError::NoTable { kind: KindName(kind) })?;
    let mut out = Vec::new();
    write_map(table, json, &mut out)?;
    Ok(out)
}

/// Why a payload has no JSON form, or a JSON form no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadJsonError {
    /// Starling has no payload for the kind, and cannot export it either.
    #[error("the payload of {kind} cannot be converted: its keys are not known")]
    NoTable {
        /// The kind.
        kind: KindName,
    },
    /// The payload cannot be read.
    #[error("the payload of {kind} cannot be read: {why}")]
    Unreadable {
        /// The kind.
        kind: KindName,
        /// Why.
        why: String,
    },
    /// Not a JSON object.
    #[error("a payload has to be a JSON object")]
    NotAnObject,
    /// A key whose CBOR form is not known.
    #[error("the key `{key}` is not known, so the payload cannot be rebuilt")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A value that its key cannot hold.
    #[error("`{key}` does not hold what it should")]
    Value {
        /// The key.
        key: &'static str,
    },
}

fn object(fields: &Fields) -> Json {
    let mut object = Map::new();
    for (position, field) in fields.table().fields.iter().enumerate() {
        let value = match fields.item_at(position) {
            Some(item) => value(fields, position, item),
            None if field.optional => continue,
            None => zero(&field.shape),
        };
        if !(field.optional && is_zero(&field.shape, &value)) {
            object.insert(field.name.to_owned(), value);
        }
    }
    Json::Object(object)
}

fn value(fields: &Fields, position: usize, item: &[u8]) -> Json {
    let Field { name, shape, .. } = &fields.table().fields[position];
    match shape {
        Shape::Bool => Json::Bool(fields.bool(name)),
        Shape::Uint(_) => fields.uint(name).into(),
        Shape::Int => fields.int(name).into(),
        Shape::Float => Reader::new(item).head().map_or(Json::Null, |head| float(scan::float_value(head))),
        Shape::Text => String::from_utf8_lossy(fields.text(name)).into(),
        Shape::Bytes => fields.bytes(name).map_or(Json::Null, base64_text),
        Shape::Raw => base64_text(item),
        Shape::List(_) if item == [write::NULL] => Json::Null,
        Shape::List(_) => fields.list(name).iter().map(object).collect(),
        Shape::Struct(_) => fields.nested(position).as_ref().map_or(Json::Null, object),
    }
}

fn base64_text(bytes: &[u8]) -> Json {
    BASE64_STANDARD.encode(bytes).into()
}

/// A whole number is written without a fraction; JSON has no word for the rest.
fn float(value: f64) -> Json {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2⁶³")]
    if value.fract() == 0.0 && value.abs() < 9.2e18 && value.to_bits() != (-0.0_f64).to_bits() {
        return Json::from(value as i64);
    }
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "+Inf".into(),
        None => "-Inf".into(),
    }
}

fn zero(shape: &Shape) -> Json {
    match shape {
        Shape::Bool => Json::Bool(false),
        Shape::Uint(_) | Shape::Int | Shape::Float => 0.into(),
        Shape::Text => "".into(),
        Shape::Bytes | Shape::Raw | Shape::List(_) | Shape::Struct(_) => Json::Null,
    }
}

fn is_zero(shape: &Shape, value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        // A limit of nothing is still a limit that was given.
        Json::Object(_) => !matches!(shape, Shape::Struct(_)),
    }
}

fn write_map(table: &'static Table, json: &Value, out: &mut Vec<u8>) -> Result<(), PayloadJsonError> {
    let Value::Map(entries) = json else { return Err(PayloadJsonError::NotAnObject) };
    for (key, _) in entries {
        let key = key.as_text().unwrap_or_default();
        if table.position(key).is_none() {
            return Err(PayloadJsonError::UnknownKey { key: key.to_owned() });
        }
    }
    let present: Vec<_> = table
        .fields
        .iter()
        .filter_map(|field| match json.get(field.name) {
            None if field.optional => None,
            found => Some((field, found.unwrap_or(&Value::Null))),
        })
        .collect();
    write::map(out, present.len());
    for (field, value) in present {
        out.extend_from_slice(&field.key);
        write_value(field, value, out)?;
    }
    Ok(())
}

fn write_value(field: &'static Field, value: &Value, out: &mut Vec<u8>) -> Result<(), PayloadJsonError> {
    let wrong = || PayloadJsonError::Value { key: field.name };
    match (&field.shape, value) {
        (Shape::Bool, Value::Bool(value)) => write::bool(out, *value),
        (Shape::Bool, Value::Null) => write::bool(out, false),
        (Shape::Uint(bits), value) => {
            let n = whole(value).and_then(|n| u64::try_from(n).ok()).ok_or_else(wrong)?;
            if *bits < 64 && n >> bits != 0 {
                return Err(wrong());
            }
            write::uint(out, n);
        }
        (Shape::Int, value) => {
            write::int(out, whole(value).and_then(|n| i64::try_from(n).ok()).ok_or_else(wrong)?);
        }
        (Shape::Float, value) => write::float(out, number(value).ok_or_else(wrong)?),
        (Shape::Text, Value::Text(text)) => write::text(out, text),
        (Shape::Text, Value::Null) => write::text(out, ""),
        (Shape::Bytes | Shape::Raw | Shape::List(_) | Shape::Struct(_), Value::Null) => write::null(out),
        (Shape::Bytes, Value::Text(text)) => write::bytes(out, &BASE64_STANDARD.decode(text).map_err(|_| wrong())?),
        (Shape::Raw, Value::Text(text)) => {
            let item = BASE64_STANDARD.decode(text).map_err(|_| wrong())?;
            scan::check(&item, Rules::WELL_FORMED).map_err(|_| wrong())?;
            out.extend_from_slice(&item);
        }
        (Shape::List(table), Value::Array(items)) => {
            write::array(out, items.len());
            for item in items {
                write_map(table, item, out)?;
            }
        }
        (Shape::Struct(table), value) => write_map(table, value, out)?,
        (Shape::Bool | Shape::Text | Shape::Bytes | Shape::Raw | Shape::List(_), _) => return Err(wrong()),
    }
    Ok(())
}

/// A whole number.
#[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
fn whole(value: &Value) -> Option<i128> {
    /// From here on, a float may stand for its neighbours too.
    const INEXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Uint(n) => Some((*n).into()),
        Value::Nint(n) => Some(-1 - i128::from(*n)),
        Value::Float(value) if value.fract() == 0.0 && value.abs() < INEXACT => Some(*value as i128),
        Value::Null => Some(0),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a float was written as a whole number because it is one")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        Value::Text(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "+Inf" => Some(f64::INFINITY),
            "-Inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        other => whole(other).map(|n| n as f64),
    }
}
