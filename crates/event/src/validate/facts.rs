//! The first half of a check: all that one event says by itself. Pure per event, so it runs on any thread.

use bytes::Bytes;

use crate::cbor::{Rules, Value};
use crate::hash_many::hash_many;
use crate::header::{Header, MalformedHeader};
use crate::id::{Digest, Seq, UnixNanos};
use crate::kind::Kind;
use crate::merkle::{Blake3, TreeHash as _};
use crate::payload::{self, Field as _, FieldSpec, UnfitPayload};
use crate::projection;
use crate::record::{Record, Version};

/// What one v2 event says by itself.
#[derive(Clone, Debug)]
pub(super) struct Examined {
    pub(super) hash: Digest,
    pub(super) leaf: Digest,
    pub(super) header: Result<Fields, MalformedHeader>,
    pub(super) payload: PayloadState,
    pub(super) fact: Fact,
    /// A key of an intact payload that holds something else than its kind says.
    pub(super) unreadable: Option<&'static str>,
}

/// The header's fields that later checks need.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) seq: Seq,
    pub(super) prev_hash: Option<Digest>,
    pub(super) ts: UnixNanos,
    pub(super) kind: Kind,
    /// The header's run id, only if it is not the log's.
    pub(super) other_run: Option<String>,
}

/// How the payload stands to its header.
#[derive(Clone, Debug)]
pub(super) enum PayloadState {
    Intact,
    Erased,
    /// Not the bytes that the header names.
    Mismatch {
        expected: Digest,
        found: Digest,
    },
    /// As many bytes as the header says? No.
    WrongSize {
        expected: u64,
        found: u64,
    },
    /// The right bytes, but none that a writer may write.
    Unfit(UnfitPayload),
}

/// What a payload contributes to pairing and totals.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Nothing,
    Started {
        schema_version: Option<u64>,
        recorded: bool,
    },
    TurnStarted {
        turn_id: String,
    },
    TurnCompleted {
        turn_id: String,
    },
    BudgetExceeded {
        turn_id: String,
    },
    TurnFailed {
        turn_id: String,
        will_retry: bool,
    },
    CallScheduled(Call),
    CallEnded(Call),
    Resumed,
    Terminal {
        root: Option<Digest>,
        log_size: Option<u64>,
    },
    Redaction {
        run_id: String,
        sequences: Vec<u64>,
    },
    /// Not to be told, because the payload does not hold what its kind promises.
    Unreadable,
}

/// One attempt at a tool call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) attempt: u32,
}

/// The hashes of one event's parts.
struct Hashes {
    header: Digest,
    leaf: Digest,
    payload: Digest,
}

/// Examines an event of the log of `run_id`.
pub(super) fn examine(run_id: &str, record: &Record) -> Examined {
    let payload = record.payload.as_deref().unwrap_or_default();
    let hashes =
        Hashes { header: Digest::blake3(&record.header), leaf: record.leaf(), payload: Digest::blake3(payload) };
    read(run_id, record, hashes)
}

/// [`examine`] for each of `records`, sooner than one by one.
pub(super) fn examine_all(run_id: &str, records: &[Record]) -> Vec<Examined> {
    let headers: Vec<&[u8]> = records.iter().map(|record| &record.header[..]).collect();
    let payloads: Vec<&[u8]> = records.iter().map(|record| record.payload.as_deref().unwrap_or_default()).collect();
    let parts = hash_many(&headers).into_iter().zip(Blake3::leaves(&headers)).zip(hash_many(&payloads));
    let examined = records.iter().zip(parts).map(|(record, ((header, leaf), payload))| {
        // What looks like an event of the other format is a leaf by that format's rule.
        let leaf = if record.version() == Some(Version::V1) { record.leaf() } else { leaf };
        read(run_id, record, Hashes { header, leaf, payload })
    });
    examined.collect()
}

fn read(run_id: &str, record: &Record, hashes: Hashes) -> Examined {
    let Hashes { header: hash, leaf, payload: payload_hash } = hashes;
    match Header::decode_of(run_id, &record.header) {
        Ok(header) => {
            let (payload, fact, unreadable) = match &record.payload {
                None => (PayloadState::Erased, Fact::Nothing, None),
                Some(bytes) => read_payload(&header, bytes, payload_hash),
            };
            let other_run = (header.run_id != run_id).then(|| header.run_id.to_owned());
            let Header { seq, prev_hash, ts, kind, .. } = header;
            let header = Ok(Fields { seq, prev_hash, ts, kind, other_run });
            Examined { hash, leaf, header, payload, fact, unreadable }
        }
        Err(malformed) => {
            let (payload, fact) = (PayloadState::Intact, Fact::Nothing);
            Examined { hash, leaf, header: Err(malformed), payload, fact, unreadable: None }
        }
    }
}

fn read_payload(header: &Header<'_>, bytes: &[u8], found: Digest) -> (PayloadState, Fact, Option<&'static str>) {
    let size = bytes.len() as u64;
    if size != header.payload_size {
        return (PayloadState::WrongSize { expected: header.payload_size, found: size }, Fact::Nothing, None);
    }
    if found != header.payload_hash {
        return (PayloadState::Mismatch { expected: header.payload_hash, found }, Fact::Nothing, None);
    }
    let mut body = Body::of(header.kind);
    if let Err(unfit) = payload::visit_v2(bytes, |key, item| body.take(key, item)) {
        return (PayloadState::Unfit(unfit), Fact::Nothing, None);
    }
    match fact(header.kind, &body) {
        Ok(fact) => (PayloadState::Intact, fact, body.wrong),
        Err(Unread::Key(key)) => (PayloadState::Intact, Fact::Unreadable, Some(key)),
        Err(Unread::Reserved(unfit)) => (PayloadState::Unfit(unfit), Fact::Nothing, None),
    }
}

enum Unread {
    Key(&'static str),
    Reserved(UnfitPayload),
}

/// The keys whose items [`fact`] looks at.
const fn wanted_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::RunStarted => &["schema_version", "run_kind"],
        Kind::TurnStarted | Kind::AssistantMessageCompleted | Kind::BudgetExceeded => &["turn_id"],
        Kind::TurnFailed => &["turn_id", "will_retry"],
        Kind::ToolCallScheduled | Kind::ToolCallCompleted | Kind::ToolCallFailed => &["call_id", "attempt"],
        Kind::RunCompleted | Kind::RunFailed | Kind::RunCancelled => &["merkle_root", "log_size"],
        Kind::Typed => &["type", "data"],
        Kind::UserMessageAppended
        | Kind::ReasoningEmitted
        | Kind::SideEffectRecorded
        | Kind::ContextTruncated
        | Kind::RunResumed
        | Kind::Other(_) => &[],
    }
}

fn fact(kind: Kind, body: &Body<'_>) -> Result<Fact, Unread> {
    Ok(match kind {
        Kind::RunStarted => Fact::Started {
            schema_version: body.uint("schema_version"),
            recorded: body.text("run_kind")?.as_deref() == Some("recorded"),
        },
        Kind::TurnStarted => Fact::TurnStarted { turn_id: body.required("turn_id")? },
        Kind::AssistantMessageCompleted => Fact::TurnCompleted { turn_id: body.required("turn_id")? },
        Kind::BudgetExceeded => Fact::BudgetExceeded { turn_id: body.text("turn_id")?.unwrap_or_default() },
        Kind::TurnFailed => Fact::TurnFailed {
            turn_id: body.text("turn_id")?.unwrap_or_default(),
            will_retry: body.get("will_retry").and_then(bool::read) == Some(true),
        },
        Kind::ToolCallScheduled => Fact::CallScheduled(body.call()?),
        Kind::ToolCallCompleted | Kind::ToolCallFailed => Fact::CallEnded(body.call()?),
        Kind::RunResumed => Fact::Resumed,
        Kind::RunCompleted | Kind::RunFailed | Kind::RunCancelled => Fact::Terminal {
            root: body
                .get("merkle_root")
                .and_then(Option::<Bytes>::read)
                .flatten()
                .and_then(|root| Digest::from_slice(&root)),
            log_size: body.uint("log_size"),
        },
        Kind::Typed => body.typed()?,
        Kind::UserMessageAppended
        | Kind::ReasoningEmitted
        | Kind::SideEffectRecorded
        | Kind::ContextTruncated
        | Kind::Other(_) => Fact::Nothing,
    })
}

/// The items under the wanted keys of one payload.
struct Body<'a> {
    known: &'static [FieldSpec],
    wanted: &'static [&'static str],
    items: [Option<&'a [u8]>; 3],
    /// The first known key whose item is of another type than it should be.
    wrong: Option<&'static str>,
}

impl<'a> Body<'a> {
    const fn of(kind: Kind) -> Self {
        Self { known: payload::fields(kind), wanted: wanted_keys(kind), items: [None; 3], wrong: None }
    }

    fn take(&mut self, key: &[u8], item: &'a [u8]) {
        let spec = self.known.iter().find(|spec| spec.name.as_bytes() == key);
        if let Some(spec) = spec.filter(|spec| !payload::is_of_type(spec.field_type, item)) {
            self.wrong.get_or_insert(spec.name);
        }
        if let Some(at) = self.wanted.iter().position(|wanted| wanted.as_bytes() == key) {
            self.items[at] = Some(item);
        }
    }

    fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.wanted.iter().position(|wanted| *wanted == key).and_then(|at| self.items[at])
    }

    fn uint(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(u64::read)
    }

    /// A text, or nothing if the key is not there.
    fn text(&self, key: &'static str) -> Result<Option<String>, Unread> {
        self.get(key).map(|item| String::read(item).ok_or(Unread::Key(key))).transpose()
    }

    fn required(&self, key: &'static str) -> Result<String, Unread> {
        self.text(key)?.filter(|text| !text.is_empty()).ok_or(Unread::Key(key))
    }

    fn call(&self) -> Result<Call, Unread> {
        let attempt = self.get("attempt").and_then(u32::read).ok_or(Unread::Key("attempt"))?;
        Ok(Call { id: self.required("call_id")?, attempt })
    }

    fn typed(&self) -> Result<Fact, Unread> {
        let type_name = self.required("type")?;
        projection::refuse_reserved(&type_name).map_err(Unread::Reserved)?;
        if !self.get("data").is_some_and(payload::is_map) {
            return Err(Unread::Key("data"));
        }
        if type_name != "redaction.applied" {
            return Ok(Fact::Nothing);
        }
        let data = self.get("data").and_then(|data| Value::decode(data, Rules::CANONICAL).ok());
        let data = data.ok_or(Unread::Key("data"))?;
        let sequences = data.get("sequences").and_then(Value::as_array).ok_or(Unread::Key("data"))?;
        Ok(Fact::Redaction {
            run_id: data.get("run_id").and_then(Value::as_text).ok_or(Unread::Key("data"))?.into(),
            sequences: sequences.iter().filter_map(Value::as_uint).collect(),
        })
    }
}
