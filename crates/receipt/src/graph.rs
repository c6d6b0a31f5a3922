//! The graph of a run: its log's events, one by one, become the nodes of its receipt.
//!
//! A node depends on the log up to its event alone, so its id is known as soon as the event is stored and
//! never changes. The graph keeps what later nodes need and hands the nodes themselves out.

mod artifacts;
mod call_state;
mod calls;
mod content;
mod event;
mod gates;
mod keep;
mod memory;
mod notes;
mod outside;
mod turns;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use r1_event::cbor;
use r1_event::payload::{Payload, RunStarted, Typed};
use r1_event::{Kind, Record, RunId, Seq, UnixNanos};

use self::call_state::Calls;
use self::event::LogEvent;
use self::gates::Gates;
pub use self::keep::{Cut, Redaction};
pub use self::notes::{Expected, Notes};
use self::turns::Turns;
use crate::json::{Object, Value};
use crate::node::{Node, NodeId, NodeType, Skeleton, Stub, sha256_hex};

/// A run's graph as far as its log was pushed.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    notes: Notes,
    /// Ids that the current event must give, where its payload alone can no longer tell.
    expected: Vec<Skeleton>,
    /// What those are that it can no longer give.
    stub: Option<Stub>,
    /// Whether one of those had to be taken over.
    adopted: bool,
    made: Vec<Node>,
    root: Option<NodeId>,
    /// The newest of root, thoughts and transitions.
    anchor: Option<NodeId>,
    newest: Option<NodeId>,
    /// Nodes that nothing follows so far.
    sinks: BTreeMap<NodeId, NodeType>,
    model: String,
    turns: Turns,
    calls: Calls,
    gates: Gates,
    /// Last write by tier and key.
    written: HashMap<(String, String), NodeId>,
    /// Digests of artifacts by id.
    artifacts: HashMap<String, String>,
    /// Last decision by wizard, last event by beacon.
    chains: HashMap<(NodeType, String), NodeId>,
    /// Nodes of those chains, which later ones may name.
    linked: HashSet<NodeId>,
}

/// What one event of the log gave.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Its nodes, in order.
    pub nodes: Vec<Node>,
    /// The node that a STOKE line of this event names: its first; else the thought that proposed its call or
    /// made its turn; else the newest.
    pub ledger: Option<NodeId>,
    /// Whether a node had to be taken over from what was noted before its content went.
    pub adopted: bool,
}

impl Graph {
    /// An empty graph of a log with these facts beside it.
    #[must_use]
    pub fn new(notes: Notes) -> Self {
        let mut graph = Self { notes, ..Self::default() };
        if let Some(pruned) = graph.notes.pruned.take() {
            graph.go_on_from(&pruned);
            graph.notes.pruned = Some(pruned);
        }
        graph
    }

    /// Nodes that stand for what was pruned, to go before all others.
    #[must_use]
    pub fn pruned(&self) -> Vec<Node> {
        let stubs = self.notes.pruned.iter().flat_map(|pruned| &pruned.stubs);
        stubs.map(|skeleton| Node::stub(skeleton.clone(), Stub::Pruned)).collect()
    }

    /// Takes the next event of the log.
    pub fn push(&mut self, record: &Record) -> Step {
        let Some(event) = LogEvent::read(record) else { return Step::default() };
        let (stub, expected) = self.notes.expected_at(event.seq);
        self.take(&event, stub, expected)
    }

    /// The same for whoever has read the event of a v2 log already, with all that it says.
    pub fn push_payload(&mut self, run_id: &str, seq: Seq, at: UnixNanos, payload: &Payload) -> Step {
        let bytes = matches!(payload, Payload::RunStarted(_)).then(|| payload.encode()).unwrap_or_default();
        let event = LogEvent {
            run_id,
            seq: seq.get(),
            at: at.0,
            kind: payload.kind(),
            is_v1: false,
            bytes: &bytes,
            payload: Some(Cow::Borrowed(payload)),
        };
        let (stub, expected) = self.notes.expected_at(event.seq);
        self.take(&event, stub, expected)
    }

    /// Takes the next event, which gave nodes with these ids when its content was still there.
    fn push_expecting(&mut self, record: &Record, stub: Stub, expected: Vec<Skeleton>) -> Step {
        let Some(event) = LogEvent::read(record) else { return Step::default() };
        self.take(&event, stub, expected)
    }

    /// The node that was made last.
    #[must_use]
    pub const fn newest(&self) -> Option<NodeId> {
        self.newest
    }

    /// The nodes that nothing follows.
    #[must_use]
    pub fn sinks(&self) -> Vec<NodeId> {
        self.sinks.keys().copied().collect()
    }

    fn take(&mut self, event: &LogEvent<'_>, stub: Stub, expected: Vec<Skeleton>) -> Step {
        (self.stub, self.expected, self.adopted) = (Some(stub), expected, false);
        match &event.payload {
            Some(payload) => self.react(event, payload),
            None => self.pass_erased(event),
        }
        // What the payload no longer gives.
        for skeleton in std::mem::take(&mut self.expected) {
            self.keep_stub(skeleton);
        }
        let nodes = std::mem::take(&mut self.made);
        let ledger = nodes.first().map(Node::id).or_else(|| self.cause_of(event)).or(self.newest);
        Step { nodes, ledger, adopted: self.adopted }
    }

    fn react(&mut self, event: &LogEvent<'_>, payload: &Payload) {
        match payload {
            Payload::RunStarted(started) => self.run_started(event, started),
            Payload::UserMessageAppended(message) => self.turns.heard(&message.content),
            Payload::TurnStarted(turn) => self.turns.started(turn),
            Payload::ReasoningEmitted(reasoning) => self.turns.reasoned(reasoning),
            Payload::AssistantMessageCompleted(answer) => self.answered(event, answer),
            Payload::ToolCallScheduled(call) => self.scheduled(event, call),
            Payload::ToolCallCompleted(call) => self.call_completed(event, call),
            Payload::ToolCallFailed(call) => self.call_failed(event, call),
            Payload::BudgetExceeded(trip) => self.budget_exceeded(event, trip),
            Payload::TurnFailed(turn) => self.turn_failed(event, turn),
            Payload::RunResumed(_) => {
                self.close_open_calls(event);
                self.turns.dropped();
            }
            Payload::RunCompleted(_) | Payload::RunFailed(_) | Payload::RunCancelled(_) => self.close_open_calls(event),
            Payload::Typed(typed) => self.typed(event, typed),
            // The kind is reserved in v1 logs and has no payload of its own there.
            Payload::Other(16, _) => self.turn_failed(event, &r1_event::payload::TurnFailed::default()),
            Payload::SideEffectRecorded(_) | Payload::ContextTruncated(_) | Payload::Other(..) => {}
        }
    }

    fn typed(&mut self, event: &LogEvent<'_>, typed: &Typed) {
        let Ok(data) = typed.data.value() else { return };
        match typed.r#type.as_str() {
            "policy.tool_allowed" => self.calls.allowed_by_rule(&data),
            "policy.tool_blocked" => self.blocked(event, &data),
            "approval.requested" => self.calls.approval_requested(&data),
            "approval.resolved" => self.approval_resolved(event, &data),
            "approval.timed_out" => self.approval_timed_out(event, &data),
            "artifact.created" => self.artifact_created(event, &data),
            "run.child_finished" => self.child_finished(event, &data),
            "memory.read" => self.memory(event, NodeType::MemoryRead, &data),
            "memory.write" => self.memory(event, NodeType::MemoryWrite, &data),
            "gate.decision" => self.gate_decided(event, &data),
            "gate.override" => self.gate_overridden(event, &data),
            "phase.transition" => self.phase_changed(event, &data),
            "skill.authoring_decision" => self.skill_decided(event, &data),
            "beacon.event" => self.beacon_told(event, &data),
            _ => {}
        }
    }

    fn run_started(&mut self, event: &LogEvent<'_>, started: &RunStarted) {
        self.model.clone_from(&started.model_id);
        if event.is_v1 {
            self.turns.heard(&started.goal);
        }
        let mut body = event.body();
        body.put_text("tier", "L0");
        body.put_text("store", "working");
        body.put_text("key", "identity");
        body.put("hit", Value::Bool(true));
        body.put_text("by", "runtime");
        body.put_text("fingerprint", sha256_hex(event.bytes));
        body.put_text("run_id", event.run_id.to_owned());
        body.put_some("link", link(started));
        let root = self.add(NodeType::MemoryRead, Vec::new(), &body);
        self.begin(root);
    }

    fn begin(&mut self, root: NodeId) {
        self.root = Some(root);
        self.anchor = Some(root);
    }

    /// Makes a node, or takes over the one that stood here before content went.
    fn add(&mut self, node_type: NodeType, preds: Vec<NodeId>, body: &Object<'_>) -> NodeId {
        let node = Node::new(node_type, preds, body);
        let expects = !self.expected.is_empty();
        if let Some(at) = self.expected.iter().position(|skeleton| skeleton.id == node.id()) {
            self.expected.remove(at);
        } else if let Some(at) = self.expected.iter().position(|skeleton| expects && skeleton.node_type == node_type) {
            let skeleton = self.expected.remove(at);
            return self.keep_stub(skeleton);
        }
        self.keep(node)
    }

    fn keep_stub(&mut self, skeleton: Skeleton) -> NodeId {
        self.adopted = true;
        self.keep(Node::stub(skeleton, self.stub.unwrap_or(Stub::Erased)))
    }

    fn keep(&mut self, node: Node) -> NodeId {
        let Skeleton { id, node_type, preds } = &node.skeleton;
        for pred in preds {
            self.sinks.remove(pred);
        }
        self.sinks.insert(*id, *node_type);
        self.gates.follow(*id, *node_type, preds);
        let id = *id;
        self.newest = Some(id);
        self.made.push(node);
        id
    }

    /// What the next thought follows from: all that nothing follows yet.
    fn context(&self) -> Vec<NodeId> {
        let context: Vec<NodeId> =
            self.sinks.iter().filter(|(_, node_type)| node_type.is_context()).map(|(id, _)| *id).collect();
        if context.is_empty() { self.anchor.into_iter().collect() } else { context }
    }

    fn anchored(&self, preferred: Option<NodeId>) -> Vec<NodeId> {
        preferred.or(self.anchor).into_iter().collect()
    }

    /// The thought that an event without nodes goes back to.
    fn cause_of(&self, event: &LogEvent<'_>) -> Option<NodeId> {
        match event.payload.as_deref()? {
            Payload::ToolCallScheduled(call) => self.calls.proposer(&call.call_id),
            // The second end of one attempt has no node of its own.
            Payload::ToolCallCompleted(call) => self.calls.proposer(&call.call_id),
            Payload::ToolCallFailed(call) => self.calls.proposer(&call.call_id),
            Payload::BudgetExceeded(trip) => self.calls.proposer(&trip.call_id),
            Payload::Typed(typed) => {
                let data = typed.data.value().ok()?;
                let named = data.get("tool_call_id").and_then(cbor::Value::as_text);
                let asked = || self.calls.of_approval(data.get("approval_id")?.as_text()?);
                let proposer = named.or_else(asked).and_then(|call| self.calls.proposer(call));
                proposer.or_else(|| self.turns.thought(data.get("turn_id")?.as_text()?))
            }
            // They stand before the thought of their turn, or in no turn at all.
            Payload::RunStarted(_)
            | Payload::UserMessageAppended(_)
            | Payload::TurnStarted(_)
            | Payload::ReasoningEmitted(_)
            | Payload::AssistantMessageCompleted(_)
            | Payload::SideEffectRecorded(_)
            | Payload::ContextTruncated(_)
            | Payload::TurnFailed(_)
            | Payload::RunResumed(_)
            | Payload::RunCompleted(_)
            | Payload::RunFailed(_)
            | Payload::RunCancelled(_)
            | Payload::Other(..) => None,
        }
    }

    /// Does without a payload what pairing needs; its nodes are among those expected.
    fn pass_erased(&mut self, event: &LogEvent<'_>) {
        let erase = self.notes.erase_of(event.seq);
        let turn = erase.as_ref().and_then(|erase| erase.turn_id.clone());
        let call = erase.and_then(|erase| erase.call_id.clone().zip(erase.attempt));
        let first_of = |graph: &mut Self, wanted: NodeType| {
            let at = graph.expected.iter().position(|skeleton| skeleton.node_type == wanted)?;
            let skeleton = graph.expected.remove(at);
            Some(graph.keep_stub(skeleton))
        };
        match event.kind {
            Kind::RunStarted => {
                if let Some(root) = first_of(self, NodeType::MemoryRead) {
                    self.begin(root);
                }
            }
            Kind::AssistantMessageCompleted | Kind::BudgetExceeded | Kind::TurnFailed => {
                if let Some(thought) = first_of(self, NodeType::Thought) {
                    self.turns.closed(turn, thought);
                    self.anchor = Some(thought);
                }
            }
            Kind::ToolCallScheduled => {
                if let Some((call_id, attempt)) = call {
                    let proposer = turn.as_ref().and_then(|turn| self.turns.thought(turn));
                    self.calls.scheduled_blindly(&call_id, attempt, event.seq, turn, proposer);
                }
            }
            Kind::ToolCallCompleted | Kind::ToolCallFailed => {
                if let (Some(node), Some((call_id, attempt))) = (first_of(self, NodeType::ToolCall), call) {
                    self.call_closed(event, &call_id, attempt, node);
                }
            }
            Kind::UserMessageAppended
            | Kind::TurnStarted
            | Kind::ReasoningEmitted
            | Kind::SideEffectRecorded
            | Kind::ContextTruncated
            | Kind::RunCompleted
            | Kind::RunFailed
            | Kind::RunCancelled
            | Kind::RunResumed
            | Kind::Typed
            | Kind::Other(_) => {}
        }
    }
}

/// The run that this one goes back to.
fn link(started: &RunStarted) -> Option<Value<'static>> {
    let RunStarted { parent, forked_from, resumed_from, .. } = started;
    let links = [("child", parent), ("fork", forked_from), ("resume", resumed_from)];
    links.into_iter().find_map(|(relation, place)| {
        let place = place.as_ref()?.value().ok()?;
        let mut link = Object::default();
        link.put_text("relation", relation);
        link.put_text("run_id", place.get("run_id")?.as_text()?.parse::<RunId>().ok()?.to_string());
        link.put("seq", Value::uint(place.get("seq").and_then(cbor::Value::as_uint).unwrap_or(0)));
        Some(Value::Object(link))
    })
}
