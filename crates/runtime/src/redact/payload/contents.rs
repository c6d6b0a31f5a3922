//! Which keys of the kinds 1–16 hold what people, models and tools said.
//!
//! Every struct is taken apart in full: a new key does not compile until someone decided whether it can
//! hold a secret. Names, hashes and words of closed sets cannot.

use r1_event::Payload;
use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, ContextTruncated, Extra, PlannedToolUse, Raw, ReasoningEmitted,
    RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted, SideEffectRecorded, ToolCallCompleted,
    ToolCallFailed, ToolCallScheduled, TurnFailed, TurnStarted, UserMessageAppended,
};

/// What can hold a secret, by its name in `data`.
pub(super) struct Contents<'a> {
    pub(super) contents: Vec<(String, Content<'a>)>,
    pub(super) extra: &'a mut Extra,
}

pub(super) enum Content<'a> {
    Text(&'a mut String),
    Value(&'a mut Raw),
}

trait Holds {
    fn content(&mut self) -> Option<Content<'_>>;
}

impl Holds for String {
    fn content(&mut self) -> Option<Content<'_>> {
        (!self.is_empty()).then_some(Content::Text(self))
    }
}

impl Holds for Raw {
    fn content(&mut self) -> Option<Content<'_>> {
        Some(Content::Value(self))
    }
}

impl<T: Holds> Holds for Option<T> {
    fn content(&mut self) -> Option<Content<'_>> {
        self.as_mut()?.content()
    }
}

macro_rules! contents {
    ($extra:ident, $($name:literal: $field:ident),*) => {{
        let contents: Vec<(&str, Option<Content<'_>>)> = vec![$(($name, $field.content())),*];
        let contents = contents.into_iter();
        let contents = contents.filter_map(|(name, content)| content.map(|content| (name.to_owned(), content)));
        Contents { contents: contents.collect(), extra: $extra }
    }};
}

impl<'a> Contents<'a> {
    /// `None` for Typed events, which have one value only, and for kinds that nobody knows.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind")]
    pub(super) fn of(payload: &'a mut Payload) -> Option<Self> {
        Some(match payload {
            Payload::RunStarted(started) => {
                let RunStarted {
                    schema_version: _,
                    goal,
                    provider_id: _,
                    model_id: _,
                    api_version: _,
                    params_hash: _,
                    params,
                    system_prompt_hash: _,
                    system_prompt,
                    tool_registry_hash: _,
                    tool_schemas: _,
                    budget: _,
                    starling_version: _,
                    app_version: _,
                    run_kind: _,
                    task_id: _,
                    session_id: _,
                    workspace,
                    parent: _,
                    resumed_from: _,
                    forked_from: _,
                    instance_id: _,
                    trace_parent: _,
                    trace_parent_in: _,
                    source,
                    spec,
                    title,
                    number: _,
                    priority: _,
                    held: _,
                    prior_run_id: _,
                    prior_cost_micros_usd: _,
                    checkpoint_id: _,
                    reason,
                    mission_id: _,
                    extra,
                } = started.as_mut();
                contents!(extra, "goal": goal, "params": params, "system_prompt": system_prompt, "workspace": workspace,
                    "source": source, "spec": spec, "title": title, "reason": reason)
            }
            Payload::UserMessageAppended(message) => {
                let UserMessageAppended { content, turn_index: _, by: _, message_id: _, client_message_id: _, extra } =
                    message;
                contents!(extra, "text": content)
            }
            Payload::TurnStarted(started) => {
                let TurnStarted {
                    turn_id: _,
                    prompt_hash: _,
                    input_tokens: _,
                    turn_index: _,
                    model: _,
                    provider: _,
                    extra,
                } = started;
                contents!(extra,)
            }
            Payload::ReasoningEmitted(reasoning) => {
                let ReasoningEmitted {
                    turn_id: _,
                    content,
                    sensitive: _,
                    signature: _,
                    redacted,
                    turn_index: _,
                    block_index: _,
                    extra,
                } = reasoning;
                // What the provider made opaque must go back to it as it came.
                if *redacted { contents!(extra,) } else { contents!(extra, "text": content) }
            }
            Payload::AssistantMessageCompleted(message) => {
                let AssistantMessageCompleted {
                    turn_id: _,
                    text,
                    stop_reason: _,
                    input_tokens: _,
                    output_tokens: _,
                    cost_usd: _,
                    raw_response_hash: _,
                    tool_uses,
                    cache_read_tokens: _,
                    cache_create_tokens: _,
                    provider_request_id: _,
                    turn_index: _,
                    cost_micros_usd: _,
                    duration_ms: _,
                    cost_source: _,
                    extra,
                } = message.as_mut();
                let mut contents = contents!(extra, "text": text);
                let uses = tool_uses.iter_mut().flatten().enumerate().map(|(at, planned)| {
                    let PlannedToolUse { call_id: _, tool: _, args, extra: _ } = planned;
                    (format!("tool_uses/{at}/args"), Content::Value(args))
                });
                contents.contents.extend(uses);
                contents
            }
            Payload::ToolCallScheduled(scheduled) => {
                let ToolCallScheduled {
                    call_id: _,
                    turn_id: _,
                    tool: _,
                    args,
                    attempt: _,
                    idemp_key: _,
                    turn_index: _,
                    kind: _,
                    mcp_server: _,
                    mcp_tool: _,
                    extra,
                } = scheduled;
                contents!(extra, "input": args)
            }
            Payload::ToolCallCompleted(completed) => {
                let ToolCallCompleted {
                    call_id: _,
                    result,
                    duration_ms: _,
                    attempt: _,
                    tool: _,
                    kind: _,
                    summary,
                    result_artifact_id: _,
                    mcp_server: _,
                    mcp_tool: _,
                    result_state: _,
                    extra,
                } = completed;
                contents!(extra, "output": result, "summary": summary)
            }
            Payload::ToolCallFailed(failed) => {
                let ToolCallFailed {
                    call_id: _,
                    error,
                    error_type: _,
                    duration_ms: _,
                    attempt: _,
                    r#final: _,
                    result,
                    tool: _,
                    kind: _,
                    summary,
                    result_artifact_id: _,
                    mcp_server: _,
                    mcp_tool: _,
                    result_state: _,
                    outcome: _,
                    by: _,
                    limit: _,
                    after_ms: _,
                    extra,
                } = failed;
                contents!(extra, "error": error, "output": result, "summary": summary)
            }
            Payload::SideEffectRecorded(recorded) => {
                let SideEffectRecorded { name: _, value, extra } = recorded;
                contents!(extra, "value": value)
            }
            Payload::BudgetExceeded(exceeded) => {
                let BudgetExceeded {
                    limit: _,
                    cap: _,
                    actual: _,
                    r#where: _,
                    turn_id: _,
                    call_id: _,
                    partial_text,
                    partial_tokens: _,
                    cumulative_cost_micros_usd: _,
                    task_budget_micros_usd: _,
                    action: _,
                    extra,
                } = exceeded;
                contents!(extra, "partial_text": partial_text)
            }
            Payload::ContextTruncated(truncated) => {
                let ContextTruncated {
                    strategy: _,
                    tokens_before: _,
                    tokens_after: _,
                    messages_before: _,
                    messages_after: _,
                    extra,
                } = truncated;
                contents!(extra,)
            }
            Payload::RunCompleted(completed) => {
                let RunCompleted {
                    final_text,
                    turn_count: _,
                    tool_call_count: _,
                    total_cost_usd: _,
                    total_input_tokens: _,
                    total_output_tokens: _,
                    duration_ms: _,
                    merkle_root: _,
                    log_size: _,
                    total_cost_micros_usd: _,
                    extra,
                } = completed;
                contents!(extra, "final_text": final_text)
            }
            Payload::RunFailed(failed) => {
                let RunFailed {
                    error,
                    error_type: _,
                    merkle_root: _,
                    duration_ms: _,
                    log_size: _,
                    retriable: _,
                    turns: _,
                    extra,
                } = failed;
                contents!(extra, "message": error)
            }
            Payload::RunCancelled(cancelled) => {
                let RunCancelled { reason, merkle_root: _, duration_ms: _, log_size: _, by: _, cause: _, extra } =
                    cancelled;
                contents!(extra, "reason": reason)
            }
            Payload::RunResumed(resumed) => {
                let RunResumed {
                    at_seq: _,
                    reissue_tools: _,
                    pending_calls: _,
                    extra_message,
                    worker_id: _,
                    lease_until: _,
                    reason: _,
                    instance_id: _,
                    trace_parent: _,
                    extra,
                } = resumed;
                contents!(extra, "extra_message": extra_message)
            }
            Payload::TurnFailed(failed) => {
                let TurnFailed { turn_id: _, turn_index: _, code: _, message, will_retry: _, attempt: _, extra } =
                    failed;
                contents!(extra, "message": message)
            }
            Payload::Typed(_) | Payload::Other(..) => return None,
        })
    }
}
