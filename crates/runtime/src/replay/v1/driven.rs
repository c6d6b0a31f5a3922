//! Runs whose steps a program made itself, without Starling's loop.
//!
//! Which steps it makes is the program's own affair, and so are the sums that it ends with. What belongs
//! together must still belong together: an answer to its turn, a retry and an outcome to its call, the
//! root to the log.

use r1_event::Payload;
use r1_event::payload::{
    AssistantMessageCompleted, ReasoningEmitted, RunCancelled, RunCompleted, RunFailed, ToolCallCompleted,
    ToolCallFailed, ToolCallScheduled,
};

use super::Judgement;
use super::state::{Loop, Phase, Place};
use super::terminal::root;

impl Loop {
    pub(super) fn judge_driven(&self, place: &Place, found: &Payload) -> Judgement {
        let merkle_root = root(&place.root);
        match found {
            _ if matches!(self.phase, Phase::Ended) => Judgement::Refuses,
            Payload::RunStarted(_) => Judgement::Refuses,
            Payload::TurnStarted(_) => Judgement::Takes(found.clone()),
            Payload::ReasoningEmitted(reasoning) => match &self.phase {
                Phase::Listening { turn } => Judgement::Hears(Payload::ReasoningEmitted(ReasoningEmitted {
                    turn_id: turn.clone(),
                    ..reasoning.clone()
                })),
                _ => Judgement::Refuses,
            },
            Payload::AssistantMessageCompleted(message) => match &self.phase {
                Phase::Listening { turn } => {
                    let expected = AssistantMessageCompleted { turn_id: turn.clone(), ..message.as_ref().clone() };
                    Judgement::Hears(Payload::AssistantMessageCompleted(Box::new(expected)))
                }
                _ => Judgement::Refuses,
            },
            Payload::ToolCallScheduled(call) => self.judge_step(call),
            Payload::ToolCallCompleted(call) => match self.calls.outcome_of(&call.call_id, call.attempt) {
                Some((id, attempt)) => Judgement::Hears(Payload::ToolCallCompleted(ToolCallCompleted {
                    call_id: id.into(),
                    attempt,
                    ..call.clone()
                })),
                None => Judgement::Refuses,
            },
            Payload::ToolCallFailed(call) => match self.calls.outcome_of(&call.call_id, call.attempt) {
                Some((id, attempt)) => Judgement::Hears(Payload::ToolCallFailed(ToolCallFailed {
                    call_id: id.into(),
                    attempt,
                    ..call.clone()
                })),
                None => Judgement::Refuses,
            },
            Payload::RunCompleted(end) => {
                Judgement::Takes(Payload::RunCompleted(RunCompleted { merkle_root, ..end.clone() }))
            }
            Payload::RunFailed(end) => Judgement::Takes(Payload::RunFailed(RunFailed { merkle_root, ..end.clone() })),
            Payload::RunCancelled(end) => {
                Judgement::Takes(Payload::RunCancelled(RunCancelled { merkle_root, ..end.clone() }))
            }
            Payload::UserMessageAppended(_)
            | Payload::SideEffectRecorded(_)
            | Payload::BudgetExceeded(_)
            | Payload::ContextTruncated(_)
            | Payload::RunResumed(_)
            | Payload::TurnFailed(_)
            | Payload::Typed(_)
            | Payload::Other(..) => Judgement::Hears(found.clone()),
        }
    }

    /// A program calls what it likes; trying again is Starling's part.
    fn judge_step(&self, found: &ToolCallScheduled) -> Judgement {
        if found.attempt == 1 {
            return Judgement::Hears(Payload::ToolCallScheduled(found.clone()));
        }
        let retry = self.calls.retry(found).map(Payload::ToolCallScheduled);
        retry.map_or(Judgement::Refuses, Judgement::Writes)
    }
}
