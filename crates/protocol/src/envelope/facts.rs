//! What all envelopes of a run share, and how a stored event becomes one of them.

use r1_event::side_record::{Erase, Prune, RunContext};
use r1_event::{Digest, Kind, Payload, Record, UnixNanos, Version, projection, v1};

use super::Envelope;
use super::data::{as_object, data_of};
use crate::data::{EventData, GapEventsPruned, Object, Time};
use crate::{id, json};

/// What the events of a run have in common: all that is known from its first event, and never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The run's id as it is served.
    pub run_id: String,
    /// The id as a v1 log spells it, if that is no ULID.
    pub source_run_id: Option<String>,
    /// The task it works on.
    pub task_id: Option<String>,
    /// The session it belongs to; v1 logs know none.
    pub session_id: Option<String>,
    /// agent_loop, recorded, operator, …
    pub run_kind: Option<String>,
    /// Which rules the log follows.
    pub version: Version,
}

/// Whether the model's reasoning is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// As it is.
    Shown,
    /// Only that there was some.
    #[default]
    Hidden,
}

impl Thinking {
    /// How the types of events with reasoning begin.
    pub(super) const TYPES: &str = "assistant.thinking_";
}

impl RunFacts {
    /// The facts in a run's first event, and in the record of its erasure if the payload is gone.
    /// `None` if the header cannot be read.
    #[must_use]
    pub fn of_first(first: &Record, erased: Option<&Erase>) -> Option<Self> {
        let place = Place::of(first)?;
        let body = first.payload.as_ref().and_then(|bytes| Payload::decode(Kind::RunStarted, bytes).ok());
        let context = match body {
            Some(Payload::RunStarted(body)) => {
                RunContext { task_id: body.task_id, session_id: body.session_id, run_kind: body.run_kind }
            }
            _ => erased.and_then(|erase| erase.context.clone()).unwrap_or_default(),
        };
        Some(Self::new(place.run_id, place.ts, place.version, context))
    }

    /// The facts that the record of a pruning kept.
    ///
    /// It does not keep when the run began, which only a v1 run id without a ULID needs:
    /// [`Self::of_pruned`] is for those who know.
    #[must_use]
    pub fn of_prune(prune: &Prune) -> Self {
        Self::of_pruned(prune, UnixNanos(0))
    }

    /// The facts that the record of a pruning kept of a run that began then.
    #[must_use]
    pub fn of_pruned(prune: &Prune, started_at: UnixNanos) -> Self {
        Self::new(prune.run_id.as_str(), started_at, Version::V2, prune.context.clone())
    }

    fn new(stored: &str, started_at: UnixNanos, version: Version, context: RunContext) -> Self {
        let RunContext { task_id, session_id, run_kind } = context;
        let run_id = id::run_id(stored, started_at);
        let session_id = match version {
            Version::V1 => None,
            // A root run is its own session.
            Version::V2 => session_id.as_deref().and_then(id::session_id).or_else(|| id::session_id(&run_id)),
        };
        let source_run_id = id::ulid_text(stored).is_none().then(|| stored.into());
        Self { run_id, source_run_id, task_id, session_id, run_kind, version }
    }

    /// One event of the run. `erased` is the record of its erasure, if its payload is gone. `None` if
    /// the header cannot be read.
    #[must_use]
    pub fn envelope(&self, record: &Record, erased: Option<&Erase>, thinking: Thinking) -> Option<Envelope> {
        let Place { seq, ts, kind, version, run_id: _ } = Place::of(record)?;
        let is_erased = version == Version::V2 && record.payload.is_none();
        let type_name = match erased.filter(|_| is_erased) {
            Some(erase) => erase.type_name.clone(),
            None => projection::type_of(version, kind, record.payload.as_ref()).into_owned(),
        };
        let mut data = match &record.payload {
            Some(bytes) => data_of(self, kind, bytes),
            None if is_erased => erased_data(record, erased),
            None => Object::new(),
        };
        if thinking == Thinking::Hidden && !is_erased && type_name.starts_with(Thinking::TYPES) {
            data.retain(|key, _| matches!(key.as_str(), "turn_index" | "block_index"));
            data.insert("hidden".into(), true.into());
        }
        let event_id = id::event_id(ts, record.hash());
        Some(self.wrap(event_id, seq.checked_sub(1)?, ts, type_name, data))
    }

    /// The marker in place of events that were pruned.
    #[must_use]
    pub fn pruned(&self, prune: &Prune) -> Envelope {
        let (first, last) = (0, prune.through().get() - 1);
        let pruned_at = Time::from(prune.pruned_at);
        let name = format!("{}\n{first}\n{last}\n{pruned_at}", self.run_id);
        let event_id = id::event_id(prune.pruned_at, Digest::blake3(name.as_bytes()));
        let data = GapEventsPruned {
            first_pruned_sequence: first,
            last_pruned_sequence: last,
            pruned_at,
            reason: prune.reason.clone(),
            root: Some(prune.trees.blake3().root().to_string()),
            graph: prune.graph.as_ref().and_then(|graph| as_object(json::from_cbor(graph))),
            ..GapEventsPruned::default()
        };
        let data = serde_json::to_value(data).ok().and_then(as_object).unwrap_or_default();
        self.wrap(event_id, last, prune.pruned_at, GapEventsPruned::TYPE.into(), data)
    }

    fn wrap(&self, event_id: String, sequence: u64, at: UnixNanos, type_name: String, data: Object) -> Envelope {
        Envelope {
            event_id,
            run_id: self.run_id.clone(),
            task_id: self.task_id.clone(),
            session_id: self.session_id.clone(),
            sequence,
            occurred_at: at.into(),
            type_name,
            data,
        }
    }
}

/// What a header says, whichever format it has.
pub(crate) struct Place<'a> {
    run_id: &'a str,
    pub(crate) seq: u64,
    pub(crate) ts: UnixNanos,
    pub(crate) kind: Kind,
    pub(crate) version: Version,
}

impl<'a> Place<'a> {
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let version = record.version()?;
        Some(match version {
            Version::V2 => {
                let header = record.header().ok()?;
                Self { run_id: header.run_id, seq: header.seq.get(), ts: header.ts, kind: header.kind, version }
            }
            Version::V1 => {
                let header = v1::Header::decode(&record.header)?;
                let kind = Kind::from_number(header.kind.into());
                Self { run_id: header.run_id, seq: header.seq, ts: UnixNanos(header.ts), kind, version }
            }
        })
    }
}

fn erased_data(record: &Record, erased: Option<&Erase>) -> Object {
    let mut data = Object::new();
    data.insert("erased".into(), true.into());
    if let Ok(header) = record.header() {
        data.insert("payload_hash".into(), header.payload_hash.to_string().into());
        data.insert("payload_size".into(), header.payload_size.into());
    }
    if let Some(erase) = erased {
        data.insert("redaction_event_id".into(), id::event_id_of(&erase.redaction).into());
    }
    data
}
