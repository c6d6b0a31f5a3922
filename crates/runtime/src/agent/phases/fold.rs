//! How each event changes what is known of the phases.

use r1_event::payload::{self, SideEffectRecorded, Typed};
use r1_event::{Digest, Payload};
use r1_protocol::data::{self, EventData};
use r1_protocol::json;
use r1_protocol::review::Review;
use r1_receipt::NodeId;
use serde_json::Value;

use super::attempt::{Answer, Decided, Question};
use super::{Phases, Saved, answer, brief};
use crate::agent::fold::Place;
use crate::agent::state::{Phase as Holding, RunState};
use crate::gate::{Boundary, Earlier, Phase, Transition, Verified, gate_id};

impl RunState {
    /// The phases of a run that has them.
    pub(in crate::agent) fn begin_phases(&mut self, place: Place, payload: &Payload) {
        let Some(plan) = self.spec.phases.as_ref().filter(|_| self.run_kind == "agent_loop" && !self.spec.interactive)
        else {
            return;
        };
        let mut phases = Phases::new(&plan.preset);
        phases.name(self.run.as_str(), place, payload);
        self.phases = Some(Box::new(phases));
    }

    /// Takes over from the run that this one goes on from. What a task changed before is still its change.
    pub(in crate::agent) fn continue_phases(&mut self, source: &Self) {
        if let (Some(phases), Some(earlier)) = (&mut self.phases, &source.phases) {
            phases.base = earlier.base.clone();
        }
    }

    /// Takes the next event; all else has taken it.
    pub(in crate::agent) fn apply_to_phases(&mut self, place: Place, payload: &Payload) {
        let (Some(phases), Some(plan)) = (&mut self.phases, &self.spec.phases) else { return };
        let node = phases.name(self.run.as_str(), place, payload);
        match payload {
            Payload::UserMessageAppended(message) if message.by.as_deref() == Some("system") => phases.briefed(),
            Payload::AssistantMessageCompleted(message) => phases.heard(message),
            Payload::SideEffectRecorded(effect) if effect.name == crate::agent::GATE_EVIDENCE => {
                if let Some(review) = phases.saw(effect) {
                    self.spent.review(&review);
                }
            }
            Payload::Typed(typed) => match typed.r#type.as_str() {
                data::GateDecision::TYPE => {
                    let is_paid = phases.decided(typed, node).unwrap_or(false);
                    self.ticked &= !is_paid;
                }
                data::GateOverride::TYPE => phases.overridden(typed),
                data::PhaseTransition::TYPE => phases.went_on(),
                data::PhaseTransitionRefused::TYPE => phases.refused(&plan.preset),
                data::ApprovalRequested::TYPE => phases.asked(typed),
                data::ApprovalResolved::TYPE => phases.resolved(typed),
                data::ApprovalTimedOut::TYPE => phases.timed_out(typed),
                data::RunCheckpointSaved::TYPE => phases.saved(typed),
                _ => {}
            },
            _ => {}
        }
        self.begin_attempt();
    }

    /// An attempt at the next step begins when the model is done: at START at once, because nothing is to be
    /// done there.
    fn begin_attempt(&mut self) {
        let rests = self.turn.is_none()
            && self.failed_turn.is_none()
            && self.calls.is_empty()
            && self.halted.is_none()
            && self.terminal.is_none()
            && self.phase == Holding::Claimed;
        let (Some(phases), Some(plan)) = (&mut self.phases, &self.spec.phases) else { return };
        if !rests || phases.attempt.is_some() || phases.given_up.is_some() || phases.must_brief {
            return;
        }
        let is_done = phases.phase == Phase::Start || (phases.answered && !self.needs_turn);
        if let Some(step) = phases.next_step().filter(|_| is_done) {
            phases.begin(step, &plan.preset);
        }
    }
}

impl Phases {
    /// The name that an event's first node has in the receipt.
    fn name(&mut self, run_id: &str, place: Place, payload: &Payload) -> Option<NodeId> {
        let step = self.graph.push_payload(run_id, place.seq, place.ts, payload);
        step.nodes.first().map(r1_receipt::Node::id)
    }

    /// Back if the model wants that and there is such a way, otherwise on.
    fn next_step(&self) -> Option<Transition> {
        let back = self.back_to.and_then(|phase| Transition::new(self.phase, phase));
        back.filter(|step| !step.is_forward()).or_else(|| Transition::forward(self.phase))
    }

    fn briefed(&mut self) {
        self.must_brief = false;
        self.objections = None;
    }

    /// The model's answer counts if it asks for nothing.
    fn heard(&mut self, message: &payload::AssistantMessageCompleted) {
        let is_void = matches!(message.stop_reason.as_str(), "cancelled" | "error");
        if is_void || message.tool_uses.as_ref().is_some_and(|calls| !calls.is_empty()) {
            return;
        }
        self.answered = true;
        self.back_to = answer::back_to(&message.text);
        match self.phase {
            Phase::Plan => self.declared = answer::declared_files(&message.text),
            Phase::Verify => self.commit_message = answer::commit_message(&message.text),
            Phase::Start | Phase::Execute | Phase::Commit | Phase::End => {}
        }
    }

    /// The end of what a gate saw, told before its decision; and what a model has used that was asked for it.
    fn saw(&mut self, effect: &SideEffectRecorded) -> Option<Review> {
        let value = json::from_raw(&effect.value);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let attempt = self.attempt.as_mut().filter(|open| Some(open.round) == value["round"].as_u64())?;
        let mut standing = attempt.standing.iter_mut();
        let standing = standing.find(|standing| standing.placed.to_string() == text("gate"))?;
        text("excerpt").clone_into(&mut standing.excerpt);
        let review = Review::of(effect);
        standing.is_paid = review.is_some();
        review
    }

    /// Takes what a gate says, and whether a model was paid for that.
    fn decided(&mut self, typed: &Typed, node: Option<NodeId>) -> Option<bool> {
        let (decision, node) = (data::GateDecision::read(typed)?, node?);
        let boundary = boundary(&decision)?;
        let is_open = |attempt: &&mut super::Attempt| {
            attempt.round == decision.round && attempt.transition.to_string() == decision.transition
        };
        let attempt = self.attempt.as_mut().filter(is_open);
        let standing = attempt.and_then(|attempt| attempt.find_mut(boundary, &decision.gate_id));
        // What a gate says once counts: an answer to nobody's question does not.
        let standing = standing.filter(|standing| standing.decided.is_none())?;
        self.earlier.push(Earlier {
            gate_id: decision.gate_id.clone(),
            score: decision.score,
            said: format!("{} {}", decision.verdict, decision.reason_code),
            evidence: standing.excerpt.clone(),
        });
        standing.decided = Some(Decided {
            node,
            verdict: decision.verdict,
            reason_code: decision.reason_code,
            score: decision.score,
            threshold: decision.threshold,
            inputs_hash: decision.inputs_hash,
            overridden: false,
        });
        Some(std::mem::take(&mut standing.is_paid))
    }

    fn overridden(&mut self, typed: &Typed) {
        let Some(given) = data::GateOverride::read(typed) else { return };
        let Ok(of) = given.of.parse::<NodeId>() else { return };
        let standing = self.attempt.iter_mut().flat_map(|attempt| &mut attempt.standing);
        let mut decided = standing.filter_map(|standing| standing.decided.as_mut());
        if let Some(decided) = decided.find(|decided| decided.node == of) {
            decided.overridden = true;
        }
    }

    fn went_on(&mut self) {
        let Some(attempt) = self.attempt.take() else { return };
        self.blocked.remove(&attempt.transition);
        if leads_to_commit(attempt.transition) {
            let at_exit = |standing: &&super::Standing| standing.placed.boundary.phase() == Phase::Verify;
            let mut looked: Vec<_> = attempt.standing.iter().filter(at_exit).collect();
            looked.sort_by_key(|standing| standing.placed.gate_id == gate_id::COMPOSITE);
            self.verified = looked.first().and_then(|standing| {
                let inputs_hash = standing.decided.as_ref()?.inputs_hash.clone();
                Some(Verified { gate_id: standing.placed.gate_id.clone(), inputs_hash })
            });
        }
        self.phase = attempt.transition.to();
        self.back_to = None;
        self.must_brief = self.phase != Phase::End;
    }

    fn refused(&mut self, preset: &crate::gate::Preset) {
        let Some(attempt) = self.attempt.take() else { return };
        if attempt.is_blocked() {
            *self.blocked.entry(attempt.transition).or_default() += 1;
        }
        match &attempt.answer {
            Some(Answer::Retry) => return self.begin(attempt.transition, preset),
            Some(given @ (Answer::Refused(_) | Answer::Nobody(_))) => return self.give_up(given),
            None => {}
        }
        let said = brief::objections(&attempt);
        self.objections = Some(match self.objections.take() {
            Some(before) => format!("{before}\n\n{said}"),
            None => said,
        });
        self.back_to = None;
        // What does not hold is mended where files may be changed.
        match Transition::new(Phase::Verify, Phase::Execute) {
            Some(rework) if leads_to_commit(attempt.transition) => self.begin(rework, preset),
            _ => self.must_brief = true,
        }
    }

    fn asked(&mut self, typed: &Typed) {
        let Some(requested) = data::ApprovalRequested::read(typed) else { return };
        let of = requested.input.as_ref().and_then(|input| input.get("gate_decision")).and_then(Value::as_str);
        let Some(of) = of.and_then(|of| of.parse::<NodeId>().ok()).filter(|_| requested.tool_call_id.is_none()) else {
            return;
        };
        let mut standing = self.attempt.iter_mut().flat_map(|attempt| &mut attempt.standing);
        let is_it =
            |standing: &&mut super::Standing| standing.decided.as_ref().is_some_and(|decided| decided.node == of);
        if let Some(standing) = standing.find(is_it) {
            standing.question = Some(Question {
                approval_id: requested.approval_id,
                subject_hash: requested.subject_hash.parse().unwrap_or(Digest::new([0; 32])),
                expires_at: requested.expires_at.as_ref().and_then(data::Time::nanos),
                open: true,
            });
        }
    }

    fn resolved(&mut self, typed: &Typed) {
        let Some(resolved) = data::ApprovalResolved::read(typed) else { return };
        self.answered_with(&resolved.approval_id, |standing| Answer::of(&resolved, standing));
    }

    fn timed_out(&mut self, typed: &Typed) {
        let Some(late) = data::ApprovalTimedOut::read(typed) else { return };
        self.answered_with(&late.approval_id, |standing| {
            let what = brief::objection(standing);
            Some(Answer::Refused(format!("nobody answered in time for {what}")))
        });
    }

    fn answered_with(&mut self, approval_id: &str, answer: impl FnOnce(&super::Standing) -> Option<Answer>) {
        let Some(attempt) = &mut self.attempt else { return };
        let asked = |standing: &&mut super::Standing| {
            standing.question.as_ref().is_some_and(|question| question.open && question.approval_id == approval_id)
        };
        let Some(standing) = attempt.standing.iter_mut().find(asked) else { return };
        if let Some(question) = &mut standing.question {
            question.open = false;
        }
        // The first word that ends the round does.
        attempt.answer = attempt.answer.take().or_else(|| answer(standing));
    }

    fn saved(&mut self, typed: &Typed) {
        if self.base == Saved::Due {
            self.base = Saved::Done(data::RunCheckpointSaved::read(typed).and_then(|saved| saved.workspace_revision));
        }
    }
}

fn leads_to_commit(step: Transition) -> bool {
    step.is_forward() && step.from() == Phase::Verify
}

fn boundary(decision: &data::GateDecision) -> Option<Boundary> {
    format!("{}.{}", decision.phase, decision.boundary).parse().ok()
}
