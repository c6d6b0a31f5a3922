//! Items as JSON objects.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::readable::readable_value;
use super::{ExchangeProblem, Format, Item, Shown};
use crate::cbor::Value;
use crate::kind::Kind;
use crate::projection;
use crate::record::{Record, Version};
use crate::side_record::SideRecord;
use crate::v1;

/// What is written. Only the base64 members are read back; the rest is for people.
#[derive(Serialize)]
#[serde(untagged)]
enum Object<'a> {
    V2 {
        header: String,
        payload: Option<String>,
        seq: u64,
        ts: i64,
        r#type: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a serde_json::Map<String, serde_json::Value>>,
    },
    V1 {
        event: String,
        seq: u64,
        ts: i64,
        r#type: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a serde_json::Map<String, serde_json::Value>>,
    },
    Damaged {
        header: String,
        payload: Option<String>,
    },
    Side {
        record: &'a str,
        cbor: String,
        data: serde_json::Value,
    },
}

/// Appends one item, without a line end.
pub(super) fn write(item: &Item, shown: Option<Shown<'_>>, out: &mut Vec<u8>) {
    let start = out.len();
    write_object(item, shown, out);
    // What is for people only may not make it too large to be read.
    if shown.is_some() && out.len() - start > Format::MAX_ITEM {
        out.truncate(start);
        write_object(item, None, out);
    }
}

fn write_object(item: &Item, shown: Option<Shown<'_>>, out: &mut Vec<u8>) {
    let object = match item {
        Item::Side(record) => side(record),
        Item::Event(record) | Item::Respelled(record) | Item::Rebuilt(record) => match record.version() {
            Some(Version::V1) => v1_event(record, shown),
            Some(Version::V2) => v2_event(record, shown),
            None => None,
        }
        .unwrap_or_else(|| Object::Damaged {
            header: STANDARD.encode(&record.header),
            payload: record.payload.as_ref().map(|payload| STANDARD.encode(payload)),
        }),
    };
    // Strings, numbers and JSON values into memory: there is nothing that could fail.
    let _ = serde_json::to_writer(out, &object);
}

fn v2_event<'a>(record: &Record, shown: Option<Shown<'a>>) -> Option<Object<'a>> {
    let header = record.header().ok()?;
    let payload = record.payload.as_ref();
    Some(Object::V2 {
        header: STANDARD.encode(&record.header),
        payload: payload.map(|payload| STANDARD.encode(payload)),
        seq: header.seq.get(),
        ts: header.ts.0,
        r#type: type_name(shown, || projection::type_of(Version::V2, header.kind, payload)),
        data: shown.map(|shown| shown.data),
    })
}

fn v1_event<'a>(record: &Record, shown: Option<Shown<'a>>) -> Option<Object<'a>> {
    let header = v1::Header::decode(&record.header)?;
    let kind = Kind::from_number(header.kind.into());
    let payload = record.payload.as_ref();
    Some(Object::V1 {
        event: STANDARD.encode(v1::splice(&record.header, record.payload.as_deref())),
        seq: header.seq,
        ts: header.ts,
        r#type: type_name(shown, || projection::type_of(Version::V1, kind, payload)),
        data: shown.map(|shown| shown.data),
    })
}

fn type_name<'a>(shown: Option<Shown<'a>>, of_payload: impl FnOnce() -> Cow<'static, str>) -> Cow<'a, str> {
    match shown {
        Some(shown) => shown.type_name.into(),
        None => of_payload(),
    }
}

fn side(record: &SideRecord) -> Object<'_> {
    let cbor = record.encode();
    let data = Value::decode(&cbor, crate::cbor::Rules::CANONICAL)
        .map_or(serde_json::Value::Null, |value| readable_value(&value));
    Object::Side { record: record.name(), cbor: STANDARD.encode(&cbor), data }
}

/// Which of the forms an object has, by its keys.
#[derive(Deserialize)]
struct Keys {
    header: Option<IgnoredAny>,
    event: Option<IgnoredAny>,
    record: Option<IgnoredAny>,
    /// Beside the others, or in a Starling export.
    payload: Option<IgnoredAny>,
    cbor: Option<IgnoredAny>,
    seq: Option<IgnoredAny>,
    prev_hash: Option<IgnoredAny>,
}

impl Keys {
    /// Whether nothing shows that this ever was an item of a log.
    const fn are_foreign(&self) -> bool {
        let Self { header, event, record, payload, cbor, seq, prev_hash } = self;
        let form = header.is_none() && event.is_none() && record.is_none();
        form && payload.is_none() && cbor.is_none() && seq.is_none() && prev_hash.is_none()
    }
}

#[derive(Deserialize)]
struct V2Bytes {
    header: String,
    payload: Option<String>,
}

#[derive(Deserialize)]
struct V1Bytes {
    event: String,
}

#[derive(Deserialize)]
struct SideBytes {
    cbor: String,
}

/// Reads one object.
pub(super) fn read(text: &[u8]) -> Result<Item, ExchangeProblem> {
    let keys: Keys = parse(text)?;
    if keys.header.is_some() {
        let V2Bytes { header, payload } = parse(text)?;
        let payload = payload.map(|payload| bytes(&payload, "payload")).transpose()?;
        Ok(Item::Event(Record { header: bytes(&header, "header")?.into(), payload: payload.map(Bytes::from) }))
    } else if keys.event.is_some() {
        let V1Bytes { event } = parse(text)?;
        super::cborseq::read(&bytes(&event, "event")?)
    } else if keys.record.is_some() {
        let SideBytes { cbor } = parse(text)?;
        // The bytes decide, not the text beside them: what is no record there would be an event elsewhere.
        match super::cborseq::read(&bytes(&cbor, "cbor")?)? {
            Item::Side(record) => Ok(Item::Side(record)),
            Item::Event(_) | Item::Respelled(_) | Item::Rebuilt(_) => {
                Err(ExchangeProblem::Json("`cbor` holds no record that stands beside a log".into()))
            }
        }
    } else if keys.are_foreign() {
        Err(ExchangeProblem::Foreign)
    } else {
        v1::ndjson::read_line(text).map(Item::Rebuilt).map_err(ExchangeProblem::Line)
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, ExchangeProblem> {
    serde_json::from_slice(text).map_err(|err| ExchangeProblem::Json(err.to_string()))
}

fn bytes(text: &str, key: &str) -> Result<Vec<u8>, ExchangeProblem> {
    STANDARD.decode(text).map_err(|err| ExchangeProblem::Json(format!("`{key}` is not base64: {err}")))
}
