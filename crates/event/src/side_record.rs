//! Facts kept beside a log: what was erased, what was pruned, who vouched for it.
//!
//! They are not events: they come into being after the events they speak of, and none is under the
//! chain. Each stands on proof of its own: an erasure names a `redaction.applied` event, a prune keeps
//! the hashes that the rest of the log continues, a seal is signed.

mod prune;

pub use self::prune::{Prune, Trees};
use crate::cbor::{Malformed, Rules, Value};
use crate::id::{Digest, RunId, Seq, UnixNanos};
use crate::key::KeyId;
use crate::kind::Kind;
use crate::seal::{Seal, Statement};

/// One fact beside a log.
#[derive(Clone, Debug, PartialEq)]
pub enum SideRecord {
    /// A payload is gone.
    Erase(Erase),
    /// A prefix of a finished run is gone.
    Prune(Box<Prune>),
    /// A signature over the finished run.
    Seal(Seal),
    /// A signature over the run as it was at some size.
    Checkpoint(Seal),
    /// Written by a newer R1: kept as it is.
    Other(Value),
    /// Bytes that are no record any more, as they were found.
    Damaged(Vec<u8>),
}

/// What projections need of a run when its first event can no longer be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunContext {
    /// The task it worked on.
    pub task_id: Option<String>,
    /// The session it belonged to.
    pub session_id: Option<String>,
    /// agent_loop, recorded, operator, …
    pub run_kind: Option<String>,
}

/// An event, named so that it can be found and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRef {
    /// The run.
    pub run_id: RunId,
    /// Its place.
    pub seq: Seq,
    /// Its time, from which its event id derives.
    pub ts: UnixNanos,
    /// Its hash.
    pub hash: Digest,
}

/// The payload of one event was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erase {
    /// The run.
    pub run_id: RunId,
    /// The event whose payload is gone.
    pub seq: Seq,
    /// The event-protocol type it is still served as.
    pub type_name: String,
    /// Pairing needs these of the kinds that have them: they are ids, not content.
    pub turn_id: Option<String>,
    /// See [`Self::turn_id`].
    pub call_id: Option<String>,
    /// See [`Self::turn_id`].
    pub attempt: Option<u32>,
    /// Kept when the run's first event is erased.
    pub context: Option<RunContext>,
    /// The `redaction.applied` event that says who, why and which.
    pub redaction: EventRef,
}

impl SideRecord {
    /// The run it speaks of, if that can be told.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Erase(erase) => Some(erase.run_id.as_str()),
            Self::Prune(prune) => Some(prune.run_id.as_str()),
            Self::Seal(seal) | Self::Checkpoint(seal) => Some(seal.statement.run_id.as_str()),
            Self::Other(value) => value.get("run_id").and_then(Value::as_text),
            Self::Damaged(_) => None,
        }
    }

    /// The name under the key `record`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Erase(_) => "erase",
            Self::Prune(_) => "prune",
            Self::Seal(_) => "seal",
            Self::Checkpoint(_) => "checkpoint",
            Self::Other(value) => value.get("record").and_then(Value::as_text).unwrap_or(""),
            Self::Damaged(_) => "",
        }
    }

    /// The canonical bytes: a map with the text key `record`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut map = Fields(vec![("record", Value::text(self.name()))]);
        match self {
            Self::Other(value) => return value.encode(),
            Self::Damaged(bytes) => return bytes.clone(),
            Self::Seal(seal) | Self::Checkpoint(seal) => {
                let Seal { statement: Statement { run_id, size, root, head }, key_id, signature } = seal;
                map.put("run_id", Value::text(run_id.as_str()));
                map.put("size", Value::Uint(*size));
                map.put("root", digest(root));
                map.put("head", digest(head));
                map.put("key_id", Value::text(key_id.to_string()));
                map.put("signature", Value::Bytes(signature.to_vec()));
            }
            Self::Erase(Erase { run_id, seq, type_name, turn_id, call_id, attempt, context, redaction }) => {
                map.put("run_id", Value::text(run_id.as_str()));
                map.put("seq", Value::Uint(seq.get()));
                map.put("type", Value::text(type_name));
                map.put_optional("turn_id", turn_id.as_deref().map(Value::text));
                map.put_optional("call_id", call_id.as_deref().map(Value::text));
                map.put_optional("attempt", attempt.map(|attempt| Value::Uint(attempt.into())));
                map.put_optional("context", context.as_ref().map(RunContext::to_value));
                let EventRef { run_id, seq, ts, hash } = redaction;
                map.put(
                    "redaction",
                    Value::object([
                        ("run_id", Value::text(run_id.as_str())),
                        ("seq", Value::Uint(seq.get())),
                        ("ts", Value::int(ts.0)),
                        ("hash", digest(hash)),
                    ]),
                );
            }
            Self::Prune(prune) => prune.put(&mut map),
        }
        Value::object(map.0).encode()
    }

    /// Reads what was kept as a side record; [`Self::Damaged`] if it is none any more. For whoever keeps records, and
    /// must not withhold the log and the other ones for the sake of one.
    #[must_use]
    pub fn restore(bytes: &[u8]) -> Self {
        Self::decode(bytes).unwrap_or_else(|_| Self::Damaged(bytes.to_vec()))
    }

    /// Reads a side record. A map with an unknown `record`, or with a known one that lacks what it
    /// should have, is kept as [`Self::Other`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let value = Value::decode(bytes, Rules::CANONICAL)?;
        let known = match value.get("record").and_then(Value::as_text) {
            Some("erase") => Erase::read(&value).map(Self::Erase),
            Some("prune") => Prune::read(&value).map(Box::new).map(Self::Prune),
            Some("seal") => read_seal(&value).map(Self::Seal),
            Some("checkpoint") => read_seal(&value).map(Self::Checkpoint),
            _ => None,
        };
        // Only what encodes to the same bytes again was understood completely.
        Ok(known.filter(|record| record.encode() == bytes).unwrap_or(Self::Other(value)))
    }
}

impl RunContext {
    fn to_value(&self) -> Value {
        let Self { task_id, session_id, run_kind } = self;
        let mut map = Fields(Vec::new());
        map.put_optional("task_id", task_id.as_deref().map(Value::text));
        map.put_optional("session_id", session_id.as_deref().map(Value::text));
        map.put_optional("run_kind", run_kind.as_deref().map(Value::text));
        Value::object(map.0)
    }

    fn read(value: &Value) -> Self {
        Self {
            task_id: read_text(value, "task_id"),
            session_id: read_text(value, "session_id"),
            run_kind: read_text(value, "run_kind"),
        }
    }
}

impl Erase {
    fn read(value: &Value) -> Option<Self> {
        let redaction = value.get("redaction")?;
        Some(Self {
            run_id: read_text(value, "run_id")?.parse().ok()?,
            seq: read_seq(value, "seq")?,
            type_name: read_text(value, "type")?,
            turn_id: read_text(value, "turn_id"),
            call_id: read_text(value, "call_id"),
            attempt: value.get("attempt").and_then(Value::as_uint).and_then(|n| u32::try_from(n).ok()),
            context: value.get("context").map(RunContext::read),
            redaction: EventRef {
                run_id: read_text(redaction, "run_id")?.parse().ok()?,
                seq: read_seq(redaction, "seq")?,
                ts: UnixNanos(redaction.get("ts")?.as_int()?),
                hash: read_digest(redaction.get("hash")?)?,
            },
        })
    }
}

/// Whether `r1 redact` may erase an event of this kind and type: never what a verdict rests on.
#[must_use]
pub fn may_be_erased(kind: Kind, type_name: &str) -> bool {
    let kept = ["gate.", "phase.", "redaction."];
    !kind.is_terminal() && !kept.iter().any(|prefix| type_name.starts_with(prefix))
}

fn read_seal(value: &Value) -> Option<Seal> {
    Some(Seal {
        statement: Statement {
            run_id: read_text(value, "run_id")?.parse().ok()?,
            size: value.get("size")?.as_uint()?,
            root: read_digest(value.get("root")?)?,
            head: read_digest(value.get("head")?)?,
        },
        key_id: read_text(value, "key_id")?.parse::<KeyId>().ok()?,
        signature: value.get("signature")?.as_bytes()?.try_into().ok()?,
    })
}

struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn put(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    fn put_optional(&mut self, key: &'static str, value: Option<Value>) {
        self.0.extend(value.map(|value| (key, value)));
    }
}

fn digest(digest: &Digest) -> Value {
    Value::Bytes(digest.as_bytes().to_vec())
}

fn read_digest(value: &Value) -> Option<Digest> {
    value.as_bytes().and_then(Digest::from_slice)
}

fn read_text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_text).map(Into::into)
}

fn read_seq(value: &Value, key: &str) -> Option<Seq> {
    value.get(key).and_then(Value::as_uint).and_then(Seq::new)
}
