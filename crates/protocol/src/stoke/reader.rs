//! Reading a line, whoever wrote it.

use serde_json::Value;

use super::line::{DATA, ENVELOPE, EXTENSION};
use crate::data::{Object, Time};

/// A line that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLine {
    /// What it tells.
    pub type_name: String,
    /// When.
    pub ts: Option<Time>,
    /// Its name.
    pub uuid: Option<String>,
    /// The run.
    pub session_id: Option<String>,
    /// The version of the envelope; lines without one have no envelope.
    pub stoke_version: Option<String>,
    /// The process that wrote it.
    pub instance_id: Option<String>,
    /// The trace it takes part in.
    pub trace_parent: Option<String>,
    /// The node of the receipt's graph that it belongs to.
    pub ledger_node_id: Option<String>,
    /// Its place in the log.
    pub seq: Option<u64>,
    /// What it says beside that.
    pub body: Object,
}

/// A line that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error("the line is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but no object.
    #[error("the line is not a JSON object")]
    NotAnObject,
    /// It does not say what it tells.
    #[error("the line has no `type`")]
    NoType,
    /// A version that this reader does not know.
    #[error("the line follows STOKE {version}; this reader knows STOKE 1")]
    OtherMajor {
        /// Which.
        version: String,
    },
    /// A value of the envelope is not what it should be.
    #[error("`{key}` is not what it should be")]
    BadValue {
        /// Where.
        key: &'static str,
    },
}

/// Reads a line. Its body may stand beside the envelope or under `data`; keys and types that this reader does
/// not know are no reason to refuse it.
pub fn read(line: &[u8]) -> Result<ReadLine, ReadError> {
    let value: Value = serde_json::from_slice(line).map_err(ReadError::NotJson)?;
    let Value::Object(mut object) = value else { return Err(ReadError::NotAnObject) };
    let type_name = text(&mut object, "type")?.ok_or(ReadError::NoType)?;
    let stoke_version = text(&mut object, "stoke_version")?;
    if let Some(version) = &stoke_version
        && version.split('.').next() != Some("1")
    {
        return Err(ReadError::OtherMajor { version: version.clone() });
    }
    let ts = text(&mut object, "ts")?.map(|text| Time::from(text.as_str()));
    if ts.as_ref().is_some_and(|ts| !ts.is_moment()) {
        return Err(ReadError::BadValue { key: "ts" });
    }
    let seq = match object.remove("seq") {
        None => None,
        Some(seq) => Some(seq.as_u64().ok_or(ReadError::BadValue { key: "seq" })?),
    };
    Ok(ReadLine {
        type_name,
        ts,
        uuid: text(&mut object, "uuid")?,
        session_id: text(&mut object, "session_id")?,
        stoke_version,
        instance_id: text(&mut object, "instance_id")?,
        trace_parent: text(&mut object, "trace_parent")?,
        ledger_node_id: text(&mut object, "ledger_node_id")?,
        seq,
        body: body(object)?,
    })
}

fn body(mut object: Object) -> Result<Object, ReadError> {
    match object.remove(DATA) {
        Some(Value::Object(body)) => Ok(body),
        Some(_) => Err(ReadError::BadValue { key: DATA }),
        None => {
            object.retain(|key, _| !key.starts_with(EXTENSION));
            Ok(object)
        }
    }
}

fn text(object: &mut Object, key: &'static str) -> Result<Option<String>, ReadError> {
    debug_assert!(ENVELOPE.contains(&key), "only the envelope is taken out of the body");
    match object.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ReadError::BadValue { key }),
    }
}
