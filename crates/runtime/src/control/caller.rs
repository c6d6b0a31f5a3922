//! Who asks for something, and where it is noted that it was done.
//!
//! A verb that appends events writes the caller's note in the same transaction. Whoever asks again with the
//! same note finds it, and is told what was done then; nothing is done twice.

use r1_event::{Batch, Note, RunId, Seq};
use r1_protocol::data::{Actor, Object};
use serde::{Deserialize, Serialize};

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// As the log will have it.
    pub actor: Option<Actor>,
    /// Where it is noted what came of it.
    pub note: Option<NoteSlot>,
    /// What they are here for.
    #[serde(default)]
    pub role: Role,
    /// What tells them from others of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What a caller is here for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To ask for things.
    #[default]
    Operator,
    /// To tell what happens at beacons, and nothing else.
    Bridge,
}

impl Caller {
    /// Someone who needs no note.
    #[must_use]
    pub const fn new(actor: Actor) -> Self {
        Self { actor: Some(actor), note: None, role: Role::Operator, session: None }
    }

    /// The same caller, whose note will tell what was asked about.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        if let Some(slot) = &mut self.note {
            slot.body.insert(SUBJECT.into(), subject.into());
        }
        self
    }

    /// The session that they are in: their own, or the one of all that have their name.
    pub(crate) fn session_id(&self) -> &str {
        let name = self.actor.as_ref().and_then(|actor| actor.id.as_deref());
        self.session.as_deref().or(name).unwrap_or_default()
    }

    /// Puts the caller's note of the event at `seq` into the batch that has it.
    pub(crate) fn note_in(&self, batch: &mut Batch, run: &RunId, seq: Seq) {
        if let Some(slot) = &self.note {
            batch.note(slot.note(&Effect::new(run, seq)));
        }
    }
}

/// A document that waits for the note of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteSlot {
    /// Where it is.
    pub collection: String,
    /// Which.
    pub key: String,
    /// The revision that it has; with another one the effect is refused.
    pub revision: u64,
    /// What else it says: kept beside the effect.
    pub body: Object,
}

/// What a verb did: the run, and the event that tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The run whose log has the event.
    pub run_id: String,
    /// The event.
    pub seq: u64,
    /// What was asked about, where the event alone does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

impl Effect {
    /// The event at `seq` of `run`.
    #[must_use]
    pub fn new(run: &RunId, seq: Seq) -> Self {
        Self { run_id: run.to_string(), seq: seq.get(), subject: None }
    }

    /// The effect that a note tells of; `None` if nothing was done yet.
    #[must_use]
    pub fn noted_in(body: &Object) -> Option<Self> {
        body.get(EFFECT).and_then(|effect| serde_json::from_value(effect.clone()).ok())
    }

    /// The same, of what was asked about.
    #[must_use]
    pub fn about(self, subject: &str) -> Self {
        Self { subject: Some(subject.to_owned()), ..self }
    }
}

/// Where a note tells of its effect.
const EFFECT: &str = "effect";
/// Where a slot keeps what the effect will be about.
const SUBJECT: &str = "subject";

impl NoteSlot {
    /// The note that goes with the events of `effect`.
    #[must_use]
    pub fn note(&self, effect: &Effect) -> Note {
        let mut body = self.body.clone();
        let subject = body.remove(SUBJECT).and_then(|subject| subject.as_str().map(str::to_owned));
        let effect = Effect { subject, ..effect.clone() };
        body.insert(EFFECT.into(), serde_json::json!(effect));
        Note {
            collection: self.collection.clone(),
            key: self.key.clone(),
            revision: self.revision,
            body: serde_json::Value::Object(body).to_string().into(),
        }
    }
}
