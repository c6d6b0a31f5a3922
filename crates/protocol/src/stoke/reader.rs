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
    if ts.as_ref().is_some_and(|ts| !is_rfc3339(ts.as_str())) {
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

/// Whether a text is a `date-time` of RFC 3339: any offset, any number of digits, leap seconds too.
fn is_rfc3339(text: &str) -> bool {
    let Some((date_time, rest)) = text.as_bytes().split_at_checked(19) else { return false };
    let number = |digits: &[u8]| {
        let value = |sum: u32, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'));
        digits.iter().try_fold(0, value)
    };
    let within = |digits: &[u8], least, most| number(digits).is_some_and(|number| (least..=most).contains(&number));
    let &[_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', _, _, b':', _, _, b':', ..] = date_time else {
        return false;
    };
    let is_date =
        number(&date_time[..4]).is_some() && within(&date_time[5..7], 1, 12) && within(&date_time[8..10], 1, 31);
    let is_time =
        within(&date_time[11..13], 0, 23) && within(&date_time[14..16], 0, 59) && within(&date_time[17..], 0, 60);
    let (fraction, offset) =
        rest.split_at(rest.iter().position(|byte| !matches!(byte, b'.' | b'0'..=b'9')).unwrap_or(0));
    let is_fraction = matches!(fraction, [] | [b'.', _, ..]) && fraction.iter().skip(1).all(u8::is_ascii_digit);
    let is_offset = match offset {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', hours @ .., b':', tens, ones] => {
            hours.len() == 2 && within(hours, 0, 23) && within(&[*tens, *ones], 0, 59)
        }
        _ => false,
    };
    is_date && is_time && is_fraction && is_offset
}

fn text(object: &mut Object, key: &'static str) -> Result<Option<String>, ReadError> {
    debug_assert!(ENVELOPE.contains(&key), "only the envelope is taken out of the body");
    match object.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ReadError::BadValue { key }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stoke_03_every_time_of_rfc_3339_is_taken_and_no_other() {
        for good in [
            "2026-04-20T21:05:32Z",
            "2026-04-20t21:05:32.1z",
            "2026-04-20 23:05:32.123456789012345+02:00",
            "1990-12-31T23:59:60-08:30",
            "0000-01-01T00:00:00.000Z",
        ] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "yesterday",
            "2026-04-20",
            "2026-04-20T21:05:32",
            "2026-04-20T21:05:32.Z",
            "2026-04-20T21:05:32.1.2Z",
            "2026-13-20T21:05:32Z",
            "2026-04-20T24:05:32Z",
            "2026-04-20T21:05:61Z",
            "2026-04-20T21:05:32+0200",
            "2026-04-20T21:05:32+24:00",
            "2026-04-20T21:05:3\u{e9}Z",
            "2026-04-20T21:05:32Z ",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
