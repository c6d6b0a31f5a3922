//! What was read from memory and written to it.

use r1_event::cbor;

use super::Graph;
use super::call_state::text;
use super::event::LogEvent;
use crate::node::NodeType;

impl Graph {
    pub(super) fn memory(&mut self, event: &LogEvent<'_>, node_type: NodeType, data: &cbor::Value) {
        let body = event.body_from(node_type, data);
        let call_id = text(data, "call_id");
        let place =
            (text(data, "tier").unwrap_or_default().to_owned(), text(data, "key").unwrap_or_default().to_owned());
        let mut preds = self.anchored(call_id.and_then(|call_id| self.calls.proposer(call_id)));
        preds.extend(self.written.get(&place));
        let node = self.add(node_type, preds, &body);
        if let Some(call_id) = call_id {
            self.calls.entry(call_id).memory.push(node);
        }
        if node_type == NodeType::MemoryWrite {
            self.written.insert(place, node);
        }
    }
}
