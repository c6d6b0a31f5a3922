//! Top-level lines: requests for approval, errors, lanes and the end of what was aborted.

use r1_event::payload::{BudgetExceeded, RunCancelled, Typed};
use serde_json::Value;

use super::abort::Cause;
use super::process::{ErrorKind, error_body};
use crate::data::{
    ApprovalKind, ApprovalRequested, ErrorModelCapabilityMissing, ErrorToolUnavailable, ErrorUpstream, EventData as _,
    Object,
};
use crate::json;

/// The body of `hitl_required`.
pub(super) fn approval(request: &ApprovalRequested) -> Object {
    let ApprovalRequested { approval_id, kind, summary, policy_reason, input, .. } = request;
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let reason = said(policy_reason).or_else(|| said(summary)).unwrap_or_else(|| format!("{kind} needs an approval"));
    let input_text = |key: &str| input.as_ref().and_then(|input| input.get(key)).and_then(Value::as_str);
    let mut context = Object::new();
    let told = [
        ("kind", said(kind.as_str())),
        ("summary", said(summary)),
        ("policy_reason", said(policy_reason)),
        ("gate_decision", input_text("gate_decision").and_then(said)),
    ];
    context.extend(told.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
    let approval_type = approval_type(kind);
    let mut body = Object::new();
    let mut put = |key: &str, value: Value| body.insert(key.into(), value);
    put("approval_id", approval_id.as_str().into());
    put("reason", reason.into());
    put("approval_type", approval_type.into());
    if let Some(call_id) = &request.tool_call_id {
        put("tool_call_id", call_id.as_str().into());
    }
    if let Some(path) = input_text("path").filter(|path| approval_type == "file_write" && !path.is_empty()) {
        put("file", path.into());
    }
    if let Some(expires_at) = &request.expires_at {
        put("expires_at", expires_at.as_str().into());
    }
    put("_stoke.dev/context", context.into());
    body
}

fn approval_type(kind: &ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::SoftPass | ApprovalKind::AcRewrite => "soft_pass",
        ApprovalKind::Edit | ApprovalKind::MultiEdit | ApprovalKind::FileWrite => "file_write",
        ApprovalKind::Shell | ApprovalKind::Git => "destructive_op",
        ApprovalKind::Gate => "gate",
        ApprovalKind::FileRead
        | ApprovalKind::Glob
        | ApprovalKind::Grep
        | ApprovalKind::TodoWrite
        | ApprovalKind::Http
        | ApprovalKind::WebFetch
        | ApprovalKind::WebSearch
        | ApprovalKind::Mcp
        | ApprovalKind::Agent
        | ApprovalKind::Memory
        | ApprovalKind::Builtin
        | ApprovalKind::External
        | ApprovalKind::CriticalNote
        | ApprovalKind::Consent
        | ApprovalKind::Other(_) => "tool_use",
    }
}

/// The body of the `error` line of an `error.*` event.
pub(super) fn error(typed: &Typed) -> Object {
    if let Some(error) = ErrorUpstream::read(typed) {
        return error_body(ErrorKind::Upstream, &error.message);
    }
    if let Some(error) = ErrorToolUnavailable::read(typed) {
        let message = format!("`{}` is not available: {}", error.tool_name, error.reason);
        return error_body(ErrorKind::ToolUnavailable, &message);
    }
    if let Some(error) = ErrorModelCapabilityMissing::read(typed) {
        let message = format!("{} cannot do {}", error.model, error.missing_capability);
        return error_body(ErrorKind::CapabilityMissing, &message);
    }
    let data = json::from_raw(&typed.data);
    error_body(ErrorKind::Internal, data["message"].as_str().unwrap_or(&typed.r#type))
}

/// The body of the `error` line of a budget that is used up.
pub(super) fn budget(exceeded: &BudgetExceeded) -> Object {
    let BudgetExceeded { limit, cap, actual, .. } = exceeded;
    error_body(ErrorKind::BudgetExhausted, &format!("the budget of {limit} is used up: {actual} of {cap}"))
}

/// The body of a lane's line: whose, and what.
pub(super) fn lane(type_name: &str, mut data: Object) -> Object {
    let mut body = Object::new();
    if let Some(lane_id) = data.remove("lane_id") {
        body.insert("lane_id".into(), lane_id);
    }
    if type_name == "lane.killed"
        && let Some(by) = data.remove("by")
    {
        data.entry("actor").or_insert(by);
    }
    body.insert("data".into(), data.into());
    body
}

/// The body of `mission.aborted`.
pub(super) fn aborted(cancelled: &RunCancelled) -> Object {
    let (reason, signal) = Cause::told(cancelled.cause.as_deref(), &cancelled.reason).line();
    let mut body = Object::from_iter([("reason".to_owned(), reason.into())]);
    if let Some(signal) = signal {
        body.insert("_stoke.dev/sig".into(), signal.into());
    }
    body
}
