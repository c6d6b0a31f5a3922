//! One event as the index sees it.

use r1_event::payload::Typed;
use r1_event::side_record::{Erase, RunContext};
use r1_event::{Kind, Payload, Record, Seq, UnixNanos, Version, projection, v1};
use r1_protocol::data::{
    ApprovalRequested, ApprovalResolved, ApprovalTimedOut, ArtifactCreated, ArtifactUpdated, AssistantToolCallProposed,
    CostTick, EventData, GapRunDisconnected, MemoryWrite, PolicyModelRewrote, PolicyToolBlocked, RedactionApplied,
    RunHandedOver, RunReleased, RunStarted, SessionInterrupted, TaskUpdated, ToolEditApplied, ToolFileWriteApplied,
    UserAttachment,
};
use r1_protocol::review::GATE_EVIDENCE;

use crate::control::prune::context_of;
use crate::control::redact::pairing_ids;

/// Types that change something which is kept. All others, deltas and chunks first of all, are passed over
/// without being read.
const FOLDED: &[&str] = &[
    ApprovalRequested::TYPE,
    ApprovalResolved::TYPE,
    ApprovalTimedOut::TYPE,
    ArtifactCreated::TYPE,
    ArtifactUpdated::TYPE,
    AssistantToolCallProposed::TYPE,
    CostTick::TYPE,
    GapRunDisconnected::TYPE,
    MemoryWrite::TYPE,
    PolicyModelRewrote::TYPE,
    PolicyToolBlocked::TYPE,
    RedactionApplied::TYPE,
    RunHandedOver::TYPE,
    RunReleased::TYPE,
    RunStarted::TYPE,
    SessionInterrupted::TYPE,
    TaskUpdated::TYPE,
    ToolEditApplied::TYPE,
    ToolFileWriteApplied::TYPE,
    UserAttachment::TYPE,
];

/// An event's place, and what of it matters.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) seq: Seq,
    pub(super) at: UnixNanos,
    pub(super) version: Version,
    pub(super) kind: Kind,
    pub(super) said: Said,
}

/// What an event says.
#[derive(Debug)]
pub(super) enum Said {
    /// Nothing that is kept.
    Nothing,
    /// This.
    Payload(Box<Payload>),
    /// What it said was erased; what is left tells what it was.
    Erased(Left),
}

/// What is still known of an event whose payload was erased.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) type_name: String,
    pub(super) call_id: Option<String>,
    /// Whether it belongs to a turn; of a failed attempt, whether it was the turn's last.
    pub(super) in_turn: bool,
    /// Of a run's first event: where the run belongs.
    pub(super) context: Option<RunContext>,
}

/// Where a record stands; `None` if its header cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) seq: Seq,
    pub(super) at: UnixNanos,
    pub(super) version: Version,
    pub(super) kind: Kind,
}

impl Place {
    pub(super) fn of(record: &Record) -> Option<Self> {
        let version = record.version()?;
        Some(match version {
            Version::V2 => {
                let header = record.header().ok()?;
                Self { seq: header.seq, at: header.ts, version, kind: header.kind }
            }
            Version::V1 => {
                let header = v1::Header::decode(&record.header)?;
                let kind = Kind::from_number(header.kind.into());
                Self { seq: Seq::new(header.seq)?, at: UnixNanos(header.ts), version, kind }
            }
        })
    }
}

impl Event {
    /// Reads a record whose payload is there.
    pub(super) fn read(place: Place, record: &Record) -> Self {
        let said = match &record.payload {
            Some(bytes) if matters(place.kind, bytes) => {
                // What cannot be read says nothing; whether the log is sound is for others to tell.
                Payload::decode(place.kind, bytes).map_or(Said::Nothing, |payload| Said::Payload(Box::new(payload)))
            }
            _ => Said::Nothing,
        };
        Self::new(place, said)
    }

    /// An event whose payload is gone, or is to be read as if it were.
    pub(super) fn erased(place: Place, record: &Record, erase: Option<&Erase>) -> Self {
        let left = match (erase, &record.payload) {
            (Some(erase), _) => Left {
                type_name: erase.type_name.clone(),
                call_id: erase.call_id.clone(),
                in_turn: erase.turn_id.is_some(),
                context: erase.context.clone(),
            },
            // It is to be erased, and nobody did so yet: what the record of that will keep.
            (None, payload) => {
                let decoded = payload.as_ref().and_then(|bytes| Payload::decode(place.kind, bytes).ok());
                let (turn_id, call_id, _) = decoded.map_or((None, None, None), pairing_ids);
                Left {
                    type_name: projection::type_of(place.version, place.kind, payload.as_ref()).into_owned(),
                    call_id,
                    in_turn: turn_id.is_some(),
                    context: context_of(record),
                }
            }
        };
        Self::new(place, Said::Erased(left))
    }

    const fn new(place: Place, said: Said) -> Self {
        let Place { seq, at, version, kind } = place;
        Self { seq, at, version, kind, said }
    }

    /// What it says, if that is kept and can be read.
    pub(super) const fn payload(&self) -> Option<&Payload> {
        match &self.said {
            Said::Payload(payload) => Some(payload),
            Said::Nothing | Said::Erased(_) => None,
        }
    }

    /// The Typed event that it is, if it is one and can be read.
    pub(super) const fn typed(&self) -> Option<&Typed> {
        match self.payload() {
            Some(Payload::Typed(typed)) => Some(typed),
            _ => None,
        }
    }
}

fn matters(kind: Kind, payload: &[u8]) -> bool {
    match kind {
        Kind::RunStarted
        | Kind::UserMessageAppended
        | Kind::TurnStarted
        | Kind::AssistantMessageCompleted
        | Kind::ToolCallScheduled
        | Kind::ToolCallCompleted
        | Kind::ToolCallFailed
        | Kind::BudgetExceeded
        | Kind::RunCompleted
        | Kind::RunFailed
        | Kind::RunCancelled
        | Kind::RunResumed
        | Kind::TurnFailed => true,
        Kind::Typed => projection::typed_name(payload).is_some_and(|name| FOLDED.contains(&name)),
        // The name is the first thing that it says.
        Kind::SideEffectRecorded => {
            let beginning = &payload[..payload.len().min(2 * GATE_EVIDENCE.len())];
            beginning.windows(GATE_EVIDENCE.len()).any(|bytes| bytes == GATE_EVIDENCE.as_bytes())
        }
        Kind::ReasoningEmitted | Kind::ContextTruncated | Kind::Other(_) => false,
    }
}
