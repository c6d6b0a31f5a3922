//! Erasing what should never have been recorded.

use r1_event::cbor::Value;
use r1_event::payload::{Payload, Raw, Typed};
use r1_event::side_record::{Erase, EventRef, may_be_erased};
use r1_event::{Kind, Record, RunId, Seq, SideRecord, UnixNanos, Version, projection};
use r1_receipt::graph::{Expected, Redaction};
use r1_receipt::key::SecretKey;
use r1_store::{PageLimit, SharedStore, StoreError, Traces};

use super::caller::Caller;
use super::check::blocking;
use super::operator::{self, About, OperatorError, OperatorRun};
use super::prune::context_of;
use super::receipt::{RebuildError, notes_of};
use super::view;
use crate::emit::Emission;
use crate::index::Index;
use crate::source::{Log, SourceError, StoredRun};
use crate::world::NoRandomness;
use crate::writer::{RunWriter, WriterError};

/// What to erase, and who says so.
#[derive(Clone, Debug)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// The events whose payloads go.
    pub seqs: Vec<Seq>,
    /// Who asks, for example `operator:alice`.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The events whose payloads are gone now.
    pub erased: Vec<Seq>,
    /// Those whose payloads were gone before.
    pub erased_before: Vec<Seq>,
    /// The event that says who and why; if all were gone before, the one that said so then.
    pub redaction: EventRef,
    /// Whether the content of all of them is gone from the store's files too.
    pub traces: Traces,
}

/// Writes down who erases what and why, then erases it. The chain, all proofs and seals go on to hold.
///
/// An open run gets the `redaction.applied` event itself; for a finished one a new operator run does. The
/// index takes the text out of its documents when it reads of the redaction, which is seen to here.
///
/// What was erased before is not written down again; if bytes of it were left in the store's files, they are
/// cleared away now.
pub async fn redact(
    store: &SharedStore,
    request: &Request,
    owner: &str,
    key: Option<SecretKey>,
    now: UnixNanos,
) -> Result<Redacted, RedactError> {
    let head = store.head(&request.run).await?.ok_or_else(|| StoreError::NoRun { run: request.run.clone() })?;
    let (mut targets, mut gone) = (Vec::new(), Vec::new());
    for seq in &request.seqs {
        match target(store, &request.run, *seq).await? {
            Some(target) => targets.push(target),
            None => gone.push(*seq),
        }
    }
    let mut erasures = erase_records(store, &request.run, &gone).await?;
    let erased = targets.iter().map(|target| target.seq).collect();
    let redaction = if targets.is_empty() {
        let before = erasures.first().map(|erase| erase.redaction.clone());
        before.ok_or_else(|| RedactError::Nothing { run: request.run.clone() })?
    } else {
        let redaction = write_down(store, request, &targets, head.terminal.is_some(), owner, key, now).await?;
        erasures.extend(targets.into_iter().map(|target| target.into_erase(&redaction)));
        redaction
    };
    // First: erasing also clears away what documents said before they were replaced.
    Index::new(store.clone()).refresh(&redaction.run_id).await?;
    let traces = store.erase(erasures).await?;
    Ok(Redacted { erased, erased_before: gone, redaction, traces })
}

/// The records of erasures that were made before.
async fn erase_records(store: &SharedStore, run: &RunId, seqs: &[Seq]) -> Result<Vec<Erase>, StoreError> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let erase = |record| match record {
        SideRecord::Erase(erase) => seqs.contains(&erase.seq).then_some(erase),
        SideRecord::Seal(_)
        | SideRecord::Checkpoint(_)
        | SideRecord::Prune(_)
        | SideRecord::Other(_)
        | SideRecord::Damaged(_) => None,
    };
    Ok(store.side_records(run).await?.into_iter().filter_map(erase).collect())
}

/// Writes down who erases what and why.
async fn write_down(
    store: &SharedStore,
    request: &Request,
    targets: &[Target],
    is_finished: bool,
    owner: &str,
    key: Option<SecretKey>,
    now: UnixNanos,
) -> Result<EventRef, RedactError> {
    let nodes = nodes_to_keep(store, &request.run, targets).await?;
    let said = redaction_applied(request, targets, &nodes);
    if is_finished {
        write_operator_run(store, request, said, owner, key, now).await
    } else {
        write_into_run(store, request, said, owner, now).await
    }
}

/// An event that may be erased.
struct Target {
    run: RunId,
    seq: Seq,
    record: Record,
    kind: Kind,
    type_name: String,
}

/// Looks an event up; `None` if its payload is gone already.
async fn target(store: &SharedStore, run: &RunId, seq: Seq) -> Result<Option<Target>, RedactError> {
    let mut page = store.read(run, seq, PageLimit::ONE).await?.records;
    let record = page.pop().ok_or_else(|| StoreError::NoEvent { run: run.clone(), seq })?;
    if record.version() == Some(Version::V1) {
        return Err(RedactError::V1 { run: run.clone() });
    }
    let place = view::place(&record)
        .filter(|place| place.seq == seq.get())
        .ok_or_else(|| StoreError::NoEvent { run: run.clone(), seq })?;
    let Some(payload) = &record.payload else { return Ok(None) };
    if !record.has_its_payload() {
        return Err(RedactError::Tampered { run: run.clone(), seq });
    }
    let type_name = projection::type_of(Version::V2, place.kind, Some(payload)).into_owned();
    if !may_be_erased(place.kind, &type_name) {
        return Err(RedactError::Protected { seq, type_name });
    }
    Ok(Some(Target { run: run.clone(), seq, record, kind: place.kind, type_name }))
}

/// Names and edges of the receipt's nodes that can no longer be made once the targets are gone.
async fn nodes_to_keep(store: &SharedStore, run: &RunId, targets: &[Target]) -> Result<Vec<Expected>, RedactError> {
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    let before = match notes_of(&log, Some(store)).await {
        Ok(notes) => notes,
        // No receipt can be made of that run anyway.
        Err(RebuildError::PrunedBlindly { .. }) => return Ok(Vec::new()),
        Err(RebuildError::Source(err)) => return Err(err.into()),
    };
    let mut after = before.clone();
    for target in targets {
        let (turn_id, call_id, attempt) = target.pairing_ids();
        after.erase(target.seq.get(), turn_id, call_id, attempt);
    }
    let mut planned = Redaction::new(before, after, targets.iter().map(|target| target.seq.get()).collect());
    blocking(move || {
        for page in log.pages() {
            page?.iter().for_each(|record| planned.push(record));
        }
        Ok(planned.finish())
    })
    .await
}

impl Target {
    /// The ids by which later checks pair the event with others.
    fn pairing_ids(&self) -> (Option<String>, Option<String>, Option<u32>) {
        let payload = self.record.payload.as_ref().and_then(|bytes| Payload::decode(self.kind, bytes).ok());
        payload.map_or((None, None, None), pairing_ids)
    }

    fn into_erase(self, redaction: &EventRef) -> Erase {
        let (turn_id, call_id, attempt) = self.pairing_ids();
        Erase {
            run_id: self.run,
            seq: self.seq,
            type_name: self.type_name,
            turn_id,
            call_id,
            attempt,
            context: (self.seq == Seq::FIRST).then(|| context_of(&self.record)).flatten(),
            redaction: redaction.clone(),
        }
    }
}

/// The ids by which later checks pair this event with others.
pub(crate) fn pairing_ids(payload: Payload) -> (Option<String>, Option<String>, Option<u32>) {
    match payload {
        Payload::TurnStarted(body) => (Some(body.turn_id), None, None),
        Payload::ReasoningEmitted(body) => (Some(body.turn_id), None, None),
        Payload::AssistantMessageCompleted(body) => (Some(body.turn_id), None, None),
        Payload::BudgetExceeded(body) => (some(body.turn_id), some(body.call_id), None),
        // An attempt that is tried again leaves its turn open, so it must not look like the turn's end.
        Payload::TurnFailed(body) => (body.turn_id.filter(|_| body.will_retry != Some(true)), None, None),
        Payload::ToolCallScheduled(body) => (some(body.turn_id), Some(body.call_id), Some(body.attempt)),
        Payload::ToolCallCompleted(body) => (None, Some(body.call_id), Some(body.attempt)),
        Payload::ToolCallFailed(body) => (None, Some(body.call_id), Some(body.attempt)),
        Payload::RunStarted(_)
        | Payload::UserMessageAppended(_)
        | Payload::SideEffectRecorded(_)
        | Payload::ContextTruncated(_)
        | Payload::RunCompleted(_)
        | Payload::RunFailed(_)
        | Payload::RunCancelled(_)
        | Payload::RunResumed(_)
        | Payload::Typed(_)
        | Payload::Other(..) => (None, None, None),
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn redaction_applied(request: &Request, targets: &[Target], nodes: &[Expected]) -> Payload {
    // The event protocol counts from 0.
    let sequences = targets.iter().map(|target| Value::Uint(target.seq.get() - 1)).collect();
    let mut data = vec![
        ("run_id", Value::text(request.run.as_str())),
        ("sequences", Value::Array(sequences)),
        ("by", Value::text(&request.by)),
        ("reason", Value::text(&request.reason)),
    ];
    if !nodes.is_empty() {
        data.push(("nodes", Value::Array(nodes.iter().map(Expected::to_cbor).collect())));
    }
    let data = Value::object(data);
    Payload::Typed(Typed { r#type: "redaction.applied".into(), data: Raw::from(&data), ..Typed::default() })
}

async fn write_into_run(
    store: &SharedStore,
    request: &Request,
    said: Payload,
    owner: &str,
    now: UnixNanos,
) -> Result<EventRef, RedactError> {
    let mut writer = RunWriter::open(store.clone(), request.run.clone(), owner, None).await?;
    let written = writer.append([(now, said)]).await;
    let hash = writer.chain().head();
    let closed = writer.close().await;
    let seq = written?;
    closed?;
    event_ref(request.run.clone(), seq, now, hash)
}

async fn write_operator_run(
    store: &SharedStore,
    request: &Request,
    said: Payload,
    owner: &str,
    key: Option<SecretKey>,
    now: UnixNanos,
) -> Result<EventRef, RedactError> {
    let new = OperatorRun {
        about: About::Run(request.run.clone()),
        goal: format!("redact {}", request.run),
        reason: request.reason.clone(),
        events: vec![Emission::plain(said)],
    };
    let written = operator::write(store, new, owner, key, now, &Caller::default()).await?;
    written.into_iter().next().ok_or_else(|| StoreError::NoRun { run: request.run.clone() }.into())
}

fn event_ref(run_id: RunId, seq: Seq, ts: UnixNanos, hash: Option<r1_event::Digest>) -> Result<EventRef, RedactError> {
    let hash = hash.ok_or_else(|| StoreError::NoEvent { run: run_id.clone(), seq })?;
    Ok(EventRef { run_id, seq, ts, hash })
}

/// Nothing was erased.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// A verdict rests on this event.
    #[error("event {seq} is a `{type_name}` event, which is never erased: verdicts rest on it")]
    Protected {
        /// Which.
        seq: Seq,
        /// What.
        type_name: String,
    },
    /// v1 hashes cover payloads.
    #[error("run {run} is a v1 log, whose hashes cover the payloads: nothing in it can be erased")]
    V1 {
        /// The run.
        run: RunId,
    },
    /// Once it were gone, nobody could tell any more.
    #[error(
        "the payload of event {seq} of run {run} is not the one that was recorded; it stays, so that this can be seen"
    )]
    Tampered {
        /// The run.
        run: RunId,
        /// Which.
        seq: Seq,
    },
    /// All of it is gone, and no record says by whom.
    #[error("the payloads of these events of run {run} are gone already, and nothing tells who erased them")]
    Nothing {
        /// The run.
        run: RunId,
    },
    /// The redaction could not be written down.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// No operator run can be named.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The run's log cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<OperatorError> for RedactError {
    fn from(err: OperatorError) -> Self {
        match err {
            OperatorError::Writer(err) => Self::Writer(err),
            OperatorError::Randomness(err) => Self::Randomness(err),
            OperatorError::Store(err) => Self::Store(err),
        }
    }
}
