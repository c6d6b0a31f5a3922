//! How far a run has come: as much of the loop's own fold as its status needs.
//!
//! [`RunState`](crate::agent::RunState) keeps the whole conversation to go on with it; this keeps a few
//! flags and the open calls, so that it fits in a document. Both say the same after every event of every log.

use std::collections::BTreeSet;

use r1_event::cbor::Value;
use r1_event::payload::Typed;
use r1_event::{Kind, Payload};
use r1_protocol::api::RunStatus;
use r1_protocol::data::{
    ApprovalRequested, ApprovalResolved, ApprovalTimedOut, ArtifactCreated, AssistantToolCallProposed, EventData,
    GapRunDisconnected, PolicyToolBlocked, RunHandedOver, RunReleased, RunStarted, SessionInterrupted, UserAttachment,
};
use serde::{Deserialize, Serialize};

use super::event::{Event, Left, Said};

/// A run's state without its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    interactive: bool,
    phase: Phase,
    ended: Option<Ended>,
    /// Whether a model call is under way.
    in_turn: bool,
    /// Whether the last turn failed for good and was not closed yet.
    turn_failed: bool,
    /// Whether it is the model's turn to speak.
    needs_turn: bool,
    /// Whether the model has still to answer what it was told last, although its turn may be over.
    unanswered: bool,
    /// Whether something was said that the model has not heard.
    heard: bool,
    calls: Vec<Call>,
    /// Requests for approval that are about gates.
    gates: BTreeSet<String>,
    /// Files that can come with a message.
    attachable: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    Held,
    #[default]
    Queued,
    Claimed,
    Paused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Ended {
    Completed,
    Failed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Call {
    call_id: String,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Open,
    Waiting { approval_id: String },
    Closed,
}

impl Progress {
    /// A run that was just made.
    pub(super) fn new(interactive: bool, held: bool) -> Self {
        let phase = if held { Phase::Held } else { Phase::Queued };
        Self { interactive, phase, ..Self::default() }
    }

    /// The same for a run that goes on from `source`: what was open there is not, what was said there is known.
    pub(super) fn continued(self, mut source: Self) -> Self {
        source.calls.iter_mut().for_each(|call| call.stage = Stage::Closed);
        source.in_turn = false;
        source.deliver();
        let Self { unanswered, attachable, .. } = source;
        Self { needs_turn: unanswered, unanswered, attachable, ..self }
    }

    /// The status as the log alone tells it.
    pub(super) fn status(&self) -> RunStatus {
        match (self.ended, self.phase) {
            (Some(Ended::Completed), _) => RunStatus::Completed,
            (Some(Ended::Failed), _) => RunStatus::Failed,
            (Some(Ended::Cancelled), _) => RunStatus::Cancelled,
            (None, Phase::Held) => RunStatus::NotStarted,
            (None, Phase::Paused) => RunStatus::Paused,
            (None, Phase::Queued | Phase::Claimed) if self.is_idle() => RunStatus::Idle,
            (None, Phase::Queued) => RunStatus::Queued,
            (None, Phase::Claimed) if self.waits_for_a_person() => RunStatus::AwaitingApproval,
            (None, Phase::Claimed) => RunStatus::Running,
        }
    }

    fn is_idle(&self) -> bool {
        self.interactive
            && self.ended.is_none()
            && !self.in_turn
            && !self.turn_failed
            && !self.needs_turn
            && self.calls.is_empty()
    }

    fn waits_for_a_person(&self) -> bool {
        let mut open = self.calls.iter().filter(|call| call.stage != Stage::Closed).peekable();
        if !self.in_turn && open.peek().is_none() {
            return !self.gates.is_empty();
        }
        !self.in_turn && open.peek().is_some() && open.all(|call| matches!(call.stage, Stage::Waiting { .. }))
    }

    /// Takes the next event.
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.said {
            Said::Nothing => {}
            Said::Payload(payload) => self.take(payload),
            Said::Erased(left) => self.take_erased(event.kind, left),
        }
        self.deliver();
    }

    /// Once nothing is open, the model hears the results of its calls and what people said meanwhile.
    fn deliver(&mut self) {
        if self.in_turn || self.calls.iter().any(|call| call.stage != Stage::Closed) {
            return;
        }
        self.needs_turn |= self.heard || !self.calls.is_empty();
        self.unanswered |= self.needs_turn;
        self.heard = false;
        self.calls.clear();
    }

    fn take(&mut self, payload: &Payload) {
        match payload {
            Payload::UserMessageAppended(_) => self.heard = true,
            Payload::TurnStarted(_) => self.turn_started(),
            Payload::AssistantMessageCompleted(message) => {
                self.turn_completed(matches!(message.stop_reason.as_str(), "cancelled" | "error"));
            }
            Payload::ToolCallScheduled(call) => self.set(&call.call_id, Stage::Open),
            Payload::ToolCallCompleted(call) => self.set(&call.call_id, Stage::Closed),
            Payload::ToolCallFailed(call) => {
                let again = call.outcome.as_deref() == Some("unknown") && !call.r#final;
                self.set(&call.call_id, if again { Stage::Open } else { Stage::Closed });
            }
            Payload::BudgetExceeded(_) => self.halted(),
            Payload::RunCompleted(_) | Payload::RunFailed(_) | Payload::RunCancelled(_) => self.end(payload.kind()),
            Payload::RunResumed(resumed) => self.resumed(!resumed.extra_message.is_empty()),
            Payload::TurnFailed(failed) => self.turn_failed(failed.will_retry != Some(true)),
            Payload::Typed(typed) => self.typed(typed),
            Payload::RunStarted(_)
            | Payload::ReasoningEmitted(_)
            | Payload::SideEffectRecorded(_)
            | Payload::ContextTruncated(_)
            | Payload::Other(..) => {}
        }
    }

    /// An erased event keeps its kind, and the ids by which it belongs to others.
    fn take_erased(&mut self, kind: Kind, left: &Left) {
        let call_id = left.call_id.as_deref().unwrap_or_default();
        match kind {
            Kind::UserMessageAppended => self.heard = true,
            Kind::TurnStarted => self.turn_started(),
            Kind::AssistantMessageCompleted => self.turn_completed(false),
            Kind::ToolCallScheduled => self.set(call_id, Stage::Open),
            Kind::ToolCallCompleted | Kind::ToolCallFailed => self.set(call_id, Stage::Closed),
            Kind::BudgetExceeded => self.halted(),
            Kind::RunCompleted | Kind::RunFailed | Kind::RunCancelled => self.end(kind),
            Kind::RunResumed => self.resumed(false),
            Kind::TurnFailed => self.turn_failed(left.in_turn),
            Kind::Typed => self.phase_of(&left.type_name),
            Kind::RunStarted
            | Kind::ReasoningEmitted
            | Kind::SideEffectRecorded
            | Kind::ContextTruncated
            | Kind::Other(_) => {}
        }
    }

    fn typed(&mut self, typed: &Typed) {
        let data = typed.data.value().unwrap_or(Value::Null);
        let text = |key: &str| data.get(key).and_then(Value::as_text);
        match typed.r#type.as_str() {
            AssistantToolCallProposed::TYPE => {
                if let Some(call_id) = text("tool_call_id") {
                    self.calls.push(Call { call_id: call_id.into(), stage: Stage::Open });
                }
            }
            ApprovalRequested::TYPE => {
                let Some(approval_id) = text("approval_id") else { return };
                match text("tool_call_id") {
                    Some(call_id) => self.set(call_id, Stage::Waiting { approval_id: approval_id.into() }),
                    None if text("kind") == Some("gate") => drop(self.gates.insert(approval_id.into())),
                    None => {}
                }
            }
            ApprovalResolved::TYPE => {
                let approved = text("decision") == Some("approved");
                self.answered(text("approval_id"), if approved { Stage::Open } else { Stage::Closed });
            }
            ApprovalTimedOut::TYPE => self.answered(text("approval_id"), Stage::Closed),
            PolicyToolBlocked::TYPE => self.set(text("tool_call_id").unwrap_or_default(), Stage::Closed),
            ArtifactCreated::TYPE => {
                // Only what came with a message is shown to the model.
                if let (Some(id), None) = (text("artifact_id"), text("tool_call_id")) {
                    self.attachable.insert(id.into());
                }
            }
            UserAttachment::TYPE => {
                self.heard |= text("artifact_id").is_some_and(|id| self.attachable.contains(id));
            }
            name => self.phase_of(name),
        }
    }

    /// Types whose name says it all.
    fn phase_of(&mut self, type_name: &str) {
        match type_name {
            RunStarted::TYPE => self.phase = Phase::Claimed,
            RunReleased::TYPE => self.phase = Phase::Queued,
            RunHandedOver::TYPE | GapRunDisconnected::TYPE => {
                self.phase = if self.interactive && !self.is_idle() { Phase::Paused } else { Phase::Queued };
            }
            SessionInterrupted::TYPE => (self.needs_turn, self.unanswered) = (false, false),
            _ => {}
        }
    }

    const fn turn_started(&mut self) {
        self.needs_turn = false;
        self.in_turn = true;
    }

    fn turn_completed(&mut self, void: bool) {
        let closes = self.in_turn || self.turn_failed;
        (self.in_turn, self.turn_failed) = (false, false);
        if closes && void {
            self.calls.clear();
        } else if closes {
            self.unanswered = false;
        }
    }

    fn turn_failed(&mut self, for_good: bool) {
        if !self.in_turn {
            return;
        }
        self.calls.clear();
        if for_good {
            (self.in_turn, self.turn_failed) = (false, true);
        }
    }

    const fn halted(&mut self) {
        (self.in_turn, self.needs_turn) = (false, false);
    }

    const fn resumed(&mut self, heard: bool) {
        self.phase = Phase::Claimed;
        self.needs_turn |= self.in_turn;
        self.in_turn = false;
        self.heard |= heard;
    }

    const fn end(&mut self, kind: Kind) {
        self.ended = Some(match kind {
            Kind::RunCompleted => Ended::Completed,
            Kind::RunCancelled => Ended::Cancelled,
            _ => Ended::Failed,
        });
    }

    fn set(&mut self, call_id: &str, stage: Stage) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.call_id == call_id) {
            call.stage = stage;
        }
    }

    fn answered(&mut self, answered: Option<&str>, stage: Stage) {
        if let Some(approval_id) = answered {
            self.gates.remove(approval_id);
        }
        let waits = |call: &&mut Call| matches!(&call.stage, Stage::Waiting { approval_id } if Some(&**approval_id) == answered);
        if let Some(call) = self.calls.iter_mut().find(waits) {
            call.stage = stage;
        }
    }
}
