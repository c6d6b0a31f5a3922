//! One event, told to people and scripts.

use std::collections::HashMap;

use r1_event::exchange::readable_payload;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Digest, Kind, Record, SideRecord, UnixNanos, Version, projection, v1};
use r1_protocol::{Envelope, RunFacts, Thinking};
use serde::{Serialize, Serializer};

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
///
/// As JSON it is the event's envelope, and beside it what the log alone knows.
#[derive(Clone, Debug, PartialEq)]
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
    pub type_name: String,
    /// The event hash, in hex.
    pub hash: String,
    /// The whole payload: also what is not served of it.
    pub data: serde_json::Value,
    /// Whether the payload is gone.
    pub erased: bool,
    /// Whether not even the header can be read.
    pub damaged: bool,
    /// The event as it is served; `None` if it is damaged or nothing is known of its run.
    pub envelope: Option<Envelope>,
}

impl Serialize for EventView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Served<'a> {
            #[serde(flatten)]
            envelope: &'a Envelope,
            #[serde(flatten)]
            log: InLog<'a>,
        }
        #[derive(Serialize)]
        struct Unserved<'a> {
            run_id: &'a str,
            #[serde(rename = "type")]
            type_name: &'a str,
            data: &'a serde_json::Value,
            #[serde(flatten)]
            log: InLog<'a>,
        }
        #[derive(Serialize)]
        struct InLog<'a> {
            seq: u64,
            ts: i64,
            kind: u64,
            hash: &'a str,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            erased: bool,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            damaged: bool,
        }
        let Self { run_id, seq, ts, kind, type_name, hash, data, erased, damaged, envelope } = self;
        let log = InLog { seq: *seq, ts: *ts, kind: *kind, hash, erased: *erased, damaged: *damaged };
        match envelope {
            Some(envelope) => Served { envelope, log }.serialize(serializer),
            None => Unserved { run_id, type_name, data, log }.serialize(serializer),
        }
    }
}

/// Turns the events of one log into views.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    erasures: HashMap<u64, Erase>,
    pruned: Option<Prune>,
    run: Option<RunFacts>,
}

impl Viewer {
    /// A viewer that knows which payloads were erased and why, and what all events of the run share.
    /// `first` is the run's first event, if it is there.
    #[must_use]
    pub fn new(first: Option<&Record>, side_records: &[SideRecord]) -> Self {
        let mut erasures = HashMap::new();
        let pruned = Prune::furthest(side_records).cloned();
        for record in side_records {
            match record {
                SideRecord::Erase(erase) => {
                    erasures.insert(erase.seq.get(), erase.clone());
                }
                SideRecord::Prune(_)
                | SideRecord::Seal(_)
                | SideRecord::Checkpoint(_)
                | SideRecord::Other(_)
                | SideRecord::Damaged(_) => {}
            }
        }
        let run = match &pruned {
            Some(prune) => Some(RunFacts::of_prune(prune)),
            None => first.and_then(|first| RunFacts::of_first(first, erasures.get(&1))),
        };
        Self { erasures, pruned, run }
    }

    /// The last event that was pruned; 0 if none was.
    #[must_use]
    pub fn pruned_through(&self) -> u64 {
        self.pruned.as_ref().map_or(0, |prune| prune.through().get())
    }

    /// What is served in place of the events that were pruned. The log does not hold it.
    #[must_use]
    pub fn pruned(&self) -> Option<Envelope> {
        self.run.as_ref().zip(self.pruned.as_ref()).map(|(run, prune)| run.pruned(prune))
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
            envelope: self.envelope(record),
        }
    }

    /// An event as it is served; `None` if it is damaged or nothing is known of its run.
    #[must_use]
    pub fn envelope(&self, record: &Record) -> Option<Envelope> {
        let erase = self.erasures.get(&place(record)?.seq);
        // Whoever has the log has the model's reasoning.
        self.run.as_ref()?.envelope(record, erase, Thinking::Shown)
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
        envelope: None,
    }
}
