//! What the contract looks at of each event.

use std::borrow::Cow;

use super::{Event, Failure};
use crate::body;
use crate::json::{Object, Value};
use crate::node::{NodeId, NodeType, Stub};
use crate::verdict::Reason;

/// An event as far as others depend on it.
pub(super) struct Fact<'a> {
    /// Place in the log; `None` for a stub.
    pub(super) seq: Option<i64>,
    pub(super) detail: Detail<'a>,
}

pub(super) enum Detail<'a> {
    Stub(Stub),
    Plain,
    /// An event that names one which it must follow.
    Names(NodeId),
    Root {
        sound: bool,
    },
    Call {
        call_id: Cow<'a, str>,
        attempt: i64,
    },
    Memory(Memory<'a>),
    Gate(Box<Gate<'a>>),
    Transition(Box<Transition<'a>>),
    RunLog(Box<Object<'a>>),
}

/// A read, or a write.
pub(super) struct Memory<'a> {
    pub(super) is_write: bool,
    pub(super) tier: Cow<'a, str>,
    pub(super) key: Cow<'a, str>,
    pub(super) by_operator: bool,
    /// Of what is there now.
    pub(super) fingerprint: Option<Cow<'a, str>>,
    /// Of what must have been there before: what a read found, what a write replaced.
    pub(super) before: Option<Cow<'a, str>>,
}

pub(super) struct Gate<'a> {
    pub(super) task_id: Cow<'a, str>,
    pub(super) round: i64,
    /// `EXECUTE.exit/syntax`.
    pub(super) name: String,
    pub(super) allows: bool,
    pub(super) given: Option<Given<'a>>,
}

/// An override.
pub(super) struct Given<'a> {
    pub(super) of: Option<NodeId>,
    pub(super) actor: Cow<'a, str>,
}

pub(super) struct Transition<'a> {
    pub(super) task_id: Cow<'a, str>,
    pub(super) round: i64,
    pub(super) from: Cow<'a, str>,
    pub(super) to: Cow<'a, str>,
    pub(super) preset_hash: Cow<'a, str>,
    pub(super) required: Vec<Cow<'a, str>>,
}

impl<'a> Fact<'a> {
    /// Reads an event, if it says what its type demands.
    pub(super) fn read(index: usize, event: &Event<'a>) -> Result<Self, Failure> {
        let parts = event.parts;
        if let Some(stub) = parts.stub() {
            return Ok(Self { seq: None, detail: Detail::Stub(stub) });
        }
        let body = parts.body();
        let is_first = parts.preds.is_empty();
        body::check(event.node_type, is_first, &body).map_err(|unfit| {
            let found = format!("`{}` {}", unfit.key, unfit.problem);
            Failure::at(Reason::BadBody, index, parts.id).with(format!("a body of {}", event.node_type), found)
        })?;
        Ok(Self { seq: body.int("seq"), detail: detail(event.node_type, is_first, body) })
    }
}

fn detail(node_type: NodeType, is_first: bool, body: Object<'_>) -> Detail<'_> {
    match node_type {
        NodeType::ToolCall => {
            Detail::Call { call_id: text(&body, "call_id"), attempt: body.int("attempt").unwrap_or_default() }
        }
        NodeType::MemoryRead if is_first => {
            Detail::Root { sound: body.text("tier") == Some("L0") && body.text("key") == Some("identity") }
        }
        NodeType::MemoryRead | NodeType::MemoryWrite => Detail::Memory(memory(node_type, &body)),
        NodeType::GateDecision => Detail::Gate(Box::new(gate(&body))),
        NodeType::PhaseTransition => Detail::Transition(Box::new(Transition {
            task_id: text(&body, "task_id"),
            round: body.int("round").unwrap_or_default(),
            from: text(&body, "from"),
            to: text(&body, "to"),
            preset_hash: text(&body, "preset_hash"),
            required: texts(&body, "required"),
        })),
        NodeType::Artifact if body.text("kind") == Some("run_log") => Detail::RunLog(Box::new(body)),
        NodeType::SkillAuthoringDecision => names(&body, "revision_of"),
        NodeType::BeaconLedgerEvent => match body.get("detail").and_then(Value::as_object) {
            Some(detail) => names(detail, "command_event"),
            None => Detail::Plain,
        },
        NodeType::Thought | NodeType::Artifact => Detail::Plain,
    }
}

fn names<'a>(body: &Object<'_>, key: &str) -> Detail<'a> {
    body.text(key).and_then(|id| id.parse().ok()).map_or(Detail::Plain, Detail::Names)
}

fn memory<'a>(node_type: NodeType, body: &Object<'a>) -> Memory<'a> {
    let is_write = node_type == NodeType::MemoryWrite;
    let fingerprint = optional(body, "fingerprint");
    Memory {
        is_write,
        tier: text(body, "tier"),
        key: text(body, "key"),
        by_operator: body.text("by") == Some("operator"),
        before: if is_write { optional(body, "prior_fingerprint") } else { fingerprint.clone() },
        fingerprint,
    }
}

fn gate<'a>(body: &Object<'a>) -> Gate<'a> {
    let given = body.get("override").and_then(Value::as_object);
    let part = |key| body.text(key).unwrap_or_default();
    Gate {
        task_id: text(body, "task_id"),
        round: body.int("round").unwrap_or_default(),
        name: format!("{}.{}/{}", part("phase"), part("boundary"), part("gate_id")),
        allows: body.text("verdict") == Some("allow"),
        given: given
            .map(|given| Given { of: given.text("of").and_then(|of| of.parse().ok()), actor: text(given, "actor") }),
    }
}

fn optional<'a>(body: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    match body.get(key) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn text<'a>(body: &Object<'a>, key: &str) -> Cow<'a, str> {
    optional(body, key).unwrap_or_default()
}

fn texts<'a>(body: &Object<'a>, key: &str) -> Vec<Cow<'a, str>> {
    let items = body.get(key).and_then(Value::as_array).unwrap_or_default();
    let text = |item: &Value<'a>| if let Value::Text(text) = item { Some(text.clone()) } else { None };
    items.iter().filter_map(text).collect()
}
