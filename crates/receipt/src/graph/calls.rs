//! Tool calls: made, refused, or lost.

use r1_event::cbor;
use r1_event::payload::{Raw, ToolCallCompleted, ToolCallFailed, ToolCallScheduled};

use super::Graph;
use super::call_state::{Approval, Call, text};
use super::content::Content;
use super::event::LogEvent;
use crate::json::{Object, Value};
use crate::node::{NodeId, NodeType, sha256_hex};

impl Graph {
    pub(super) fn scheduled(&mut self, event: &LogEvent<'_>, scheduled: &ToolCallScheduled) {
        let proposer = self.turns.thought(&scheduled.turn_id);
        let call = self.calls.entry(&scheduled.call_id);
        call.tool.clone_from(&scheduled.tool);
        // R1 says again only what was changed since it was proposed.
        if call.args.is_none() || scheduled.args != Raw::default() {
            call.args = Some(Content::of(&scheduled.args));
        }
        if !scheduled.turn_id.is_empty() {
            call.turn_id = Some(scheduled.turn_id.clone());
        }
        call.proposer = proposer.or(call.proposer);
        call.open = Some((scheduled.attempt, event.seq));
    }

    pub(super) fn call_completed(&mut self, event: &LogEvent<'_>, done: &ToolCallCompleted) {
        let mut body = self.call_body(event, &done.call_id, done.attempt, "ok", done.tool.as_deref());
        body.put("duration_ms", duration(done.duration_ms));
        let kept = done.result_artifact_id.as_ref().and_then(|id| self.artifacts.get(id));
        match kept.filter(|_| done.result == Raw::default()) {
            Some(digest) => put_result(&mut body, "text", digest.clone()),
            None => {
                let result = Content::of(&done.result);
                put_result(&mut body, result.form, result.hash);
            }
        }
        self.end_call(event, &done.call_id, done.attempt, &body);
    }

    pub(super) fn call_failed(&mut self, event: &LogEvent<'_>, failed: &ToolCallFailed) {
        let status = match failed.error_type.as_str() {
            "timeout" => "timeout",
            "cancelled" => "cancelled",
            "denied" => "denied",
            "outcome_unknown" => "unknown",
            _ => "error",
        };
        let mut body = self.call_body(event, &failed.call_id, failed.attempt, status, failed.tool.as_deref());
        body.put("duration_ms", duration(failed.duration_ms));
        if !failed.error_type.is_empty() {
            body.put_text("error_type", failed.error_type.clone());
        }
        if !failed.error.is_empty() {
            put_result(&mut body, "text", sha256_hex(&failed.error));
        }
        self.end_call(event, &failed.call_id, failed.attempt, &body);
    }

    pub(super) fn blocked(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let Some(call_id) = text(data, "tool_call_id").map(str::to_owned) else { return };
        let call = self.calls.entry(&call_id);
        if call.tool.is_empty() {
            call.tool = text(data, "tool_name").unwrap_or_default().into();
        }
        call.approval = Some(Approval {
            approved: false,
            by: "rule".into(),
            id: None,
            rule: text(data, "policy_id").map(Into::into),
        });
        self.refuse(event, &call_id);
    }

    pub(super) fn approval_resolved(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        let approved = text(data, "decision") == Some("approved");
        let by = data.get("actor").and_then(actor).or_else(|| text(data, "by").map(Into::into));
        self.answer_approval(event, data, approved, by.unwrap_or_default());
    }

    pub(super) fn approval_timed_out(&mut self, event: &LogEvent<'_>, data: &cbor::Value) {
        self.answer_approval(event, data, false, "timeout".into());
    }

    fn answer_approval(&mut self, event: &LogEvent<'_>, data: &cbor::Value, approved: bool, by: String) {
        let Some(approval_id) = text(data, "approval_id") else { return };
        let Some(call_id) = self.calls.of_approval(approval_id).map(str::to_owned) else { return };
        let approval = Approval { approved, by, id: Some(approval_id.into()), rule: None };
        self.calls.entry(&call_id).approval = Some(approval);
        if !approved {
            self.refuse(event, &call_id);
        }
    }

    /// A call that was refused before it was scheduled.
    fn refuse(&mut self, event: &LogEvent<'_>, call_id: &str) {
        let scheduled = self.calls.get(call_id).is_some_and(|call| call.open.is_some() || call.last.is_some());
        if scheduled {
            return;
        }
        let mut body = self.call_body(event, call_id, 1, "denied", None);
        body.put("duration_ms", Value::Int(0));
        self.end_call(event, call_id, 1, &body);
    }

    /// Nobody will say how these calls ended.
    pub(super) fn close_open_calls(&mut self, event: &LogEvent<'_>) {
        for (call_id, attempt) in self.calls.open() {
            let mut body = self.call_body(event, &call_id, attempt, "unknown", None);
            body.put("duration_ms", Value::Int(0));
            self.end_call(event, &call_id, attempt, &body);
        }
    }

    fn call_body(
        &self,
        event: &LogEvent<'_>,
        call_id: &str,
        attempt: u32,
        status: &'static str,
        tool: Option<&str>,
    ) -> Object<'static> {
        let nothing = Call::default();
        let call = self.calls.get(call_id).unwrap_or(&nothing);
        let known = Some(call.tool.as_str()).filter(|tool| !tool.is_empty());
        let mut body = event.body();
        body.put_text("call_id", call_id.to_owned());
        body.put_text("tool", known.or(tool).unwrap_or_default().to_owned());
        body.put("attempt", Value::uint(attempt.into()));
        body.put_text("status", status);
        call.args.as_ref().map_or_else(Content::unknown, Clone::clone).put_args(&mut body);
        body.put_some("turn_id", call.turn_id.clone().map(Value::text));
        body.put_some("approval", call.approval.as_ref().map(Approval::to_value));
        body
    }

    fn end_call(&mut self, event: &LogEvent<'_>, call_id: &str, attempt: u32, body: &Object<'_>) {
        let call = self.calls.entry(call_id);
        if call.ended.contains(&attempt) {
            // An id that was used before: the first end of an attempt is the one that counts.
            call.open = None;
            return;
        }
        let mut preds = call.memory.clone();
        preds.extend(call.last);
        let proposer = call.proposer;
        preds.extend(self.anchored(proposer));
        let node = self.add(NodeType::ToolCall, preds, body);
        self.call_closed(event, call_id, attempt, node);
    }

    /// What follows when an attempt has its node: whatever it made follows from it.
    pub(super) fn call_closed(&mut self, event: &LogEvent<'_>, call_id: &str, attempt: u32, node: NodeId) {
        let call = self.calls.entry(call_id);
        call.ended.insert(attempt);
        call.open = None;
        call.last = Some(node);
        for artifact in std::mem::take(&mut call.artifacts) {
            self.add(NodeType::Artifact, vec![node], &artifact.body(event));
        }
    }
}

/// Who acted, as `kind:id`.
pub(super) fn actor(actor: &cbor::Value) -> Option<String> {
    let id = text(actor, "id").or_else(|| text(actor, "via")).unwrap_or_default();
    Some(format!("{}:{id}", text(actor, "kind")?))
}

fn put_result(body: &mut Object<'static>, form: &'static str, hash: String) {
    body.put_text("result_form", form);
    body.put_text("result_hash", hash);
}

fn duration(millis: i64) -> Value<'static> {
    Value::uint(u64::try_from(millis).unwrap_or(0))
}
