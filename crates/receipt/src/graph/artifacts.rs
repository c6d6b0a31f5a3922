//! What a run made: artifacts, and the runs of its children.

use r1_event::cbor;

use super::Graph;
use super::call_state::text;
use super::event::LogEvent;
use crate::body;
use crate::json::{Object, Value};
use crate::node::{NodeId, NodeType};

/// An artifact that waits for the call that made it to end.
#[derive(Clone, Debug)]
pub(super) struct Pending(Object<'static>);

impl Pending {
    /// The body, with place and time of the event that ends the call.
    pub(super) fn body(&self, event: &LogEvent<'_>) -> Object<'static> {
        event.placed(self.0.clone())
    }
}

impl Graph {
    pub(super) fn artifact_created(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let (Some(kind), Some(sha256)) = (text(data, "kind"), text(data, "sha256")) else { return };
        if !body::is_artifact_kind(kind) || sha256.is_empty() {
            return;
        }
        let id = text(data, "artifact_id");
        if let Some(id) = id {
            self.artifacts.insert(id.into(), sha256.into());
        }
        let mut about = Object::default();
        about.put_text("kind", kind.to_owned());
        about.put_text("media_type", text(data, "mime").unwrap_or("application/octet-stream").to_owned());
        about.put("size", Value::uint(data.get("size_bytes").and_then(cbor::Value::as_uint).unwrap_or(0)));
        about.put_text("content_hash", sha256.to_owned());
        about.put_some("artifact_id", id.map(|id| Value::text(id.to_owned())));
        about.put_some("path", text(data, "path").map(|path| Value::text(path.to_owned())));
        about.put_some("phase", self.gates.phase().map(|phase| Value::text(phase.to_owned())));
        let commit = data.get("metadata").and_then(|metadata| text(metadata, "commit"));
        about.put_some("commit", commit.map(|commit| Value::text(commit.to_owned())));
        let artifact = Pending(about);
        let call_id = text(data, "tool_call_id");
        if let Some(call_id) = call_id.filter(|id| self.calls.get(id).is_some_and(|call| call.open.is_some())) {
            self.calls.entry(call_id).artifacts.push(artifact);
            return;
        }
        let preds = self.anchored(self.origin(call_id));
        self.add(NodeType::Artifact, preds, &artifact.body(event));
    }

    pub(super) fn child_finished(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let copy = |key: &str| text(data, key).map(|text| Value::text(text.to_owned()));
        let mut body = event.body();
        body.put_text("kind", "child_run");
        body.put_some("run_id", copy("child_run_id"));
        body.put_some("outcome", copy("final_status"));
        body.put_some("size", data.get("log_size").and_then(Value::from_cbor));
        for key in ["root_blake3", "root_sha256", "receipt_digest", "task_id"] {
            body.put_some(key, copy(key));
        }
        let preds = self.anchored(self.origin(text(data, "tool_call_id")));
        self.add(NodeType::Artifact, preds, &body);
    }

    /// What something that a call made follows from: its node, or else the thought that asked for it.
    fn origin(&self, call_id: Option<&str>) -> Option<NodeId> {
        let call = self.calls.get(call_id?)?;
        if call.open.is_some() { call.proposer } else { call.last.or(call.proposer) }
    }
}
