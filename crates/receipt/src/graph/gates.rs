//! Gates, overrides and phases.

use std::collections::{BTreeSet, HashMap};

use r1_event::cbor;

use super::Graph;
use super::call_state::text;
use super::calls::actor;
use super::event::LogEvent;
use crate::body;
use crate::json::{Object, Value};
use crate::node::{NodeId, NodeType};

/// A task and one attempt at a transition.
type Round = (String, u64);

/// Rounds, decisions and the phase that each task is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    rounds: HashMap<String, OpenRound>,
    decisions: HashMap<NodeId, (Round, Object<'static>)>,
    transitions: HashMap<String, NodeId>,
    phase: Option<String>,
}

/// The newest round of a task.
#[derive(Clone, Debug, Default)]
struct OpenRound {
    number: u64,
    decisions: Vec<NodeId>,
    /// What nothing would follow if this round had decided nothing: its gates are siblings.
    base: BTreeSet<NodeId>,
}

impl Gates {
    /// The phase that the last transition led to.
    pub(super) fn phase(&self) -> Option<&str> {
        self.phase.as_deref()
    }

    /// Keeps the base of every open round: a new node covers those that it follows.
    pub(super) fn follow(&mut self, id: NodeId, node_type: NodeType, preds: &[NodeId]) {
        if node_type == NodeType::GateDecision {
            // Of one round nothing changes for that round; the others take it as any other node.
            return;
        }
        for round in self.rounds.values_mut() {
            for pred in preds {
                round.base.remove(pred);
            }
            if node_type.is_context() {
                round.base.insert(id);
            }
        }
    }

    fn decided(&mut self, round: Round, id: NodeId, preds: &[NodeId], body: Object<'static>) {
        for (task, other) in &mut self.rounds {
            if *task == round.0 && other.number == round.1 {
                other.decisions.push(id);
            } else {
                for pred in preds {
                    other.base.remove(pred);
                }
                other.base.insert(id);
            }
        }
        self.decisions.insert(id, (round, body));
    }
}

impl Graph {
    pub(super) fn gate_decided(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let Some(round) = round_of(data) else { return };
        let body = event.body_from(NodeType::GateDecision, data);
        self.open_round(&round);
        let open = self.gates.rounds.get(&round.0);
        let siblings = open.map(|open| open.decisions.clone()).unwrap_or_default();
        let preds = if text(data, "gate_id") == Some("composite") && !siblings.is_empty() {
            siblings
        } else {
            let base: Vec<NodeId> = open.map(|open| open.base.iter().copied().collect()).unwrap_or_default();
            if base.is_empty() { self.anchored(None) } else { base }
        };
        self.decide(round, preds, body);
    }

    pub(super) fn gate_overridden(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let Some(of) = text(data, "of").and_then(|of| of.parse::<NodeId>().ok()) else { return };
        let Some((round, decision)) = self.gates.decisions.get(&of).cloned() else { return };
        let mut body = event.body();
        for key in body::required_of_gates() {
            body.put_some(key, decision.get(key).cloned());
        }
        body.put_text("verdict", "allow");
        body.put_text("reason_code", "overridden");
        body.put("duration_ms", Value::Int(0));
        let mut given = Object::default();
        given.put_text("of", of.to_string());
        given.put_text("actor", data.get("actor").and_then(actor).unwrap_or_default());
        given.put_text("reason", text(data, "reason").unwrap_or_default().to_owned());
        given.put_some("approval_id", text(data, "approval_id").map(|id| Value::text(id.to_owned())));
        body.put("override", Value::Object(given));
        self.decide(round, vec![of], body);
    }

    pub(super) fn phase_changed(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let body = event.body_from(NodeType::PhaseTransition, data);
        let Some((task, number)) = round_of(data) else { return };
        let round = self.gates.rounds.remove(&task).filter(|round| round.number == number);
        let mut preds = round.map(|round| round.decisions).unwrap_or_default();
        preds.extend(self.gates.transitions.get(&task).copied().or(self.root));
        let node = self.add(NodeType::PhaseTransition, preds, &body);
        self.gates.transitions.insert(task, node);
        self.gates.phase = text(data, "to").map(Into::into);
        self.anchor = Some(node);
    }

    fn decide(&mut self, round: Round, preds: Vec<NodeId>, body: Object<'static>) {
        let node = self.add(NodeType::GateDecision, preds.clone(), &body);
        self.gates.decided(round, node, &preds, body);
    }

    /// Begins the round unless it is under way; what the task's round before decided is context like all else.
    fn open_round(&mut self, round: &Round) {
        let (task, number) = round;
        if self.gates.rounds.get(task).is_none_or(|open| open.number != *number) {
            let base = self.context().into_iter().collect();
            self.gates.rounds.insert(task.clone(), OpenRound { number: *number, decisions: Vec::new(), base });
        }
    }
}

fn round_of(data: &cbor::Value) -> Option<Round> {
    Some((text(data, "task_id")?.to_owned(), data.get("round")?.as_uint()?))
}
