//! What the loop writes about the phases.

use r1_event::{Payload, UnixNanos, payload};
use r1_protocol::data::{self, EventData, GateVerdict};
use serde_json::{Value, json};

use super::attempt::Answer;
use super::brief::objection;
use super::{Attempt, Decided, PhasePlan, Phases, Standing};
use crate::agent::state::RunState;
use crate::gate::{Phase, gate_id};
use crate::policy::subject_hash;

/// Whose turn it is.
pub(in crate::agent) enum Next {
    /// The loop writes this.
    Write(Box<Payload>),
    /// Gates look, or a person is asked.
    Wait,
    /// The model works.
    Model,
}

impl Next {
    fn write(payload: Payload) -> Self {
        Self::Write(Box::new(payload))
    }
}

impl RunState {
    /// What the phases want; a run without them is the model's.
    pub(in crate::agent) fn next_of_phases(&self) -> Next {
        let (Some(phases), Some(plan)) = (&self.phases, &self.spec.phases) else { return Next::Model };
        if phases.phase == Phase::End {
            return Next::write(self.completed());
        }
        if let Some(given_up) = &phases.given_up {
            return Next::write(self.failed(given_up.code, given_up.message.clone(), true));
        }
        if phases.must_save() {
            return Next::Wait;
        }
        match &phases.attempt {
            Some(attempt) => self.next_of_attempt(phases, plan, attempt),
            None if phases.must_brief => Next::write(self.said_by_r1(phases.brief(plan))),
            None => Next::Model,
        }
    }

    fn next_of_attempt(&self, phases: &Phases, plan: &PhasePlan, attempt: &Attempt) -> Next {
        if attempt.answer.is_some() {
            return Next::write(self.close(attempt));
        }
        if let Some(standing) = attempt.undecided() {
            let asks_a_model = standing.placed.gate_id == gate_id::REVIEW;
            let needs_room = plan.reviewer.as_ref().is_some_and(|reviewer| reviewer.needs_room);
            return match self.review_allowance() {
                Err(overrun) if asks_a_model && needs_room => {
                    Next::write(self.budget_exceeded_event(overrun, "pre_call"))
                }
                Ok(_) | Err(_) => Next::Wait,
            };
        }
        if attempt.passes() {
            return Next::write(self.transition(phases, plan, attempt));
        }
        if !phases.must_ask(attempt) {
            return Next::write(self.refused(attempt));
        }
        match attempt.obstacles().find(|(standing, _)| standing.question.is_none()) {
            Some((standing, decided)) => Next::write(self.ask_about(phases, attempt, standing, decided)),
            None => self.nobody_answers(attempt).map_or(Next::Wait, Next::write),
        }
    }

    /// The step. Nothing else in R1 makes this event, and this is called for rounds that pass.
    fn transition(&self, phases: &Phases, plan: &PhasePlan, attempt: &Attempt) -> Payload {
        let transition = attempt.transition;
        data::PhaseTransition {
            task_id: self.task(),
            round: attempt.round,
            from: transition.from().to_string(),
            to: transition.to().as_str().into(),
            preset: plan.preset.name.clone(),
            preset_hash: phases.preset_hash.clone(),
            required: plan.preset.required(transition).iter().map(ToString::to_string).collect(),
            ..Default::default()
        }
        .to_payload()
    }

    fn refused(&self, attempt: &Attempt) -> Payload {
        let mut missing: Vec<_> = attempt.obstacles().map(|(standing, _)| standing.placed.to_string()).collect();
        missing.sort_unstable();
        data::PhaseTransitionRefused {
            task_id: self.task(),
            round: attempt.round,
            from: attempt.transition.from().to_string(),
            to: attempt.transition.to().to_string(),
            missing,
            ..Default::default()
        }
        .to_payload()
    }

    /// Ends a round that a person ended: what else was asked in it needs no answer any more.
    fn close(&self, attempt: &Attempt) -> Payload {
        let open = attempt.standing.iter().filter_map(|standing| standing.question.as_ref()).find(|asked| asked.open);
        match open {
            Some(question) => data::ApprovalResolved {
                approval_id: question.approval_id.clone(),
                decision: "cancelled".into(),
                by: "system".into(),
                comment: "the round is over".into(),
                ..Default::default()
            }
            .to_payload(),
            None => self.refused(attempt),
        }
    }

    fn ask_about(&self, phases: &Phases, attempt: &Attempt, standing: &Standing, decided: &Decided) -> Payload {
        let subject = subject(attempt, standing, decided);
        let timeout = i64::try_from(self.spec.approval_timeout_s).unwrap_or(i64::MAX);
        let expires_at = UnixNanos(self.last_at.0.saturating_add(timeout.saturating_mul(1_000_000_000)));
        let blocked = phases.blocked.get(&attempt.transition).copied().unwrap_or(0);
        let reason = match decided.verdict {
            GateVerdict::Block if blocked > 0 => {
                format!("gates have blocked {} {} times", attempt.transition, blocked + 1)
            }
            GateVerdict::Block | GateVerdict::Allow => format!("a gate blocks {}", attempt.transition),
            GateVerdict::Escalate | GateVerdict::Other(_) => "the gate cannot decide by itself".to_owned(),
        };
        data::ApprovalRequested {
            approval_id: format!("appr_{}", self.mint(&format!("approval/{}/{}", attempt.round, standing.placed))),
            kind: "gate".into(),
            summary: format!("override {} of {}", objection(standing), attempt.transition),
            policy_reason: reason,
            subject_hash: subject_hash("gate", &subject).to_string(),
            input: subject.as_object().cloned(),
            expires_at: (self.spec.approval_timeout_s > 0).then(|| expires_at.into()),
            scopes: vec!["once".into()],
            approver: Some("human".into()),
            ..Default::default()
        }
        .to_payload()
    }

    /// The answer where nobody is there to give one.
    fn nobody_answers(&self, attempt: &Attempt) -> Option<Payload> {
        if !self.spec.unattended {
            return None;
        }
        let mut questions = attempt.standing.iter().filter_map(|standing| standing.question.as_ref());
        let question = questions.find(|question| question.open)?;
        let resolved = data::ApprovalResolved {
            approval_id: question.approval_id.clone(),
            decision: "rejected".into(),
            by: "policy".into(),
            comment: "nobody is there to answer".into(),
            ..Default::default()
        };
        Some(resolved.to_payload())
    }

    /// Something that R1 says to the model.
    fn said_by_r1(&self, content: String) -> Payload {
        Payload::UserMessageAppended(payload::UserMessageAppended {
            content,
            turn_index: Some(self.spent.turns),
            by: Some("system".into()),
            ..Default::default()
        })
    }

    /// The task, as gates and phases name it.
    pub(crate) fn task(&self) -> String {
        self.task_id.clone().unwrap_or_else(|| self.run.to_string())
    }
}

impl Answer {
    /// What a person's answer to the question about a decision means.
    pub(super) fn of(resolved: &data::ApprovalResolved, standing: &Standing) -> Option<Self> {
        let why = |comment: &str| match comment {
            "" => format!("a person refused {}", objection(standing)),
            comment => format!("a person refused {}: {comment}", objection(standing)),
        };
        match resolved.decision {
            data::Decision::Approved if is_retry(resolved.edited_input.as_ref()) => Some(Self::Retry),
            // The override that comes with it tells.
            data::Decision::Approved => None,
            data::Decision::Rejected if resolved.by == data::By::Policy => {
                Some(Self::Nobody(format!("nobody is there to answer for {}", objection(standing))))
            }
            data::Decision::Rejected => Some(Self::Refused(why(&resolved.comment))),
            data::Decision::Cancelled | data::Decision::Other(_) => None,
        }
    }
}

/// Whether an approver wants the gates to look again instead of overriding one.
pub(in crate::agent) fn is_retry(edited_input: Option<&data::Object>) -> bool {
    edited_input.and_then(|input| input.get("action")).and_then(Value::as_str) == Some("retry")
}

/// What a person is asked about.
fn subject(attempt: &Attempt, standing: &Standing, decided: &Decided) -> Value {
    json!({
        "gate_decision": decided.node.to_string(),
        "gate": standing.placed.to_string(),
        "transition": attempt.transition.to_string(),
        "round": attempt.round,
        "verdict": decided.verdict.as_str(),
        "reason_code": decided.reason_code,
    })
}
