//! Runs whose steps a program made itself, without Starling's loop.
//!
//! Which steps it makes is the program's own affair, and so are the sums that it ends with. What belongs
//! together must still belong together: an answer to its turn, a retry and an outcome to its call, the
//! root to the log.

use r1_event::Payload;
use r1_event::payload::{
    AssistantMessageCompleted, ReasoningEmitted, RunCancelled, RunCompleted, RunFailed, ToolCallScheduled,
};

use super::Judgement;
use super::state::{Loop, Phase, Place};
use super::terminal::root;

impl Loop {
    pub(super) fn judge_driven(&self, place: &Place, found: &Payload) -> Judgement {
        if matches!(self.phase, Phase::Ended) {
            return Judgement::Refuses;
        }
        let merkle_root = root(&place.root);
        match found {
            Payload::RunStarted(_) => Judgement::Refuses,
            Payload::TurnStarted(_) => Judgement::Takes(found.clone()),
            Payload::ReasoningEmitted(reasoning) => {
                let Phase::Listening { turn } = &self.phase else { return Judgement::Refuses };
                let expected = ReasoningEmitted { turn_id: turn.clone(), ..reasoning.clone() };
                Judgement::Hears(Payload::ReasoningEmitted(expected))
            }
            Payload::AssistantMessageCompleted(message) => {
                let Phase::Listening { turn } = &self.phase else { return Judgement::Refuses };
                let expected = AssistantMessageCompleted { turn_id: turn.clone(), ..message.as_ref().clone() };
                Judgement::Hears(Payload::AssistantMessageCompleted(Box::new(expected)))
            }
            Payload::ToolCallScheduled(call) => self.judge_step(call),
            Payload::ToolCallCompleted(call) => self.calls.judge_result(call).unwrap_or(Judgement::Refuses),
            Payload::ToolCallFailed(call) => self.calls.judge_failure(call).unwrap_or(Judgement::Refuses),
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
