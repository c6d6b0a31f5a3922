//! `starling export`: one JSON object per event.
//!
//! The lines carry no event hash and no payload bytes. A payload is rebuilt from the known keys, which
//! gives back the bytes of everything that Starling itself wrote; the chain then tells whether it did.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use super::header::Header;
use super::json_text::{JsonTextError, exported_json_to_cbor};
use super::kind::KindName;
use super::payload_json::{PayloadJsonError, payload_from_json, payload_to_json};
use crate::cbor::{Malformed, Rules, Value};
use crate::record::Record;
use crate::v1::NotV1;

/// The line of one event, without a line break.
pub fn write_line(record: &Record) -> Result<String, WriteLineError> {
    let Header { run_id, seq, prev_hash, ts, kind } = Header::decode(&record.header).ok_or(NotV1)?;
    let payload = payload_to_json(kind, record.payload.as_ref())?;
    let prev_hash = prev_hash.map_or(Json::Null, |hash| BASE64_STANDARD.encode(hash).into());
    let (run_id, kind) = (Json::from(run_id), KindName(kind));
    Ok(format!(
        r#"{{"run_id":{run_id},"seq":{seq},"ts":{ts},"kind":"{kind}","prev_hash":{prev_hash},"payload":{payload}}}"#
    ))
}

/// The event of one line.
pub fn read_line(line: &[u8]) -> Result<Record, ReadLineError> {
    let line = Value::decode(&exported_json_to_cbor(line)?, Rules::READABLE)?;
    let field = |name| line.get(name).ok_or(ReadLineError::Field { name });
    let text = |name| field(name)?.as_text().ok_or(ReadLineError::Field { name });
    let kind_name = text("kind")?;
    let kind = KindName::parse(kind_name).ok_or_else(|| ReadLineError::Kind { kind: kind_name.into() })?;
    let prev_hash = match field("prev_hash")? {
        Value::Null => None,
        Value::Text(text) => {
            Some(BASE64_STANDARD.decode(text).map_err(|_| ReadLineError::Field { name: "prev_hash" })?)
        }
        _ => return Err(ReadLineError::Field { name: "prev_hash" }),
    };
    let header = Header {
        run_id: text("run_id")?,
        seq: field("seq")?.as_uint().ok_or(ReadLineError::Field { name: "seq" })?,
        prev_hash: prev_hash.as_deref(),
        ts: field("ts")?.as_int().ok_or(ReadLineError::Field { name: "ts" })?,
        kind,
    };
    let payload = match field("payload")? {
        Value::Null => None,
        payload => Some(payload_from_json(kind, payload)?.into()),
    };
    Ok(Record { header: header.encode().into(), payload })
}

/// Why an event has no line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteLineError {
    /// Not a v1 event.
    #[error(transparent)]
    NotV1(#[from] NotV1),
    /// The payload has no JSON form.
    #[error(transparent)]
    Payload(#[from] PayloadJsonError),
}

/// Why a line is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadLineError {
    /// Not JSON.
    #[error("the line is not JSON")]
    Json(#[from] JsonTextError),
    /// JSON beyond all limits.
    #[error("the line is not an event")]
    Limits(#[from] Malformed),
    /// A field is missing or holds something else.
    #[error("`{name}` is missing, or not what it should be")]
    Field {
        /// The field.
        name: &'static str,
    },
    /// A kind that Starling has no name for.
    #[error("the kind `{kind}` is not known, so its payload cannot be rebuilt")]
    Kind {
        /// What the line says.
        kind: String,
    },
    /// The payload cannot be rebuilt.
    #[error(transparent)]
    Payload(#[from] PayloadJsonError),
}
