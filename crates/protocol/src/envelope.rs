//! A stored event as it is served.

mod data;
mod facts;
mod fields;
mod run_data;
mod tool_data;
mod turn_data;
mod writer;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::canonical;
use crate::data::{Object, Time};

pub(crate) use facts::Place;
pub use facts::{RunFacts, Thinking};
pub(crate) use fields::micros;
pub use writer::{EnvelopeWriter, View, Written};

/// The version of this form.
pub const SCHEMA_VERSION: &str = "1";

/// An event as it is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Names the event.
    pub event_id: String,
    /// The run.
    pub run_id: String,
    /// Its task.
    pub task_id: Option<String>,
    /// Its session.
    pub session_id: Option<String>,
    /// Place in the run, from 0.
    pub sequence: u64,
    /// When; order is by `sequence`.
    pub occurred_at: Time,
    /// What.
    pub type_name: String,
    /// What it says.
    pub data: Object,
}

impl Envelope {
    /// The bytes that are served: the same for the same event, always and everywhere.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        self.write(&mut out);
        out
    }

    /// Appends the bytes that are served.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut separator = b'{';
        self.each_member(|key, member| {
            out.push(separator);
            separator = b',';
            canonical::write_text(out, key);
            out.push(b':');
            match member {
                Member::Text(text) => canonical::write_text(out, text),
                Member::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Member::Object(object) => canonical::write_object(out, object),
            }
        });
        out.push(b'}');
    }

    /// Shows each member in its order on the wire.
    fn each_member<'a>(&'a self, mut show: impl FnMut(&'static str, Member<'a>)) {
        let Self { event_id, run_id, task_id, session_id, sequence, occurred_at, type_name, data } = self;
        show("schema_version", Member::Text(SCHEMA_VERSION));
        show("event_id", Member::Text(event_id));
        show("run_id", Member::Text(run_id));
        if let Some(task_id) = task_id {
            show("task_id", Member::Text(task_id));
        }
        if let Some(session_id) = session_id {
            show("session_id", Member::Text(session_id));
        }
        show("sequence", Member::Number(*sequence));
        show("occurred_at", Member::Text(occurred_at.as_str()));
        show("type", Member::Text(type_name));
        show("data", Member::Object(data));
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Text(&'a str),
    Number(u64),
    Object(&'a Object),
}

impl Serialize for Envelope {
    /// The same members in the same order as [`Envelope::to_bytes`], to stand inside of other output.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Vec::with_capacity(9);
        self.each_member(|key, member| members.push((key, member)));
        let mut map = serializer.serialize_map(Some(members.len()))?;
        members.iter().try_for_each(|(key, member)| map.serialize_entry(key, member))?;
        map.end()
    }
}
