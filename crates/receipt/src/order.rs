//! The one order of a receipt's events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::node::NodeId;

/// The lexicographically smallest topological order: again and again the smallest id of those whose
/// predecessors are all out.
///
/// `nodes` are ids with their predecessors; the answer are positions in it. Nodes on a cycle, or behind
/// one, or with a predecessor that is not there, are left out.
pub(crate) fn canonical<'a>(nodes: impl ExactSizeIterator<Item = (NodeId, &'a [NodeId])> + Clone) -> Vec<usize> {
    let places: HashMap<NodeId, usize> = nodes.clone().enumerate().map(|(at, (id, _))| (id, at)).collect();
    let ids: Vec<NodeId> = nodes.clone().map(|(id, _)| id).collect();
    // Successors as one list with offsets: a vector per node would cost more than the sort.
    let mut starts = vec![0_usize; ids.len() + 1];
    let mut waiting = vec![0_usize; ids.len()];
    for (at, (_, preds)) in nodes.clone().enumerate() {
        waiting[at] = preds.len();
        for pred in preds.iter().filter_map(|pred| places.get(pred)) {
            starts[pred + 1] += 1;
        }
    }
    for at in 0..ids.len() {
        starts[at + 1] += starts[at];
    }
    let mut successors = vec![0_usize; starts[ids.len()]];
    let mut free = starts.clone();
    for (at, (_, preds)) in nodes.enumerate() {
        for pred in preds.iter().filter_map(|pred| places.get(pred)) {
            successors[free[*pred]] = at;
            free[*pred] += 1;
        }
    }
    let ready = waiting.iter().enumerate().filter(|(_, open)| **open == 0);
    let mut ready: BinaryHeap<_> = ready.map(|(at, _)| Reverse((ids[at], at))).collect();
    let mut order = Vec::with_capacity(ids.len());
    while let Some(Reverse((_, at))) = ready.pop() {
        order.push(at);
        for next in &successors[starts[at]..starts[at + 1]] {
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                ready.push(Reverse((ids[*next], *next)));
            }
        }
    }
    order
}
