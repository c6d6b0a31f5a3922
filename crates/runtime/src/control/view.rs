//! One event, told to people and scripts.

use std::collections::HashMap;

use r1_event::exchange::readable_payload;
use r1_event::side_record::Erase;
use r1_event::{Digest, Kind, Record, SideRecord, UnixNanos, Version, projection, v1};
use serde::Serialize;

/// What a header says, whichever format it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The run, as the event spells it.
    pub run_id: String,
    /// Position, from 1 in a sound log.
    pub seq: u64,
    /// When.
    pub ts: UnixNanos,
    /// What.
    pub kind: Kind,
}

/// Reads a record's header; `None` if it is damaged.
#[must_use]
pub fn place(record: &Record) -> Option<Place> {
    match record.version()? {
        Version::V2 => {
            let header = record.header().ok()?;
            Some(Place { run_id: header.run_id.into(), seq: header.seq.get(), ts: header.ts, kind: header.kind })
        }
        Version::V1 => {
            let header = v1::Header::decode(&record.header)?;
            let kind = Kind::from_number(header.kind.into());
            Some(Place { run_id: header.run_id.into(), seq: header.seq, ts: UnixNanos(header.ts), kind })
        }
    }
}

/// One event of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventView {
    /// The run.
    pub run_id: String,
    /// Position.
    pub seq: u64,
    /// Unix nanoseconds.
    pub ts: i64,
    /// The kind's number.
    pub kind: u64,
    /// The event-protocol type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The event hash, in hex.
    pub hash: String,
    /// What it says.
    pub data: serde_json::Value,
    /// Whether the payload is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// Whether not even the header can be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

/// Turns the events of one log into views.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    erasures: HashMap<u64, Erase>,
}

impl Viewer {
    /// A viewer that knows which payloads were erased, and why.
    #[must_use]
    pub fn new(side_records: &[SideRecord]) -> Self {
        let erase = |record: &SideRecord| match record {
            SideRecord::Erase(erase) => Some((erase.seq.get(), erase.clone())),
            SideRecord::Prune(_) | SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) => None,
        };
        Self { erasures: side_records.iter().filter_map(erase).collect() }
    }

    /// One event. `position` is the seq it should have, used where its header cannot be read.
    #[must_use]
    pub fn view(&self, record: &Record, position: u64) -> EventView {
        let hash = record.hash();
        let Some((version, place)) = record.version().zip(place(record)) else {
            return damaged(hash, position);
        };
        let erase = self.erasures.get(&place.seq);
        let erased = version == Version::V2 && record.payload.is_none();
        let type_name = match erase.filter(|_| erased) {
            Some(erase) => erase.type_name.clone(),
            None => projection::type_of(version, place.kind, record.payload.as_ref()).into_owned(),
        };
        EventView {
            run_id: place.run_id,
            seq: place.seq,
            ts: place.ts.0,
            kind: place.kind.number(),
            type_name,
            hash: hash.to_string(),
            data: match &record.payload {
                Some(payload) => readable_payload(place.kind, payload),
                None if erased => erased_data(record, erase),
                None => serde_json::Value::Null,
            },
            erased,
            damaged: false,
        }
    }
}

fn erased_data(record: &Record, erase: Option<&Erase>) -> serde_json::Value {
    let mut data = serde_json::json!({ "erased": true });
    if let Ok(header) = record.header() {
        data["payload_hash"] = header.payload_hash.to_string().into();
        data["payload_size"] = header.payload_size.into();
    }
    if let Some(erase) = erase {
        data["redaction"] =
            serde_json::json!({ "run_id": erase.redaction.run_id.as_str(), "seq": erase.redaction.seq.get() });
    }
    data
}

fn damaged(hash: Digest, position: u64) -> EventView {
    EventView {
        run_id: String::new(),
        seq: position,
        ts: 0,
        kind: 0,
        type_name: "log.unreadable".into(),
        hash: hash.to_string(),
        data: serde_json::Value::Null,
        erased: false,
        damaged: true,
    }
}
