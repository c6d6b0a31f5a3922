//! What a wizard decided and what a beacon told: chains of their own beside the run's thoughts.

use r1_event::cbor;

use super::Graph;
use super::call_state::text;
use super::event::LogEvent;
use crate::node::{NodeId, NodeType};

impl Graph {
    pub(super) fn skill_decided(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        self.chained(event, NodeType::SkillAuthoringDecision, data, "wizard_id", text(data, "revision_of"));
    }

    pub(super) fn beacon_told(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let command = data.get("detail").and_then(|detail| text(detail, "command_event"));
        self.chained(event, NodeType::BeaconLedgerEvent, data, "beacon_id", command);
    }

    /// A node that follows the last one of its chain, and the one that it names.
    fn chained(
        &mut self,
        event: &LogEvent<'_>,
        node_type: NodeType,
        data: &cbor::Value,
        chain_key: &str,
        named: Option<&str>,
    ) {
        let body = event.body_from(node_type, data);
        let chain = (node_type, text(data, chain_key).unwrap_or_default().to_owned());
        let mut preds: Vec<NodeId> = self.chains.get(&chain).copied().or(self.root).into_iter().collect();
        preds.extend(named.and_then(|id| id.parse().ok()).filter(|id| self.linked.contains(id)));
        let node = self.add(node_type, preds, &body);
        self.chains.insert(chain, node);
        self.linked.insert(node);
    }
}
