//! Lines, and what stands on all of them.

use r1_event::{Digest, UnixNanos};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::text;
use crate::data::{Object, Time};

/// The version of the envelope.
pub const STOKE_VERSION: &str = "1.0";

/// Keys of the envelope: no body may say them beside it.
pub(super) const ENVELOPE: [&str; 9] =
    ["type", "ts", "uuid", "session_id", "stoke_version", "instance_id", "trace_parent", "ledger_node_id", "seq"];

/// How keys begin that Claude's lines do not have.
pub(super) const EXTENSION: &str = "_stoke.dev/";

/// The key for a body that cannot stand beside the envelope.
pub(super) const DATA: &str = "data";

/// Keys that say what a Claude-compatible or top-level line is.
const PLAIN: [&str; 6] = ["type", "subtype", "ts", "uuid", "session_id", "_stoke.dev/seq"];

/// A line of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What those need to know who pass it on.
    pub kind: LineKind,
    /// The event it tells of.
    pub seq: u64,
    /// Its bytes, with the LF.
    pub bytes: Vec<u8>,
}

/// What a line is, for those who pass it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The first `stream_event` of a message: from here on a reader that missed some can follow again.
    MessageStart,
    /// Any other `stream_event`: its content comes again in `assistant`.
    Partial,
    /// A request for approval.
    Approval,
    /// The end of the run.
    Result,
    /// Anything else.
    Other,
}

impl LineKind {
    /// Whether the line may be left out for a reader that is too slow.
    #[must_use]
    pub const fn is_droppable(self) -> bool {
        matches!(self, Self::MessageStart | Self::Partial)
    }
}

/// What every line of a run has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The run's 128 bits as a UUID.
    pub session_id: String,
    /// The process that wrote the newest event.
    pub instance_id: Option<String>,
    /// The trace that it takes part in.
    pub trace_parent: Option<String>,
}

/// The event that a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When.
    pub ts: UnixNanos,
    /// Its place in the log.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
    /// The node of the receipt's graph that it belongs to.
    pub ledger_node_id: Option<String>,
}

/// The lines of one event. Every line of the full projection is counted, shown or not, so that no option
/// changes the name of a line.
pub(super) struct Sheet<'a> {
    origin: &'a Origin,
    stamp: Stamp,
    index: u32,
    lines: Vec<Line>,
}

impl<'a> Sheet<'a> {
    pub(super) const fn new(origin: &'a Origin, stamp: Stamp) -> Self {
        Self { origin, stamp, index: 0, lines: Vec::new() }
    }

    pub(super) const fn ts(&self) -> UnixNanos {
        self.stamp.ts
    }

    /// A line with the envelope.
    pub(super) fn stoke(&mut self, shown: bool, type_name: &str, body: impl FnOnce() -> Object) {
        if let Some(index) = self.count(shown) {
            let bytes = stoke_line(self.origin, &self.stamp, index, type_name, body());
            self.lines.push(Line { kind: LineKind::Other, seq: self.stamp.seq, bytes });
        }
    }

    /// A Claude-compatible or top-level line.
    pub(super) fn plain(&mut self, shown: bool, kind: LineKind, type_name: &str, body: impl FnOnce() -> Object) {
        if let Some(index) = self.count(shown) {
            let mut object = body();
            object.insert("type".into(), type_name.into());
            object.insert("ts".into(), timestamp(self.stamp.ts).into());
            object.insert("uuid".into(), line_uuid(self.stamp.hash, index).into());
            object.insert("session_id".into(), self.origin.session_id.as_str().into());
            object.insert("_stoke.dev/seq".into(), self.stamp.seq.into());
            self.lines.push(Line { kind, seq: self.stamp.seq, bytes: text::line(object, &PLAIN) });
        }
    }

    pub(super) fn finish(self) -> Vec<Line> {
        self.lines
    }

    fn count(&mut self, shown: bool) -> Option<u32> {
        let index = self.index;
        self.index += 1;
        shown.then_some(index)
    }
}

/// The bytes of a STOKE line. A body that says a key of the envelope goes under `data` as a whole: it never
/// changes what the envelope says.
#[must_use]
pub fn stoke_line(origin: &Origin, stamp: &Stamp, index: u32, type_name: &str, body: Object) -> Vec<u8> {
    let mut object = if body.keys().any(|key| is_reserved(key)) {
        Object::from_iter([(DATA.to_owned(), Value::Object(body))])
    } else {
        body
    };
    let mut put = |key: &str, value: Value| object.insert(key.into(), value);
    put("type", type_name.into());
    put("ts", timestamp(stamp.ts).into());
    put("uuid", line_uuid(stamp.hash, index).into());
    put("session_id", origin.session_id.as_str().into());
    put("stoke_version", STOKE_VERSION.into());
    put("seq", stamp.seq.into());
    let optional = [
        ("instance_id", &origin.instance_id),
        ("trace_parent", &origin.trace_parent),
        ("ledger_node_id", &stamp.ledger_node_id),
    ];
    for (key, value) in optional {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            put(key, value.into());
        }
    }
    text::line(object, &ENVELOPE)
}

/// A line that tells of the process rather than of an event.
pub(super) fn process_line(object: Object) -> Vec<u8> {
    text::line(object, &PLAIN)
}

fn is_reserved(key: &str) -> bool {
    key == DATA || key.starts_with(EXTENSION) || ENVELOPE.contains(&key)
}

/// RFC 3339 in UTC, with no more digits than it needs.
pub(super) fn timestamp(at: UnixNanos) -> String {
    let time = Time::from(at);
    let text = time.as_str().trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
    format!("{text}Z")
}

/// Names a line by the event it comes from and its place among that event's lines.
fn line_uuid(hash: Digest, index: u32) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"stoke-line-v1\0");
    hasher.update(hash.as_bytes());
    hasher.update(index.to_be_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    uuid_v4(bytes)
}

/// 16 bytes as a UUID of version 4.
pub(super) fn uuid_v4(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    hyphenated(u128::from_be_bytes(bytes))
}

/// 128 bits as a UUID.
pub(super) fn hyphenated(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_no_trailing_zeros() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (1_500_000_000, "1970-01-01T00:00:01.5Z"),
            (10_000_000_001, "1970-01-01T00:00:10.000000001Z"),
        ];
        for (nanos, text) in cases {
            assert_eq!(timestamp(UnixNanos(nanos)), text);
        }
    }
}
