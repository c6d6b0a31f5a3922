//! What one v1 event says by itself, for [`super::Validator`] to put together.

use std::ops::Range;

use bytes::Bytes;

use super::fields::Fields;
use super::form;
use super::header::{self, Header, Unhashed};
use super::lenient::{self, Unreadable};
use super::table::Table;
use crate::cbor::{self, Malformed, Rules};
use crate::finding::Finding;
use crate::id::{Digest, UnixNanos};
use crate::kind::Kind;
use crate::record::Record;

/// One event, hashed and read. Nothing in it depends on another event, so events can be examined on
/// any number of threads; [`super::Validator`] takes them in log order.
#[derive(Clone, Debug)]
pub struct Examined {
    header: Bytes,
    run_id: Range<usize>,
    prev_hash: Option<Range<usize>>,
    pub(super) seq: u64,
    pub(super) ts: i64,
    pub(super) kind: u8,
    /// The event hash, or why Starling could not write the event again.
    pub(super) hash: Result<Digest, Malformed>,
    /// The payload's values, or why Starling cannot read them; `None` for kinds it has no payload for.
    pub(super) fields: Option<Result<Fields, Unreadable>>,
    /// The values that only Starling's limits keep it from reading, so that the rest can still be followed.
    pub(super) beyond_limits: Option<Box<Fields>>,
    /// What the event alone shows to be wrong though Starling accepts it.
    pub(super) notices: Vec<Finding>,
}

impl Examined {
    /// The event hash; `None` if the payload is malformed, so that no envelope can hold it.
    #[must_use]
    pub fn hash(&self) -> Option<Digest> {
        self.hash.ok()
    }

    /// When it says that it happened.
    pub(crate) const fn ts(&self) -> UnixNanos {
        UnixNanos(self.ts)
    }

    /// Its place, as it says.
    pub(crate) const fn seq(&self) -> u64 {
        self.seq
    }

    /// What it says that it is.
    pub(crate) fn kind(&self) -> Kind {
        Kind::from_number(self.kind.into())
    }

    pub(super) fn run_id(&self) -> &[u8] {
        &self.header[self.run_id.clone()]
    }

    pub(super) fn prev_hash(&self) -> Option<&[u8]> {
        self.prev_hash.clone().map(|range| &self.header[range])
    }

    /// The payload's values, if they can be read at all.
    pub(super) fn readable(&self) -> Option<&Fields> {
        self.fields.as_ref().and_then(|fields| fields.as_ref().ok()).or(self.beyond_limits.as_deref())
    }
}

/// Examines one event.
pub fn examine(record: &Record) -> Result<Examined, NotV1> {
    examine_all(std::slice::from_ref(record)).pop().unwrap_or(Err(NotV1))
}

/// [`examine`] for each of `records`, sooner than one by one.
pub(crate) fn examine_all(records: &[Record]) -> Vec<Result<Examined, NotV1>> {
    let headers: Vec<_> = records.iter().map(|record| Header::decode_with_gap(&record.header)).collect();
    let unhashed: Vec<_> = records
        .iter()
        .zip(&headers)
        .map(|(record, header)| Unhashed {
            header: &record.header,
            gap: header.as_ref().map_or(0, |(_, gap)| *gap),
            payload: record.payload.as_deref(),
        })
        .collect();
    let hashes = header::hash_all(&unhashed);
    records
        .iter()
        .zip(headers)
        .zip(hashes)
        .map(|((record, header), hash)| header.map(|(header, gap)| read(record, &header, gap, hash)).ok_or(NotV1))
        .collect()
}

fn read(record: &Record, header: &Header<'_>, gap: usize, hash: Digest) -> Examined {
    let Header { run_id, seq, prev_hash, ts, kind } = *header;
    let none = Bytes::new();
    let payload = record.payload.as_ref().unwrap_or(&none);
    let body = Body::read(kind, payload);
    let hash = body.writable.map(|()| hash);
    let notices = form::notices(seq, kind, &body, payload);
    let beyond_limits = match (&body.fields, Table::of(kind)) {
        (Some(Err(Unreadable::Malformed(_))), Some(table)) => {
            read_leniently(table, payload, Rules::WELL_FORMED).ok().map(Box::new)
        }
        _ => None,
    };
    // `prev_hash` ends the header, and `run_id` ends right before its key.
    let end = record.header.len();
    let prev_hash = prev_hash.map(|hash| end - hash.len()..end);
    let run_id = gap - run_id.len()..gap;
    let header = record.header.clone();
    Examined { header, run_id, prev_hash, seq, ts, kind, hash, fields: body.fields, beyond_limits, notices }
}

/// A payload, looked at from both sides.
pub(super) struct Body {
    /// Whether Starling can write it into an envelope.
    pub(super) writable: Result<(), Malformed>,
    /// Whether Starling can read it as its kind.
    pub(super) fields: Option<Result<Fields, Unreadable>>,
    /// Whether it is exactly what Starling writes.
    pub(super) as_written: bool,
}

impl Body {
    fn read(kind: u8, payload: &Bytes) -> Self {
        let Some(table) = Table::of(kind) else {
            let canonical = payload.is_empty() || cbor::check(payload, form::CANONICAL).is_ok();
            let writable = if canonical { Ok(()) } else { writable(payload) };
            return Self { writable, fields: None, as_written: canonical };
        };
        if let Some(fields) = Fields::read(table, payload) {
            return Self { writable: Ok(()), fields: Some(Ok(fields)), as_written: true };
        }
        Self {
            writable: writable(payload),
            fields: Some(read_leniently(table, payload, Rules::READABLE)),
            as_written: false,
        }
    }
}

fn writable(payload: &[u8]) -> Result<(), Malformed> {
    // An empty payload is written as null.
    if payload.is_empty() { Ok(()) } else { cbor::check(payload, Rules::WRITABLE) }
}

/// The payload as a reader like Starling's, with the limits of `rules`, sees it.
pub(super) fn read_leniently(table: &'static Table, payload: &[u8], rules: Rules) -> Result<Fields, Unreadable> {
    let plain: Bytes = lenient::plain(table, payload, rules)?.into();
    Fields::read_plain(table, &plain).ok_or(Unreadable::Unfit(lenient::Unfit::NotAMap))
}

/// A record whose header is not a v1 envelope's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header is not the envelope of a v1 event")]
pub struct NotV1;
