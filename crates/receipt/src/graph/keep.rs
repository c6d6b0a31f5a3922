//! Before content goes: what must be kept so that no id ever changes.
//!
//! Both cases work alike. The graph is built twice side by side, once with all that is there and once with
//! what will be left; where the second can no longer give the same nodes, their names and edges are kept.

use std::collections::{BTreeSet, HashMap};

use r1_event::{Record, cbor};

use super::event::LogEvent;
use super::notes::Pruned;
use super::{Expected, Graph, Notes, Step};
use crate::node::{Node, NodeId, Skeleton, Stub};

/// What a redaction must note: push the whole log, then take the nodes.
#[derive(Debug)]
pub struct Redaction {
    full: Graph,
    left: Graph,
    targets: Vec<u64>,
    nodes: Vec<Expected>,
}

impl Redaction {
    /// Prepares to erase the payloads of `targets`. `after` must say of each what it pairs with ([`Notes::erase`]).
    #[must_use]
    pub fn new(before: Notes, after: Notes, targets: Vec<u64>) -> Self {
        Self { full: Graph::new(before), left: Graph::new(after), targets, nodes: Vec::new() }
    }

    /// Takes the next event, with its payload.
    pub fn push(&mut self, record: &Record) {
        let Some(seq) = LogEvent::read(record).map(|event| event.seq) else { return };
        let full = self.full.push(record);
        let erased = Record { header: record.header.clone(), payload: None };
        let left = if self.targets.contains(&seq) { &erased } else { record };
        let (stub, _) = self.full.notes.expected_at(seq);
        let left = self.left.push_expecting(left, stub, skeletons(&full));
        self.nodes.extend(differing(seq, &full, &left));
    }

    /// The nodes that can no longer be made from what is left.
    #[must_use]
    pub fn finish(self) -> Vec<Expected> {
        self.nodes
    }
}

/// What a prune record must keep: push the whole log, then take the graph.
#[derive(Debug)]
pub struct Cut {
    through: u64,
    full: Graph,
    /// The graph behind the cut.
    left: Option<Graph>,
    gone: HashMap<NodeId, Skeleton>,
    kept: Pruned,
    wanted: BTreeSet<NodeId>,
}

impl Cut {
    /// Prepares to let go of all events up to `through`.
    #[must_use]
    pub fn new(notes: Notes, through: u64) -> Self {
        let full = Graph::new(notes);
        let gone = full.pruned().into_iter().map(|node| (node.id(), node.skeleton)).collect();
        Self { through, full, left: None, gone, kept: Pruned::default(), wanted: BTreeSet::new() }
    }

    /// Takes the next event.
    pub fn push(&mut self, record: &Record) {
        let Some(seq) = LogEvent::read(record).map(|event| event.seq) else { return };
        if seq > self.through && self.left.is_none() {
            self.left = Some(self.cut());
        }
        let full = self.full.push(record);
        let Some(graph) = &mut self.left else {
            self.gone.extend(full.nodes.into_iter().map(|node| (node.id(), node.skeleton)));
            return;
        };
        let preds = full.nodes.iter().flat_map(|node| &node.skeleton.preds);
        self.wanted.extend(preds.filter(|pred| self.gone.contains_key(pred)));
        let left = graph.push_expecting(record, Stub::Pruned, skeletons(&full));
        if left.adopted {
            self.kept.later.extend(all_of(seq, &full));
        }
    }

    /// What to keep, as prune records have it.
    #[must_use]
    pub fn finish(mut self) -> cbor::Value {
        if self.left.is_none() {
            self.cut();
        }
        let ids = &self.wanted;
        let stub = |id: &NodeId| {
            let Skeleton { id, node_type, preds } = self.gone.get(id)?;
            let preds = preds.iter().copied().filter(|pred| ids.contains(pred)).collect();
            Some(Skeleton { id: *id, node_type: *node_type, preds })
        };
        self.kept.stubs = ids.iter().filter_map(stub).collect();
        self.kept.to_cbor()
    }

    /// The graph as it goes on behind the cut. It knows no bodies, only names.
    fn cut(&mut self) -> Graph {
        self.kept.anchor = self.full.anchor;
        self.kept.root = self.full.root;
        self.kept.sinks = self.full.sinks();
        self.kept.proposers = self.full.calls.open_proposers();
        self.wanted.extend(&self.kept.sinks);
        self.wanted.extend(self.kept.anchor);
        self.wanted.extend(self.kept.proposers.iter().map(|(_, _, node)| *node));
        let stubs = self.kept.sinks.iter().filter_map(|id| self.gone.get(id).cloned()).collect();
        let mut graph = Graph { notes: self.full.notes.without_pruned(), ..Graph::default() };
        graph.go_on_from(&Pruned { stubs, ..self.kept.clone() });
        graph
    }
}

fn skeletons(step: &Step) -> Vec<Skeleton> {
    step.nodes.iter().map(|node| node.skeleton.clone()).collect()
}

/// All nodes of an event, if not all of them came out the same.
fn differing(seq: u64, full: &Step, left: &Step) -> Vec<Expected> {
    let bodies = |step: &Step| -> BTreeSet<(NodeId, String)> {
        step.nodes.iter().map(|node: &Node| (node.id(), node.body.clone())).collect()
    };
    if bodies(full) == bodies(left) { Vec::new() } else { all_of(seq, full) }
}

fn all_of(seq: u64, step: &Step) -> Vec<Expected> {
    step.nodes.iter().map(|node| Expected { seq, node: node.skeleton.clone() }).collect()
}
