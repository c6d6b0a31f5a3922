//! From a stored event to the bytes that are served, the short way.
//!
//! Most events are Typed: their `data` is stored as it is served. Neither of them nor of the other kinds a tree
//! is made on the way, unless a view changes something: then the way leads over [`Envelope`](super::Envelope).
//! The bytes are the same either way.

use std::borrow::Cow;
use std::io::Write as _;

use bytes::Bytes;
use r1_event::cbor::{self, Item, Rules, Walk};
use r1_event::side_record::{Erase, Prune};
use r1_event::{Digest, Kind, Record, Version, projection};

use super::data::write_data_of;
use super::facts::Place;
use super::{RunFacts, SCHEMA_VERSION, Thinking};
use crate::canonical::{write_cbor, write_text};
use crate::data::Time;
use crate::dialect::{self, Dialect};
use crate::id;

/// How events are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// Whether the model's reasoning is.
    pub thinking: Thinking,
    /// With which names.
    pub dialect: Dialect,
}

/// What a written event is, for those who pass it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its place in the run.
    pub sequence: u64,
    /// Its type, by R1's own name.
    pub type_name: Cow<'static, str>,
    /// Whether it ends the run.
    pub terminal: bool,
}

/// Writes the envelopes of one run.
#[derive(Clone, Debug)]
pub struct EnvelopeWriter {
    facts: RunFacts,
    /// What stands between the event's id and its sequence, the same in all of them.
    of_run: Vec<u8>,
}

impl EnvelopeWriter {
    /// A writer for the run with these facts.
    #[must_use]
    pub fn new(facts: RunFacts) -> Self {
        let mut of_run = Vec::with_capacity(160);
        let members = [
            ("run_id", Some(&facts.run_id)),
            ("task_id", facts.task_id.as_ref()),
            ("session_id", facts.session_id.as_ref()),
        ];
        for (key, text) in members {
            if let Some(text) = text {
                let _ = write!(of_run, ",\"{key}\":");
                write_text(&mut of_run, text);
            }
        }
        of_run.extend_from_slice(b",\"sequence\":");
        Self { facts, of_run }
    }

    /// What all events of the run share.
    #[must_use]
    pub const fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// The type of an event by R1's own name, read from no more than is needed; `None` if the header
    /// cannot be read.
    #[must_use]
    pub fn type_of(record: &Record, erased: Option<&Erase>) -> Option<Cow<'static, str>> {
        let Place { kind, version, .. } = Place::of(record)?;
        Some(match (&record.payload, erased) {
            (None, Some(erase)) if version == Version::V2 => Cow::Owned(erase.type_name.clone()),
            (Some(payload), _) if kind == Kind::Typed => match Typed::read(payload) {
                Some(typed) => Cow::Owned(typed.type_name.to_owned()),
                None => projection::type_of(version, kind, Some(payload)),
            },
            (payload, _) => projection::type_of(version, kind, payload.as_ref()),
        })
    }

    /// Appends one event of the run as [`RunFacts::envelope`], [`Dialect::apply`] and
    /// [`Envelope::write`](super::Envelope::write) do; `None`, and nothing appended, if the header cannot be read.
    pub fn write(&self, out: &mut Vec<u8>, record: &Record, erased: Option<&Erase>, view: View) -> Option<Written> {
        self.write_hashed(out, record, record.hash(), erased, view)
    }

    /// [`Self::write`] for whoever has the event's hash already.
    pub fn write_hashed(
        &self,
        out: &mut Vec<u8>,
        record: &Record,
        hash: Digest,
        erased: Option<&Erase>,
        view: View,
    ) -> Option<Written> {
        let place = Place::of(record)?;
        let written = match &record.payload {
            Some(payload) if place.kind == Kind::Typed => Typed::read(payload)
                .filter(|typed| is_served_as_it_is(typed.type_name, view))
                .and_then(|typed| self.write_typed(out, &place, hash, &typed)),
            Some(payload) => self.write_kind(out, &place, hash, payload, view),
            None => None,
        };
        if written.is_some() {
            return written;
        }
        let mut envelope = self.facts.envelope(record, erased, view.thinking)?;
        let type_name = Cow::Owned(envelope.type_name.clone());
        view.dialect.apply(&mut envelope);
        envelope.write(out);
        Some(Written { sequence: envelope.sequence, type_name, terminal: place.kind.is_terminal() })
    }

    /// Appends the marker in place of events that were pruned.
    pub fn write_pruned(&self, out: &mut Vec<u8>, prune: &Prune) -> Written {
        let envelope = self.facts.pruned(prune);
        envelope.write(out);
        Written { sequence: envelope.sequence, type_name: Cow::Owned(envelope.type_name), terminal: false }
    }

    fn write_typed(&self, out: &mut Vec<u8>, place: &Place<'_>, hash: Digest, typed: &Typed<'_>) -> Option<Written> {
        let start = out.len();
        let sequence = self.write_head(out, place, hash, typed.type_name)?;
        if write_cbor(out, typed.data).is_none() {
            out.truncate(start);
            return None;
        }
        out.push(b'}');
        Some(Written { sequence, type_name: Cow::Owned(typed.type_name.to_owned()), terminal: false })
    }

    fn write_kind(
        &self,
        out: &mut Vec<u8>,
        place: &Place<'_>,
        hash: Digest,
        payload: &Bytes,
        view: View,
    ) -> Option<Written> {
        let type_name = projection::type_of(place.version, place.kind, Some(payload));
        if !is_served_as_it_is(&type_name, view) {
            return None;
        }
        let sequence = self.write_head(out, place, hash, &type_name)?;
        write_data_of(out, &self.facts, place.kind, payload);
        out.push(b'}');
        Some(Written { sequence, type_name, terminal: place.kind.is_terminal() })
    }

    /// Everything up to `data`; gives the sequence.
    fn write_head(&self, out: &mut Vec<u8>, place: &Place<'_>, hash: Digest, type_name: &str) -> Option<u64> {
        let sequence = place.seq.checked_sub(1)?;
        // Into memory: there is nothing that could fail.
        let _ = write!(out, "{{\"schema_version\":\"{SCHEMA_VERSION}\",\"event_id\":\"");
        id::write_event_id(out, place.ts, hash);
        out.push(b'"');
        out.extend_from_slice(&self.of_run);
        let _ = write!(out, "{sequence},\"occurred_at\":\"");
        Time::write(out, place.ts);
        out.extend_from_slice(b"\",\"type\":");
        write_text(out, type_name);
        out.extend_from_slice(b",\"data\":");
        Some(sequence)
    }
}

/// Whether a view changes nothing of events of this type.
fn is_served_as_it_is(type_name: &str, view: View) -> bool {
    let hidden = view.thinking == Thinking::Hidden && type_name.starts_with(Thinking::TYPES);
    let renamed = view.dialect == Dialect::ModelCall && dialect::renames(type_name);
    !hidden && !renamed
}

/// The two keys of a Typed payload, where it has both as it should.
struct Typed<'a> {
    type_name: &'a str,
    data: &'a [u8],
}

impl<'a> Typed<'a> {
    /// Reads a payload in the form that R1 writes; `None` for any other, sound or not.
    fn read(payload: &'a [u8]) -> Option<Self> {
        cbor::check(payload, Rules { canonical: false, utf8: true, ..Rules::READABLE }).ok()?;
        let mut walk = Walk::new(payload);
        let Item::Map(2) = walk.enter()? else { return None };
        let Item::Text("data") = walk.enter()? else { return None };
        let data = walk.step()?;
        let Item::Text("type") = walk.enter()? else { return None };
        let Item::Text(type_name) = walk.enter()? else { return None };
        matches!(Walk::new(data).enter()?, Item::Map(_)).then_some(Self { type_name, data })
    }
}
