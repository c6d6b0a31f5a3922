//! The log that a receipt names, read again.

use std::collections::HashMap;

use super::facts::{Detail, Fact};
use super::{Events, Failure, RunFacts};
use crate::binding::Binding;
use crate::builder::Builder;
use crate::json::Object;
use crate::node::{NodeId, NodeType};
use crate::verdict::Reason;

/// Compares a receipt with the nodes that its log gives.
pub(super) fn check(events: &Events<'_>, facts: &[Fact<'_>], run: &RunFacts, log: &Builder) -> Result<(), Failure> {
    check_binding(run, log)?;
    let binding = log.binding();
    let rebuilt: HashMap<NodeId, (NodeType, &[NodeId])> =
        log.skeletons().map(|node| (node.id, (node.node_type, &node.preds[..]))).collect();
    // A log that was pruned since then gives no more than its rest.
    let cut = binding.first_seq > run.first_seq;
    for (index, event) in events.list.iter().enumerate() {
        let fact = &facts[index];
        let is_gone = cut && fact.seq.is_none_or(|seq| u64::try_from(seq).is_ok_and(|seq| seq < binding.first_seq));
        if let Detail::RunLog(body) = &fact.detail {
            check_end(body, binding).map_err(|(expected, found)| {
                Failure::at(Reason::GraphMismatch, index, event.parts.id).with(expected, found)
            })?;
            continue;
        }
        if is_gone {
            continue;
        }
        match rebuilt.get(&event.parts.id) {
            Some((node_type, preds)) if *node_type == event.node_type && *preds == &event.parts.preds[..] => {}
            _ => {
                return Err(Failure::at(Reason::GraphMismatch, index, event.parts.id).with("a node of the log", "none"));
            }
        }
    }
    match log.skeletons().find(|node| !events.places.contains_key(&node.id)) {
        Some(missing) => Err(Failure::of(Reason::GraphMismatch).with(missing.id.to_string(), "none")),
        None => Ok(()),
    }
}

/// Compares what the seal does not cover and the last event tells. What was erased or pruned since may differ.
fn check_end(body: &Object<'_>, binding: &Binding) -> Result<(), (String, String)> {
    // Nothing of the log is left to tell it.
    if binding.first_seq > binding.size() {
        return Ok(());
    }
    let version = body.int("schema_version").unwrap_or_default().to_string();
    let text = |key| body.text(key).unwrap_or_default().to_owned();
    let pairs = [
        (binding.state().to_owned(), text("state")),
        (binding.outcome().to_owned(), text("outcome")),
        (binding.at.to_string(), text("at")),
        (binding.version.number().to_string(), version),
    ];
    pairs.into_iter().find(|(expected, found)| expected != found).map_or(Ok(()), Err)
}

fn check_binding(run: &RunFacts, log: &Builder) -> Result<(), Failure> {
    let binding = log.binding();
    let head = binding.head.map(|head| head.to_string()).unwrap_or_default();
    let pairs = [
        (run.run_id.clone(), binding.run_id.clone()),
        (run.size.to_string(), binding.size().to_string()),
        (run.head_blake3.clone(), head),
        (run.root_blake3.clone(), binding.root_blake3().to_string()),
        (run.root_sha256.clone(), binding.root_sha256().to_string()),
    ];
    match pairs.into_iter().find(|(expected, found)| expected != found) {
        Some((expected, found)) => Err(Failure::of(Reason::LogMismatch).with(expected, found)),
        None => Ok(()),
    }
}
