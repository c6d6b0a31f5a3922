//! What Starling's loop says to the next event of its log.

use r1_event::Payload;
use r1_event::payload::{
    AssistantMessageCompleted, ReasoningEmitted, RunResumed, ToolCallScheduled, TurnStarted, UserMessageAppended,
};

use super::Judgement;
use super::calls::Calls;
use super::state::{Loop, Phase, Place};

impl Loop {
    pub(super) fn judge(&self, place: &Place, found: &Payload) -> Judgement {
        if self.is_driven() {
            return self.judge_driven(place, found);
        }
        match found {
            // A process may end anywhere, and tools may look at the clock whenever they run.
            Payload::RunResumed(seam) if !matches!(self.phase, Phase::Ended) => self.judge_seam(place, seam),
            Payload::SideEffectRecorded(_) if !matches!(self.phase, Phase::Ended) => Judgement::Hears(found.clone()),
            Payload::RunFailed(end) => self.judge_failed(place, end),
            Payload::RunCancelled(end) => self.judge_cancelled(place, end),
            Payload::BudgetExceeded(exceeded) => match self.judge_budget(exceeded) {
                Judgement::Refuses => self.due(place, 0),
                judgement => judgement,
            },
            Payload::TurnStarted(turn) if matches!(self.phase, Phase::Asking) => self.judge_turn(turn),
            Payload::ReasoningEmitted(reasoning) => self.judge_reasoning(place, reasoning),
            Payload::AssistantMessageCompleted(message) => self.judge_answer(place, message),
            Payload::ToolCallScheduled(call) => self.judge_call(place, call),
            Payload::ToolCallCompleted(call) => self.judge_outcome(place, |calls| calls.judge_result(call)),
            Payload::ToolCallFailed(call) => self.judge_outcome(place, |calls| calls.judge_failure(call)),
            Payload::RunCompleted(end) => self.due(place, end.duration_ms),
            Payload::RunResumed(_)
            | Payload::SideEffectRecorded(_)
            | Payload::TurnStarted(_)
            | Payload::RunStarted(_)
            | Payload::UserMessageAppended(_)
            | Payload::ContextTruncated(_)
            | Payload::TurnFailed(_)
            | Payload::Typed(_)
            | Payload::Other(..) => self.due(place, 0),
        }
    }

    /// The one event that the loop has to write here, if there is only one.
    pub(super) fn due(&self, place: &Place, duration_ms: i64) -> Judgement {
        let due = match &self.phase {
            Phase::Telling { message } => Some(Payload::UserMessageAppended(UserMessageAppended {
                content: message.clone(),
                ..UserMessageAppended::default()
            })),
            Phase::Calling => {
                let call = self.calls.due(None).map(Payload::ToolCallScheduled);
                call.or_else(|| self.end(place, duration_ms))
            }
            Phase::Asking | Phase::Listening { .. } | Phase::Answered | Phase::Exceeded(_) | Phase::Ended => {
                self.end(place, duration_ms)
            }
        };
        due.map_or(Judgement::Refuses, Judgement::Writes)
    }

    fn judge_turn(&self, found: &TurnStarted) -> Judgement {
        if found.turn_id.is_empty() {
            return Judgement::Refuses;
        }
        let Some(prompt) = self.conversation.prompt() else {
            let over = self.over_input(found.input_tokens);
            return over.map_or_else(|| Judgement::Takes(Payload::TurnStarted(found.clone())), Judgement::Writes);
        };
        Judgement::Writes(self.over_input(prompt.tokens).unwrap_or_else(|| {
            Payload::TurnStarted(TurnStarted {
                turn_id: found.turn_id.clone(),
                prompt_hash: prompt.hash,
                input_tokens: prompt.tokens,
                ..TurnStarted::default()
            })
        }))
    }

    fn judge_reasoning(&self, place: &Place, found: &ReasoningEmitted) -> Judgement {
        let Phase::Listening { turn } = &self.phase else { return self.due(place, 0) };
        let expected = ReasoningEmitted { turn_id: turn.clone(), sensitive: true, ..found.clone() };
        Judgement::Hears(Payload::ReasoningEmitted(expected))
    }

    fn judge_answer(&self, place: &Place, found: &AssistantMessageCompleted) -> Judgement {
        let Phase::Listening { turn } = &self.phase else { return self.due(place, 0) };
        let expected = AssistantMessageCompleted { turn_id: turn.clone(), ..found.clone() };
        match self.over_output(&expected) {
            Some(over) => Judgement::Writes(over),
            None => Judgement::Hears(Payload::AssistantMessageCompleted(Box::new(expected))),
        }
    }

    fn judge_call(&self, place: &Place, found: &ToolCallScheduled) -> Judgement {
        if !matches!(self.phase, Phase::Calling) {
            return self.due(place, 0);
        }
        let expected = self.calls.due(Some(found)).or_else(|| self.calls.retry(found));
        expected.map_or_else(|| self.due(place, 0), |call| Judgement::Writes(Payload::ToolCallScheduled(call)))
    }

    /// Outcomes come in any order, but not before all calls of a plan were scheduled.
    fn judge_outcome(&self, place: &Place, judge: impl FnOnce(&Calls) -> Option<Judgement>) -> Judgement {
        let is_awaited = matches!(self.phase, Phase::Calling) && self.calls.due(None).is_none();
        let judgement = if is_awaited { judge(&self.calls) } else { None };
        judgement.unwrap_or_else(|| self.due(place, 0))
    }

    fn judge_seam(&self, place: &Place, found: &RunResumed) -> Judgement {
        let pending = self.calls.pending();
        Judgement::Writes(Payload::RunResumed(RunResumed {
            at_seq: place.seq.get() - 1,
            extra_message: found.extra_message.clone(),
            // With calls left open, a process that may not make them again does not go on at all.
            reissue_tools: found.reissue_tools || pending > 0,
            pending_calls: u32::try_from(pending).unwrap_or(u32::MAX),
            ..RunResumed::default()
        }))
    }
}
