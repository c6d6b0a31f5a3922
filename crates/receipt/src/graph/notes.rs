//! What is known of a log besides its events: what was erased from it, and what was pruned.

use std::collections::HashMap;

use r1_event::payload::Payload;
use r1_event::side_record::Prune;
use r1_event::{Kind, Record, SideRecord, cbor};

use super::Graph;
use super::call_state::text;
use crate::node::{NodeId, NodeType, Skeleton, Stub};

/// Facts beside a log that its graph draws on.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    erased: HashMap<u64, Pairing>,
    /// By event: its nodes, and why those that it can no longer give are stubs.
    expected: HashMap<u64, (Stub, Vec<Skeleton>)>,
    pub(super) pruned: Option<Pruned>,
}

/// The ids by which an event without a payload still finds its turn and its call.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairing {
    pub(super) turn_id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) attempt: Option<u32>,
}

/// A node that an event of the log gave before content went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The event.
    pub seq: u64,
    /// The node.
    pub node: Skeleton,
}

/// Where a graph goes on behind events that are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Pruned {
    pub(super) anchor: Option<NodeId>,
    pub(super) root: Option<NodeId>,
    pub(super) sinks: Vec<NodeId>,
    /// Open calls: id, attempt, and the thought that asked.
    pub(super) proposers: Vec<(String, u32, NodeId)>,
    pub(super) stubs: Vec<Skeleton>,
    pub(super) later: Vec<Expected>,
}

impl Notes {
    /// What the records beside a log say. Erasures also need the events that tell of them: [`Self::read_redaction`].
    #[must_use]
    pub fn new(side_records: &[SideRecord]) -> Self {
        let mut notes = Self::default();
        for record in side_records {
            match record {
                SideRecord::Erase(erase) => {
                    notes.erase(erase.seq.get(), erase.turn_id.clone(), erase.call_id.clone(), erase.attempt);
                }
                SideRecord::Prune(_)
                | SideRecord::Seal(_)
                | SideRecord::Checkpoint(_)
                | SideRecord::Other(_)
                | SideRecord::Damaged(_) => {}
            }
        }
        notes.pruned = Prune::furthest(side_records).and_then(|prune| Pruned::read(prune.graph.as_ref()?));
        let later: Vec<_> = notes.pruned.iter().flat_map(|pruned| pruned.later.clone()).collect();
        notes.expect(Stub::Pruned, later);
        notes
    }

    /// Notes that an event's payload is gone, and what it paired with.
    pub fn erase(&mut self, seq: u64, turn_id: Option<String>, call_id: Option<String>, attempt: Option<u32>) {
        self.erased.insert(seq, Pairing { turn_id, call_id, attempt });
    }

    /// Notes the nodes that a `redaction.applied` event kept of the run `run_id`; any other event says nothing.
    pub fn read_redaction(&mut self, run_id: &str, record: &Record) {
        let payload = record.payload.as_ref().and_then(|bytes| Payload::decode(Kind::Typed, bytes).ok());
        let Some(Payload::Typed(typed)) = payload else { return };
        let Some(data) = Some(&typed).filter(|typed| typed.r#type == "redaction.applied") else { return };
        let Ok(data) = data.data.value() else { return };
        if text(&data, "run_id") == Some(run_id) {
            let nodes = data.get("nodes").and_then(cbor::Value::as_array).unwrap_or_default();
            self.expect(Stub::Erased, nodes.iter().filter_map(Expected::read).collect());
        }
    }

    fn expect(&mut self, stub: Stub, nodes: Vec<Expected>) {
        // A later redaction that touches the same event lists all of its nodes again.
        for Expected { seq, .. } in &nodes {
            self.expected.remove(seq);
        }
        for Expected { seq, node } in nodes {
            self.expected.entry(seq).or_insert_with(|| (stub, Vec::new())).1.push(node);
        }
    }

    /// The same, for a log that goes on behind another cut.
    pub(super) fn without_pruned(&self) -> Self {
        Self { pruned: None, ..self.clone() }
    }

    /// The nodes that an event must give, if they are noted, and what to call those that it can no longer give.
    pub(super) fn expected_at(&self, seq: u64) -> (Stub, Vec<Skeleton>) {
        self.expected.get(&seq).cloned().unwrap_or((Stub::Erased, Vec::new()))
    }

    pub(super) fn erase_of(&self, seq: u64) -> Option<Pairing> {
        self.erased.get(&seq).cloned()
    }
}

impl Expected {
    /// As `redaction.applied` and prune records keep it.
    #[must_use]
    pub fn to_cbor(&self) -> cbor::Value {
        let cbor::Value::Map(mut entries) = self.node.to_cbor() else { return cbor::Value::Null };
        entries.push((cbor::Value::text("seq"), cbor::Value::Uint(self.seq)));
        cbor::Value::Map(entries)
    }

    fn read(value: &cbor::Value) -> Option<Self> {
        Some(Self { seq: value.get("seq")?.as_uint()?, node: Skeleton::read(value)? })
    }
}

impl Skeleton {
    fn to_cbor(&self) -> cbor::Value {
        cbor::Value::object([
            ("id", cbor::Value::text(self.id.to_string())),
            ("type", cbor::Value::text(self.node_type.word())),
            ("preds", ids_to_cbor(&self.preds)),
        ])
    }

    fn read(value: &cbor::Value) -> Option<Self> {
        Some(Self {
            id: read_id(value.get("id")?)?,
            node_type: NodeType::from_word(text(value, "type")?)?,
            preds: read_ids(value.get("preds")?)?,
        })
    }
}

impl Pruned {
    pub(super) fn to_cbor(&self) -> cbor::Value {
        let Self { anchor, root, sinks, proposers, stubs, later } = self;
        let id = |id: &NodeId| cbor::Value::text(id.to_string());
        let proposer = |(call_id, attempt, node): &(String, u32, NodeId)| {
            cbor::Value::object([
                ("call_id", cbor::Value::text(call_id)),
                ("attempt", cbor::Value::Uint((*attempt).into())),
                ("node", id(node)),
            ])
        };
        let mut entries = vec![
            ("sinks", ids_to_cbor(sinks)),
            ("proposers", cbor::Value::Array(proposers.iter().map(proposer).collect())),
            ("nodes", cbor::Value::Array(stubs.iter().map(Skeleton::to_cbor).collect())),
            ("later", cbor::Value::Array(later.iter().map(Expected::to_cbor).collect())),
        ];
        entries.extend(anchor.as_ref().map(|anchor| ("anchor", id(anchor))));
        entries.extend(root.as_ref().map(|root| ("root", id(root))));
        cbor::Value::object(entries)
    }

    fn read(value: &cbor::Value) -> Option<Self> {
        let list = |key: &str| value.get(key).and_then(cbor::Value::as_array);
        let proposer = |value: &cbor::Value| {
            let attempt = value.get("attempt")?.as_uint()?.try_into().ok()?;
            Some((text(value, "call_id")?.to_owned(), attempt, read_id(value.get("node")?)?))
        };
        Some(Self {
            anchor: value.get("anchor").and_then(read_id),
            root: value.get("root").and_then(read_id),
            sinks: read_ids(value.get("sinks")?)?,
            proposers: list("proposers")?.iter().map(proposer).collect::<Option<_>>()?,
            stubs: list("nodes")?.iter().map(Skeleton::read).collect::<Option<_>>()?,
            later: list("later")?.iter().map(Expected::read).collect::<Option<_>>()?,
        })
    }
}

impl Graph {
    /// Takes over where a pruned log goes on.
    pub(super) fn go_on_from(&mut self, pruned: &Pruned) {
        self.anchor = pruned.anchor;
        self.root = pruned.root;
        self.newest = pruned.anchor;
        let sinks = pruned.stubs.iter().filter(|stub| pruned.sinks.contains(&stub.id));
        self.sinks = sinks.map(|stub| (stub.id, stub.node_type)).collect();
        for (place, (call_id, attempt, node)) in pruned.proposers.iter().enumerate() {
            let call = self.calls.entry(call_id);
            call.proposer = Some(*node);
            call.open = Some((*attempt, place as u64));
        }
    }
}

fn ids_to_cbor(ids: &[NodeId]) -> cbor::Value {
    cbor::Value::Array(ids.iter().map(|id| cbor::Value::text(id.to_string())).collect())
}

fn read_id(value: &cbor::Value) -> Option<NodeId> {
    value.as_text()?.parse().ok()
}

fn read_ids(value: &cbor::Value) -> Option<Vec<NodeId>> {
    value.as_array()?.iter().map(read_id).collect()
}
