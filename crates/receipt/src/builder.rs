//! From a log to its receipt.

use std::collections::HashSet;
use std::thread;

use r1_event::{Record, SideRecord};

use crate::binding::Binding;
use crate::file::{self, Signed};
use crate::graph::{Graph, Notes};
use crate::key::SecretKey;
use crate::node::{Node, NodeId, NodeType, Skeleton, Stub};

/// From how many events on a thread is worth its start.
const WORTH_A_THREAD: usize = 256;

/// A log on its way to a receipt: give its events in order, then sign.
///
/// The same log and the same key give the same bytes, anywhere and at any time.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    binding: Binding,
    nodes: Vec<Node>,
}

/// Which bodies to keep back. Gates, phases and the log's own node are always shown, and so is the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withhold {
    /// Thoughts.
    pub thoughts: bool,
    /// Tool calls.
    pub tools: bool,
    /// What was read and written in memory.
    pub memory: bool,
    /// Artifacts and child runs.
    pub artifacts: bool,
}

impl Builder {
    /// Starts with what is kept beside the log.
    #[must_use]
    pub fn new(side_records: &[SideRecord], notes: Notes) -> Self {
        let graph = Graph::new(notes);
        let nodes = graph.pruned();
        Self { graph, binding: Binding::new(side_records), nodes }
    }

    /// Takes the next events: any number of them, and the more the better.
    pub fn extend(&mut self, records: &[Record]) {
        let Self { graph, binding, nodes } = self;
        // The log's trees and its graph know nothing of each other, so they grow side by side.
        let is_bound = thread::scope(|scope| {
            let bind = move || binding.extend(records);
            let beside = (records.len() >= WORTH_A_THREAD).then(|| thread::Builder::new().spawn_scoped(scope, bind));
            nodes.extend(records.iter().flat_map(|record| graph.push(record).nodes));
            matches!(beside, Some(Ok(_)))
        });
        if !is_bound {
            self.binding.extend(records);
        }
    }

    /// The log as far as it was given.
    #[must_use]
    pub const fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Names, types and edges of all nodes so far.
    pub fn skeletons(&self) -> impl Iterator<Item = &Skeleton> {
        self.nodes.iter().map(|node| &node.skeleton)
    }

    /// The signed receipt; `None` for a log without events.
    #[must_use]
    pub fn sign(mut self, key: &SecretKey, withhold: Withhold) -> Option<Signed> {
        let body = self.binding.to_body(key)?;
        for node in &mut self.nodes {
            if withhold.applies_to(node) {
                *node = Node::stub(node.skeleton.clone(), Stub::Withheld);
            }
        }
        self.nodes.push(Node::new(NodeType::Artifact, self.sinks(), &body));
        Some(file::sign(&self.nodes, key))
    }

    /// What nothing follows. Of a pruned log the graph does not know all: some of what it kept had successors
    /// that are gone.
    fn sinks(&self) -> Vec<NodeId> {
        let followed: HashSet<NodeId> = self.skeletons().flat_map(|node| node.preds.iter().copied()).collect();
        self.nodes.iter().map(Node::id).filter(|id| !followed.contains(id)).collect()
    }
}

impl Withhold {
    fn applies_to(self, node: &Node) -> bool {
        let chosen = match node.node_type() {
            NodeType::Thought => self.thoughts,
            NodeType::ToolCall => self.tools,
            NodeType::MemoryRead | NodeType::MemoryWrite => self.memory && !node.skeleton.preds.is_empty(),
            NodeType::Artifact => self.artifacts,
            NodeType::PhaseTransition
            | NodeType::GateDecision
            | NodeType::SkillAuthoringDecision
            | NodeType::BeaconLedgerEvent => false,
        };
        chosen && Stub::from_body(&node.body).is_none()
    }
}
