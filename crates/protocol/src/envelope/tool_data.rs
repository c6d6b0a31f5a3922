//! The `data` of tool calls.

use r1_event::Version;
use r1_event::payload::{ToolCallCompleted, ToolCallFailed, ToolCallScheduled};

use super::fields::Fields;

pub(super) fn tool_invoked(data: &mut Fields, body: ToolCallScheduled) {
    let ToolCallScheduled {
        call_id,
        turn_id: _,
        tool,
        args,
        attempt,
        idemp_key: _,
        turn_index,
        kind,
        mcp_server,
        mcp_tool,
        extra,
    } = body;
    data.put("tool_call_id", call_id);
    data.put("tool_name", tool);
    data.put_some("kind", kind);
    data.put_some("turn_index", turn_index);
    data.put("attempt", attempt);
    // A call that runs as it was proposed does not repeat its input: the log has null there.
    data.put_raw_unless_null("input", args);
    data.put_some("mcp_server", mcp_server);
    data.put_some("mcp_tool", mcp_tool);
    data.put_common(&extra);
}

pub(super) fn tool_completed(data: &mut Fields, version: Version, body: ToolCallCompleted) {
    let ToolCallCompleted {
        call_id,
        result,
        duration_ms,
        attempt,
        tool,
        kind,
        summary,
        result_artifact_id,
        mcp_server,
        mcp_tool,
        result_state,
        extra,
    } = body;
    data.put("tool_call_id", call_id);
    data.put_some("tool_name", tool);
    data.put_some("kind", kind);
    data.put("duration_ms", duration_ms);
    data.put_some("summary", summary);
    data.put("attempt", attempt);
    data.put_some("result_artifact_id", result_artifact_id);
    match version {
        Version::V1 => data.put_raw("output", result),
        Version::V2 => data.put_raw_unless_null("output", result),
    }
    data.put_some("mcp_server", mcp_server);
    data.put_some("mcp_tool", mcp_tool);
    data.put_some("result", result_state);
    data.put_common(&extra);
}

pub(super) fn tool_failed(data: &mut Fields, body: ToolCallFailed) {
    let ToolCallFailed {
        call_id,
        error,
        error_type,
        duration_ms,
        attempt,
        r#final,
        result,
        tool,
        kind,
        summary,
        result_artifact_id,
        mcp_server,
        mcp_tool,
        result_state,
        outcome,
        by,
        limit,
        after_ms,
        extra,
    } = body;
    data.put("tool_call_id", call_id);
    data.put_some("tool_name", tool);
    data.put_some("kind", kind);
    data.put("duration_ms", duration_ms);
    data.put_some("summary", summary);
    data.put("attempt", attempt);
    data.put_some("result_artifact_id", result_artifact_id);
    if let Some(result) = result {
        data.put_raw_unless_null("output", result);
    }
    data.put_some("mcp_server", mcp_server);
    data.put_some("mcp_tool", mcp_tool);
    data.put_some("result", result_state);
    data.put("error", error);
    data.put("error_type", error_type);
    // Of a call whose outcome nobody knows it must be told whether it runs again; else only that it does not.
    let tells_final = r#final || outcome.as_deref() == Some("unknown");
    data.put_some("final", tells_final.then_some(r#final));
    data.put_some("outcome", outcome);
    data.put_some("by", by);
    data.put_some("limit", limit);
    data.put_some("after_ms", after_ms);
    data.put_common(&extra);
}
