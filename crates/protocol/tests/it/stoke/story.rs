//! A run in which everything happens once.

use bytes::Bytes;
use r1_event::Payload;
use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, PlannedToolUse, ReasoningEmitted, RunResumed, RunStarted,
    ToolCallCompleted, ToolCallFailed, ToolCallScheduled, ToolSchemaRef, TurnFailed, TurnStarted, UserMessageAppended,
};
use r1_protocol::data::{self, EventData as _};
use r1_protocol::json;
use serde_json::{Value, json};

pub(super) fn typed(type_name: &str, value: &Value) -> Payload {
    Payload::Typed(data::typed(type_name, value))
}

pub(super) fn started() -> RunStarted {
    let spec = json!({
        "approval": "edits",
        "provider": { "name": "anthropic", "key": { "env": "ANTHROPIC_API_KEY" } },
        "mcp_servers": [{ "name": "github" }, { "name": "gone" }],
        "tools": [{ "name": "mcp__github__issues", "mcp": ["github", "issues"] }],
    });
    RunStarted {
        goal: "make the test pass".into(),
        model_id: "model-1".into(),
        app_version: "0.1.0".into(),
        tool_schemas: Some(vec![ToolSchemaRef { name: "shell".into(), ..ToolSchemaRef::default() }]),
        workspace: Some(json::to_raw(&json!({ "path": "/project", "mode": "in_place" }))),
        instance_id: Some("r1-00000001".into()),
        trace_parent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        spec: Some(json::to_raw(&spec)),
        ..RunStarted::default()
    }
}

/// All that happens before the end.
pub(super) fn payloads() -> Vec<Payload> {
    let mut events = vec![
        Payload::RunStarted(Box::new(started())),
        Payload::UserMessageAppended(UserMessageAppended {
            content: "make the test pass".into(),
            ..Default::default()
        }),
        typed("run.started", &json!({ "worker_id": "w", "instance_id": "r1-00000002" })),
    ];
    events.extend(first_turn());
    events.extend(calls());
    events.extend(second_turn());
    events.extend(beside());
    events
}

fn first_turn() -> Vec<Payload> {
    let proposed = |call: &str, tool: &str, input: Value| {
        typed(
            "assistant.tool_call_proposed",
            &json!({ "turn_index": 0, "tool_call_id": call, "tool_name": tool, "input": input }),
        )
    };
    let planned = |call: &str, tool: &str, input: Value| PlannedToolUse {
        call_id: call.into(),
        tool: tool.into(),
        args: json::to_raw(&input),
        ..PlannedToolUse::default()
    };
    vec![
        Payload::TurnStarted(TurnStarted {
            turn_id: "T1".into(),
            input_tokens: 40,
            model: Some("model-2".into()),
            ..Default::default()
        }),
        typed("assistant.text_delta", &json!({ "turn_index": 0, "block_index": 0, "delta": "void" })),
        typed("error.upstream", &json!({ "provider": "p", "status": 529, "message": "overloaded", "retriable": true })),
        Payload::TurnFailed(TurnFailed { will_retry: Some(true), ..TurnFailed::default() }),
        typed("assistant.thinking_delta", &json!({ "turn_index": 0, "block_index": 0, "delta": "Hm" })),
        typed("assistant.thinking_delta", &json!({ "turn_index": 0, "block_index": 0, "delta": "m." })),
        typed("assistant.text_delta", &json!({ "turn_index": 0, "block_index": 1, "delta": "I " })),
        typed("assistant.text_delta", &json!({ "turn_index": 0, "block_index": 1, "delta": "look." })),
        Payload::ReasoningEmitted(ReasoningEmitted {
            turn_id: "T1".into(),
            content: "Hmm.".into(),
            signature: Some(Bytes::from_static(b"c2ln")),
            turn_index: Some(0),
            block_index: Some(0),
            ..Default::default()
        }),
        typed("assistant.text_complete", &json!({ "turn_index": 0, "block_index": 1, "text": "I look." })),
        typed("assistant.text_complete", &json!({ "turn_index": 0, "block_index": 2, "text": "Not streamed." })),
        proposed("c1", "shell", json!({ "command": ["cargo", "test"] })),
        proposed("c2", "edit", json!({ "path": "src/lib.rs" })),
        proposed("c3", "shell", json!({ "command": "rm -rf /" })),
        proposed("c4", "grep", json!({ "pattern": "x" })),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T1".into(),
            text: "I look.\n\nNot streamed.".into(),
            stop_reason: "tool_use".into(),
            input_tokens: 100,
            output_tokens: 20,
            cache_read_tokens: 7,
            cache_create_tokens: 3,
            provider_request_id: "req_1".into(),
            tool_uses: Some(vec![
                planned("c1", "shell", json!({ "command": ["cargo", "test"] })),
                planned("c2", "edit", json!({ "path": "src/lib.rs" })),
            ]),
            cost_micros_usd: Some(1_500),
            duration_ms: Some(900),
            ..Default::default()
        })),
        typed(
            "cost.tick",
            &json!({
                "cumulative_input_tokens": 100,
                "cumulative_output_tokens": 20,
                "cumulative_cost_micros_usd": 1_500,
            }),
        ),
    ]
}

fn calls() -> Vec<Payload> {
    let scheduled = |call: &str, tool: &str| {
        Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: call.into(),
            turn_id: "T1".into(),
            tool: tool.into(),
            attempt: 1,
            kind: Some("shell".into()),
            ..Default::default()
        })
    };
    let asked = |approval: &str, call: &str, kind: &str, input: Value| {
        typed(
            "approval.requested",
            &json!({
                "approval_id": approval, "tool_call_id": call, "kind": kind, "summary": format!("{kind} it"),
                "policy_reason": "it changes files", "subject_hash": "00", "scopes": ["once"],
                "expires_at": "2026-09-21T14:13:20.000000000Z", "input": input,
            }),
        )
    };
    vec![
        scheduled("c1", "shell"),
        Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: "c1".into(),
            result: json::to_raw(&json!({ "stdout": "1 passed\u{2028}" })),
            attempt: 1,
            ..Default::default()
        }),
        asked("appr_1", "c2", "edit", json!({ "path": "src/lib.rs" })),
        typed(
            "approval.resolved",
            &json!({ "approval_id": "appr_1", "decision": "rejected", "by": "operator", "comment": "not there" }),
        ),
        typed("policy.tool_blocked", &json!({ "tool_call_id": "c3", "tool_name": "shell", "reason": "never that" })),
        asked("appr_2", "c4", "grep", json!({})),
        typed("approval.timed_out", &json!({ "approval_id": "appr_2", "after_seconds": 60 })),
        typed(
            "approval.requested",
            &json!({ "approval_id": "appr_3", "kind": "gate", "summary": "", "policy_reason": "", "expires_at": null }),
        ),
        typed("approval.resolved", &json!({ "approval_id": "appr_3", "decision": "approved", "by": "operator" })),
        Payload::ToolCallFailed(ToolCallFailed {
            call_id: "c5".into(),
            error: "exit status 7".into(),
            error_type: "tool".into(),
            attempt: 1,
            result: Some(json::to_raw(&json!("boom"))),
            ..Default::default()
        }),
        Payload::ToolCallFailed(ToolCallFailed {
            call_id: "c6".into(),
            error: "took too long".into(),
            error_type: "timeout".into(),
            attempt: 1,
            ..Default::default()
        }),
    ]
}

fn second_turn() -> Vec<Payload> {
    vec![
        Payload::RunResumed(RunResumed {
            instance_id: Some("r1-00000003".into()),
            trace_parent: Some("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01".into()),
            ..Default::default()
        }),
        Payload::TurnStarted(TurnStarted { turn_id: "T2".into(), ..Default::default() }),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T2".into(),
            text: "Done.".into(),
            stop_reason: "end_turn".into(),
            ..Default::default()
        })),
    ]
}

/// One of each family that is told as it is, and of those that are told otherwise.
fn beside() -> Vec<Payload> {
    let mut events: Vec<_> = [
        "gate.decision",
        "phase.transition",
        "memory.read",
        "skill.authoring_decision",
        "beacon.event",
        "artifact.created",
        "run.child_started",
        "redaction.applied",
        "gap.run_disconnected",
    ]
    .map(|name| typed(name, &json!({ "of": name })))
    .into();
    events.extend([
        typed("gate.override", &json!({ "of": "sha256:00", "seq": 4, "reason": "it says a reserved key" })),
        typed(
            "lane.created",
            &json!({
                "lane_id": "lane_1", "kind": "tool", "label": "cargo test",
                "started_at": "2026-09-21T14:13:20.000000000Z",
            }),
        ),
        typed("lane.killed", &json!({ "lane_id": "lane_1", "reason": "enough", "by": "operator" })),
        typed("error.tool_unavailable", &json!({ "tool_name": "gh", "reason": "not installed" })),
        typed(
            "error.model_capability_missing",
            &json!({ "model": "model-1", "missing_capability": "images", "fallback_strategy": "text" }),
        ),
        typed("error.of_tomorrow", &json!({ "message": "who knows" })),
        typed("run.checkpoint_saved", &json!({ "checkpoint_id": "ckpt_1" })),
        data::AssistantFinalAnswer { turn_index: 1, summary: "Done.".into(), ..Default::default() }.to_payload(),
        Payload::BudgetExceeded(BudgetExceeded {
            limit: "usd".into(),
            cap: 0.5,
            actual: 0.75,
            r#where: "post_call".into(),
            ..Default::default()
        }),
    ]);
    events
}
