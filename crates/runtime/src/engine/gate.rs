//! One gate: all that it may look at, and the events that its answer becomes.

use std::sync::Arc;

use r1_event::{Payload, payload};
use r1_protocol::data::{self, EventData, GateVerdict};
use r1_protocol::json;
use r1_store::{BlobError, SharedStore};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Engine;
use crate::agent::{GATE_EVIDENCE, PhasePlan, ReviewerSpec, RunSpec, RunState};
use crate::emit::Emission;
use crate::gate::{
    self, Base, Criterion, GateContext, GateRule, ModelName, Outcome, Placed, Reason, Reviewer, Rules, Transition,
};
use crate::tool::ToolContext;

/// The most that the model is told of what a gate saw.
const MAX_EXCERPT: usize = 4_000;

/// A gate that is about to look.
pub(super) struct Job {
    frame: Frame,
    rule: GateRule,
    transition: Transition,
    context: GateContext,
    store: SharedStore,
}

/// What a decision says of the place where it was made.
struct Frame {
    decision: data::GateDecision,
    gate: Placed,
    round: u64,
}

impl Job {
    /// The gate of this round; `None` if there is no such round any more.
    pub(super) fn new(
        engine: &Engine,
        state: &RunState,
        tools: ToolContext,
        round: u64,
        gate: &Placed,
    ) -> Option<Self> {
        let (frame, rule) = Frame::new(state, round, gate)?;
        let (phases, plan) = (state.phases.as_ref()?, state.spec.phases.as_ref()?);
        let transition = phases.attempt()?.transition;
        let snapshots = || engine.snapshots.clone();
        let base = phases.base().map(|revision| Base::Snapshot { snapshots: snapshots(), revision: revision.into() });
        let criteria = plan.criteria.iter().zip(1..);
        let context = GateContext {
            preset: Arc::new(plan.preset.clone()),
            workspace: tools.workspace.root().to_owned(),
            base: base.unwrap_or(Base::Empty),
            sandbox: tools.sandbox,
            redactor: tools.redactor.as_ref().clone(),
            rules: Rules {
                policy: state.spec.policy.clone(),
                mode: state.spec.approval,
                workspace_mode: state.workspace_mode.clone(),
            },
            goal: state.goal.clone(),
            declared: phases.declared().to_vec(),
            criteria: criteria
                .map(|(command, n)| Criterion { id: format!("ac-{n}"), command: command.clone() })
                .collect(),
            author: ModelName { provider: state.provider.clone(), model: state.model.clone() },
            reviewer: reviewer(engine, state, plan),
            earlier: phases.earlier().to_vec(),
            commit_message: phases.commit_message().map(Into::into),
            verified: phases.verified().cloned(),
            cancel: tools.cancel,
        };
        Some(Self { frame, rule, transition, context, store: engine.store.clone() })
    }

    /// Asks the gate, keeps what it saw, and gives the events that tell of it.
    pub(super) async fn run(self) -> Vec<Emission> {
        let Self { frame, rule, transition, context, store } = self;
        let outcome = gate::evaluate(&rule, frame.gate.boundary, transition, &context).await;
        if outcome.evidence.is_empty() {
            return frame.tell(outcome, None);
        }
        match keep(&store, outcome.evidence.clone()).await {
            Ok(kept) => frame.tell(outcome, Some(kept)),
            // What nobody can look at afterwards is no evidence, so it lets nothing pass.
            Err(err) => {
                let evidence = format!("what the gate saw could not be stored: {err}");
                frame.tell(Outcome { evidence, ..failed(outcome) }, None)
            }
        }
    }
}

/// Content that is stored.
struct Kept {
    blob: r1_event::Digest,
    sha256: String,
    size: u64,
}

async fn keep(store: &SharedStore, evidence: String) -> Result<Kept, BlobError> {
    let sha256 = r1_event::id::to_hex(&Sha256::digest(&evidence));
    let content = Box::pin(futures_util::stream::once(async move { Ok(evidence.into()) }));
    let stored = store.blobs().put(content).await?;
    Ok(Kept { blob: stored.hash, sha256, size: stored.size })
}

impl Frame {
    fn new(state: &RunState, round: u64, gate: &Placed) -> Option<(Self, GateRule)> {
        let (phases, plan) = (state.phases.as_ref()?, state.spec.phases.as_ref()?);
        let attempt = phases.attempt().filter(|attempt| attempt.round == round)?;
        let rule = plan.preset.rule(&gate.gate_id)?;
        let decision = data::GateDecision {
            task_id: state.task(),
            round,
            gate_id: gate.gate_id.clone(),
            transition: attempt.transition.to_string(),
            phase: gate.boundary.phase().to_string(),
            boundary: gate.boundary.side().as_str().into(),
            gate_version: gate::GATE_VERSION.into(),
            threshold: rule.threshold,
            blocker: rule.blocker,
            preset: plan.preset.name.clone(),
            preset_hash: phases.preset_hash().to_owned(),
            ..Default::default()
        };
        Some((Self { decision, gate: gate.clone(), round }, rule))
    }

    /// The events of an answer: what the gate saw, then what it says.
    fn tell(self, outcome: Outcome, kept: Option<Kept>) -> Vec<Emission> {
        let Self { decision, gate, round } = self;
        let mut events = Vec::new();
        if !outcome.evidence.is_empty() {
            let mut value = json!({
                "gate": gate.to_string(),
                "round": round,
                "excerpt": excerpt(&outcome.evidence),
                "size_bytes": kept.as_ref().map_or(0, |kept| kept.size),
                "digest": kept.as_ref().map(|kept| format!("blake3:{}", kept.blob)),
            });
            if let Some(review) = &outcome.review {
                value["review"] = json!(review);
            }
            let seen = payload::SideEffectRecorded {
                name: GATE_EVIDENCE.into(),
                value: json::to_raw(&value),
                ..Default::default()
            };
            let blobs = kept.iter().map(|kept| kept.blob).collect();
            events.push(Emission { payload: Payload::SideEffectRecorded(seen), blobs });
        }
        let decision = data::GateDecision {
            verdict: outcome.verdict,
            reason_code: outcome.reason.as_str().into(),
            inputs_hash: outcome.inputs_hash,
            duration_ms: outcome.duration_ms,
            score: outcome.score,
            evidence_hash: kept.map(|kept| kept.sha256),
            command: outcome.command,
            exit_code: outcome.exit_code,
            excluded: (!outcome.excluded.is_empty()).then_some(outcome.excluded),
            ..decision
        };
        events.push(Emission::plain(decision.to_payload()));
        events
    }
}

/// The events of a gate whose task broke down.
pub(super) fn defect(state: &RunState, round: u64, gate: &Placed) -> Vec<Emission> {
    let Some((frame, rule)) = Frame::new(state, round, gate) else { return Vec::new() };
    let inputs = json!({ "gate": rule.id, "version": gate::GATE_VERSION });
    let outcome = Outcome {
        verdict: GateVerdict::Escalate,
        reason: Reason::GateError,
        score: None,
        evidence: "the gate failed with a defect of its own".into(),
        inputs_hash: r1_event::id::to_hex(&Sha256::digest(inputs.to_string())),
        duration_ms: 0,
        command: None,
        exit_code: None,
        excluded: Vec::new(),
        review: None,
    };
    frame.tell(outcome, None)
}

fn failed(outcome: Outcome) -> Outcome {
    Outcome { verdict: GateVerdict::Escalate, reason: Reason::GateError, score: None, ..outcome }
}

fn reviewer(engine: &Engine, state: &RunState, plan: &PhasePlan) -> Option<Reviewer> {
    let ReviewerSpec { provider, model, price, needs_room: _ } = plan.reviewer.clone()?;
    let spec = RunSpec { provider, ..RunSpec::default() };
    // One that cannot be reached reviews nothing, and the gate says that nobody did.
    let provider = engine.world.provider(&spec).ok()?;
    Some(Reviewer { provider, model, max_output_tokens: state.max_review_tokens(), price })
}

/// The end of a text, in whole lines: what went wrong usually stands there.
fn excerpt(text: &str) -> String {
    let text = text.trim_end();
    if text.len() <= MAX_EXCERPT {
        return text.to_owned();
    }
    let end = &text[text.ceil_char_boundary(text.len() - MAX_EXCERPT)..];
    let lines = end.split_once('\n').map_or(end, |(_, lines)| lines);
    format!("[… {} bytes before this]\n{lines}", text.len() - lines.len())
}
