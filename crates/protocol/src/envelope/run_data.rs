//! The `data` of events that concern the run as a whole.

use r1_event::payload::{
    BudgetExceeded, BudgetLimits, ContextTruncated, Raw, RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted,
    SideEffectRecorded,
};
use r1_event::{Version, cbor};
use serde_json::Value;

use super::RunFacts;
use super::fields::{Fields, micros, sequence, text, whole};
use crate::json;

pub(super) fn run_started(data: &mut Fields, run: &RunFacts, body: RunStarted) {
    let RunStarted {
        goal,
        provider_id,
        model_id,
        system_prompt_hash,
        tool_registry_hash,
        budget,
        run_kind,
        workspace,
        parent,
        resumed_from,
        forked_from,
        source,
        title,
        number,
        priority,
        held,
        prior_run_id,
        prior_cost_micros_usd,
        checkpoint_id,
        reason,
        extra,
        // In every envelope.
        task_id: _,
        session_id: _,
        // Pinned for whoever goes on with the run, not for those who watch it.
        schema_version: _,
        api_version: _,
        params_hash: _,
        params: _,
        system_prompt: _,
        tool_schemas: _,
        starling_version: _,
        app_version: _,
        instance_id: _,
        trace_parent: _,
        trace_parent_in: _,
        spec: _,
        mission_id: _,
    } = body;
    data.put_common(&extra);
    if run.version == Version::V1 {
        data.put("goal", goal);
        data.put("model", model_id);
        data.put("provider", provider_id);
        data.put_some("source_run_id", run.source_run_id.clone());
        return;
    }
    if let Some(from) = value(resumed_from) {
        data.put_some("from_run_id", text(&from, "run_id"));
        data.put_some("from_sequence", sequence(&from, "seq"));
        data.put("prior_cost_micros_usd", prior_cost_micros_usd.unwrap_or(0));
        data.put_some("checkpoint_id", checkpoint_id);
        data.put_some("reason", reason);
        return;
    }
    data.put_some("kind", run_kind);
    data.put("model", model_id);
    data.put("provider", provider_id);
    if let Some(workspace) = value(workspace) {
        data.put_some("workspace_path", text(&workspace, "path"));
        data.put_some("workspace_mode", text(&workspace, "mode"));
    }
    data.put("prior_run_id", prior_run_id);
    data.put_some("number", number);
    data.put_some("title", title);
    data.put_some("priority", priority);
    data.put_some("held", held);
    data.put_some("parent_run_id", value(parent).and_then(|parent| text(&parent, "run_id")));
    data.put_some("forked_from", value(forked_from).map(|from| position(&from)));
    data.put_some("budget", budget.map(budget_limits));
    data.put_some("source", source.as_ref().map(json::from_raw));
    data.put_hash("system_prompt_hash", system_prompt_hash.as_ref());
    data.put_hash("tool_registry_hash", tool_registry_hash.as_ref());
}

fn budget_limits(limits: BudgetLimits) -> Value {
    let BudgetLimits { max_input_tokens, max_output_tokens, max_usd, max_wall_clock_ms, extra } = limits;
    let mut data = Fields::default();
    data.put_count("input_tokens", max_input_tokens);
    data.put_count("output_tokens", max_output_tokens);
    data.put_count("micros_usd", micros(max_usd).unwrap_or(0));
    data.put_count("wall_clock_ms", max_wall_clock_ms);
    for (key, stored) in [("turns", "max_turns"), ("micros_usd", "max_micros_usd"), ("warning_pct", "warning_pct")] {
        data.put_some(key, extra.get(stored).as_ref().map(json::from_raw));
    }
    Value::Object(data.finish())
}

pub(super) fn side_effect(data: &mut Fields, body: SideEffectRecorded) {
    let SideEffectRecorded { name, value, extra } = body;
    data.put("name", name);
    data.put_raw("value", value);
    data.put_common(&extra);
}

pub(super) fn budget_exceeded(data: &mut Fields, body: BudgetExceeded) {
    let BudgetExceeded {
        limit,
        cap,
        actual,
        r#where,
        turn_id,
        call_id: _,
        partial_text,
        partial_tokens,
        cumulative_cost_micros_usd,
        task_budget_micros_usd,
        action,
        extra,
    } = body;
    let amount = if limit == "usd" { micros } else { whole };
    data.put_some("cumulative_cost_micros_usd", cumulative_cost_micros_usd);
    data.put_some("task_budget_micros_usd", task_budget_micros_usd);
    data.put_some("action", action);
    data.put_some("cap", amount(cap));
    data.put_some("actual", amount(actual));
    data.put("limit", limit);
    data.put("where", r#where);
    data.put_text("turn_id", turn_id);
    data.put_text("partial_text", partial_text);
    data.put_count("partial_tokens", partial_tokens);
    data.put_common(&extra);
}

pub(super) fn context_truncated(data: &mut Fields, body: ContextTruncated) {
    let ContextTruncated { strategy, tokens_before, tokens_after, messages_before, messages_after, extra } = body;
    data.put("strategy", strategy);
    data.put("tokens_before", tokens_before);
    data.put("tokens_after", tokens_after);
    data.put("messages_before", messages_before);
    data.put("messages_after", messages_after);
    data.put_common(&extra);
}

pub(super) fn run_finished(data: &mut Fields, body: RunCompleted) {
    let RunCompleted {
        final_text,
        turn_count,
        tool_call_count,
        total_cost_usd,
        total_input_tokens,
        total_output_tokens,
        duration_ms,
        merkle_root,
        log_size,
        total_cost_micros_usd,
        extra,
    } = body;
    data.put("final_status", "completed");
    data.put("turns", turn_count);
    data.put_cost("cost_micros_usd", total_cost_micros_usd, total_cost_usd);
    data.put("duration_ms", duration_ms);
    data.put("tool_calls", tool_call_count);
    data.put("input_tokens", total_input_tokens);
    data.put("output_tokens", total_output_tokens);
    data.put("final_text", final_text);
    data.put_hash("merkle_root", merkle_root.as_ref());
    data.put_some("log_size", log_size);
    data.put_common(&extra);
}

pub(super) fn run_failed(data: &mut Fields, body: RunFailed) {
    let RunFailed { error, error_type, merkle_root, duration_ms, log_size, retriable, turns, extra } = body;
    data.put("code", error_type);
    data.put("message", error);
    data.put_some("retriable", retriable);
    data.put_some("turns", turns);
    data.put("duration_ms", duration_ms);
    data.put_hash("merkle_root", merkle_root.as_ref());
    data.put_some("log_size", log_size);
    data.put_common(&extra);
}

pub(super) fn run_cancelled(data: &mut Fields, body: RunCancelled) {
    // The cause is for the stream of lines; an event says who, and why in their words.
    let RunCancelled { reason, merkle_root, duration_ms, log_size, by, cause: _, extra } = body;
    data.put_some("by", by);
    data.put("reason", reason);
    data.put("duration_ms", duration_ms);
    data.put_hash("merkle_root", merkle_root.as_ref());
    data.put_some("log_size", log_size);
    data.put_common(&extra);
}

pub(super) fn run_resumed(data: &mut Fields, body: RunResumed) {
    let RunResumed {
        at_seq,
        reissue_tools,
        pending_calls,
        extra_message,
        worker_id,
        lease_until,
        reason,
        instance_id,
        trace_parent,
        extra,
    } = body;
    data.put_some("at_sequence", at_seq.checked_sub(1));
    data.put_some("worker_id", worker_id);
    data.put_some("lease_until", lease_until);
    data.put("reissue_tools", reissue_tools);
    data.put("pending_calls", pending_calls);
    data.put_some("reason", reason);
    data.put_text("extra_message", extra_message);
    data.put_some("instance_id", instance_id);
    data.put_some("trace_parent", trace_parent);
    data.put_common(&extra);
}

/// A place in another run's log.
fn position(from: &cbor::Value) -> Value {
    let mut data = Fields::default();
    data.put_some("run_id", text(from, "run_id"));
    data.put_some("sequence", sequence(from, "seq"));
    Value::Object(data.finish())
}

fn value(raw: Option<Raw>) -> Option<cbor::Value> {
    raw.and_then(|raw| raw.value().ok())
}
