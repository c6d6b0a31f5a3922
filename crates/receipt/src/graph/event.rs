//! A stored event of either format, opened.

use std::borrow::Cow;

use r1_event::payload::Payload;
use r1_event::{Kind, Record, Version, cbor, v1};

use crate::body;
use crate::json::{Object, Value};
use crate::node::NodeType;

/// What the graph needs of a stored event.
pub(super) struct LogEvent<'a> {
    pub(super) run_id: &'a str,
    pub(super) seq: u64,
    /// Unix nanoseconds.
    pub(super) at: i64,
    pub(super) kind: Kind,
    pub(super) is_v1: bool,
    /// The payload as it is stored; empty if it is gone.
    pub(super) bytes: &'a [u8],
    /// What it says; `None` if it is gone or cannot be read.
    pub(super) payload: Option<Cow<'a, Payload>>,
}

impl<'a> LogEvent<'a> {
    /// Opens a stored event; `None` if it has no header that can be read.
    pub(super) fn read(record: &'a Record) -> Option<Self> {
        let bytes = record.payload.as_deref().unwrap_or_default();
        match record.version()? {
            Version::V2 => {
                let header = record.header().ok()?;
                let payload =
                    record.payload.as_ref().and_then(|bytes| Payload::decode(header.kind, bytes).ok()).map(Cow::Owned);
                let (run_id, seq, at, kind) = (header.run_id, header.seq.get(), header.ts.0, header.kind);
                Some(Self { run_id, seq, at, kind, is_v1: false, bytes, payload })
            }
            Version::V1 => {
                let v1::Header { run_id, seq, ts, kind: number, .. } = v1::Header::decode(&record.header)?;
                let payload = v1::read_payload(number, record.payload.as_ref()).ok().map(Cow::Owned);
                let kind = Kind::from_number(number.into());
                Some(Self { run_id, seq, at: ts, kind, is_v1: true, bytes, payload })
            }
        }
    }

    /// A body with what every body has.
    pub(super) fn body(&self) -> Object<'static> {
        self.placed(Object::default())
    }

    /// A body with what a node of this type takes over from the event.
    pub(super) fn body_from(&self, node_type: NodeType, data: &cbor::Value) -> Object<'static> {
        self.placed(body::from_data(node_type, data))
    }

    /// The same body, here and now.
    pub(super) fn placed(&self, mut body: Object<'static>) -> Object<'static> {
        body.put("seq", Value::uint(self.seq));
        body.put_text("at", self.at.to_string());
        body
    }
}
