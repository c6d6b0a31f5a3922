//! What people say about gates that stand in the way.

use r1_event::Payload;
use r1_protocol::data::{self, Actor, ActorKind, EventData, Via};

use super::{Decision, Refusal, Resolution, decision_word};
use crate::agent::phases::{Question, Standing, is_retry};
use crate::agent::state::RunState;

/// The longest reason that a receipt holds.
const MAX_REASON: usize = 512;

/// A person answers the request about a gate: yes overrides it, yes with `{"action":"retry"}` has the gates
/// look again, no ends the task.
pub(super) fn resolve(
    standing: &Standing,
    question: &Question,
    resolution: &Resolution,
    actor: Option<&Actor>,
) -> Result<Vec<Payload>, Refusal> {
    let actor = operator(actor)?;
    let edited = resolution.edited_input.as_ref().and_then(|input| input.as_object());
    let retry = is_retry(edited);
    if resolution.edited_input.is_some() && !retry {
        return Err(Refusal::NothingToEdit);
    }
    let resolved = data::ApprovalResolved {
        approval_id: question.approval_id.clone(),
        decision: decision_word(resolution.decision).into(),
        by: "operator".into(),
        comment: resolution.comment.clone(),
        edited: retry.then_some(true),
        edited_input: edited.filter(|_| retry).cloned(),
        actor: Some(actor.clone()),
        ..Default::default()
    };
    let mut events = vec![resolved.to_payload()];
    if resolution.decision == Decision::Approve && !retry {
        events.push(overridden(standing, &resolution.comment, actor, Some(&question.approval_id))?);
    }
    Ok(events)
}

/// A person overrides a gate, asked or not.
pub(super) fn overrule(
    state: &RunState,
    name: &str,
    reason: &str,
    actor: Option<&Actor>,
) -> Result<Vec<Payload>, Refusal> {
    let actor = operator(actor)?;
    let attempt = state.phases.as_ref().and_then(|phases| phases.attempt()).ok_or(Refusal::NoOpenRound)?;
    let decided = attempt.standing.iter().filter(|standing| standing.decided.is_some());
    let mut named: Vec<_> = decided.filter(|standing| standing.is_named(name)).collect();
    let (Some(standing), true) = (named.pop(), named.is_empty()) else {
        let names: Vec<_> = attempt.obstacles().map(|(standing, _)| standing.placed.to_string()).collect();
        return Err(Refusal::UnknownDecision { decision: name.to_owned(), open: names.join(", ") });
    };
    if standing.decided.as_ref().is_some_and(|decided| decided.lets_pass()) {
        return Err(Refusal::LetsPass { gate: standing.placed.to_string() });
    }
    match standing.question.as_ref().filter(|question| question.is_open()) {
        Some(question) => {
            let yes = Resolution {
                approval_id: question.approval_id.clone(),
                decision: Decision::Approve,
                comment: reason.to_owned(),
                scope: super::Scope::Once,
                subject_hash: None,
                edited_input: None,
            };
            resolve(standing, question, &yes, Some(actor))
        }
        None => Ok(vec![overridden(standing, reason, actor, None)?]),
    }
}

fn overridden(standing: &Standing, reason: &str, actor: &Actor, approval_id: Option<&str>) -> Result<Payload, Refusal> {
    let reason = reason.trim();
    if reason.is_empty() || reason.len() > MAX_REASON {
        return Err(Refusal::NoReason);
    }
    let decided = standing.decided.as_ref().ok_or(Refusal::NoOpenRound)?;
    let given = data::GateOverride {
        of: decided.node.to_string(),
        actor: actor.clone(),
        reason: reason.to_owned(),
        approval_id: approval_id.map(Into::into),
        ..Default::default()
    };
    Ok(given.to_payload())
}

/// Gates are overridden by people: an agent, a server's client or a recorder cannot let itself pass.
fn operator(actor: Option<&Actor>) -> Result<&Actor, Refusal> {
    let is_person = |actor: &&Actor| actor.kind == ActorKind::Operator && actor.via != Some(Via::Mcp);
    actor.filter(is_person).ok_or(Refusal::HumanOnly)
}
