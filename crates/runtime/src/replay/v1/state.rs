//! Where the loop stands after the events before.

use r1_event::payload::{BudgetExceeded, RunStarted};
use r1_event::{Digest, Payload, Seq};

use super::calls::Calls;
use super::conversation::Conversation;
use super::totals::Totals;

/// Starling's loop.
pub(super) struct Loop {
    pub(super) started: RunStarted,
    pub(super) conversation: Conversation,
    pub(super) calls: Calls,
    pub(super) totals: Totals,
    pub(super) phase: Phase,
    last_turn: String,
}

/// What the loop is at.
pub(super) enum Phase {
    /// The model is to be asked.
    Asking,
    /// The model answers in this turn.
    Listening { turn: String },
    /// Calls are made, and their outcomes awaited.
    Calling,
    /// The message of a seam has to be appended.
    Telling { message: String },
    /// The model asked for nothing more.
    Answered,
    /// A budget is used up.
    Exceeded(BudgetExceeded),
    /// The run is over.
    Ended,
}

/// Where in the log an event stands.
pub(super) struct Place {
    pub(super) seq: Seq,
    /// Of all events before it.
    pub(super) root: Digest,
}

impl Loop {
    /// After a first event; `None` if no log begins so.
    pub(super) fn new(payload: &Payload) -> Option<Self> {
        let Payload::RunStarted(started) = payload else { return None };
        Some(Self {
            conversation: Conversation::new(started),
            started: started.as_ref().clone(),
            calls: Calls::default(),
            totals: Totals::default(),
            phase: Phase::Asking,
            last_turn: String::new(),
        })
    }

    /// Whether a program of its own made the steps of this run: Starling's loop always lists its tools.
    pub(super) const fn is_driven(&self) -> bool {
        self.started.tool_schemas.is_none()
    }

    /// Takes the next event.
    pub(super) fn apply(&mut self, payload: &Payload) {
        match payload {
            Payload::UserMessageAppended(message) => {
                self.conversation.told(&message.content);
                self.call_or_ask();
            }
            Payload::TurnStarted(turn) => {
                self.conversation.asked(turn);
                self.calls.clear();
                self.totals.turn();
                self.last_turn.clone_from(&turn.turn_id);
                self.phase = Phase::Listening { turn: turn.turn_id.clone() };
            }
            Payload::AssistantMessageCompleted(message) => {
                self.conversation.answered(message);
                self.totals.answer(message);
                self.calls.plan(message);
                let is_final = message.tool_uses.as_ref().is_none_or(Vec::is_empty);
                self.phase = if is_final { Phase::Answered } else { Phase::Calling };
            }
            Payload::ToolCallScheduled(call) => {
                self.calls.schedule(call);
                self.totals.call();
            }
            Payload::ToolCallCompleted(call) => {
                self.conversation.call_completed();
                self.calls.complete(&call.call_id);
                if matches!(self.phase, Phase::Calling) {
                    self.call_or_ask();
                }
            }
            Payload::ToolCallFailed(call) => {
                self.conversation.call_failed(call);
                self.calls.fail(call);
            }
            Payload::BudgetExceeded(exceeded) => self.phase = Phase::Exceeded(exceeded.clone()),
            Payload::RunResumed(seam) => {
                self.conversation.resumed();
                self.calls.resume(&self.last_turn);
                if seam.extra_message.is_empty() {
                    self.call_or_ask();
                } else {
                    self.phase = Phase::Telling { message: seam.extra_message.clone() };
                }
            }
            Payload::RunCompleted(_) | Payload::RunFailed(_) | Payload::RunCancelled(_) => self.phase = Phase::Ended,
            Payload::RunStarted(_)
            | Payload::ReasoningEmitted(_)
            | Payload::SideEffectRecorded(_)
            | Payload::ContextTruncated(_)
            | Payload::TurnFailed(_)
            | Payload::Typed(_)
            | Payload::Other(..) => {}
        }
    }

    fn call_or_ask(&mut self) {
        self.phase = if self.calls.are_completed() { Phase::Asking } else { Phase::Calling };
    }
}
