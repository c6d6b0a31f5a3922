//! Rows of the types that the log's own kinds 1–16 are served as.

use super::{
    BudgetAction, BudgetAxis, BudgetPlace, By, Object, Time, ToolErrorType, ToolKind, ToolLimit, ToolOutcome,
    ToolResult,
};

words! {
    /// Why a worker goes on with a run.
    ResumeReason {
        LeaseExpired = "lease_expired",
        HandedOver = "handed_over",
        Reopened = "reopened",
        Operator = "operator",
    }

    /// How a finished run ended.
    FinalStatus { Completed = "completed", }

    /// Why a model stopped.
    StopReason {
        EndTurn = "end_turn",
        ToolUse = "tool_use",
        MaxTokens = "max_tokens",
        StopSequence = "stop_sequence",
        Refusal = "refusal",
        Cancelled = "cancelled",
        Error = "error",
    }

    /// Where a cost comes from.
    CostSource { Provider = "provider", PriceBook = "price_book", Unknown = "unknown", }

    /// The failure of a call that someone stopped.
    CancelledType { Cancelled = "cancelled", }

    /// The failure of a call that hit a cap.
    TimeoutType { Timeout = "timeout", }
}

rows! {
    /// The run continues a finished one: event 0.
    "run.resumed_from_event" Core RunStarted {
        identity { from_run_id: String, from_sequence: u64, }
        required { prior_cost_micros_usd: u64, }
        optional { checkpoint_id: String, reason: String, }
    }

    /// Another process goes on with the run.
    "run.resumed" Added RunResumed {
        identity { at_sequence: u64, }
        required {
            worker_id: String,
            lease_until: Time,
            reissue_tools: bool,
            pending_calls: u64,
            reason: ResumeReason,
        }
        optional { extra_message: String, instance_id: String, trace_parent: String, }
    }

    /// Time, randomness or other input was recorded.
    "run.side_effect" Added SideEffectRecorded {
        identity { name: String, }
        required { value: serde_json::Value, }
    }

    /// The context was compacted.
    "run.context_truncated" Added ContextTruncated {
        required {
            strategy: String,
            tokens_before: u64,
            tokens_after: u64,
            messages_before: u64,
            messages_after: u64,
        }
    }

    /// The run succeeded. Terminal.
    "run.finished" Core RunCompleted {
        required { final_status: FinalStatus, turns: u64, cost_micros_usd: u64, duration_ms: u64, }
        optional {
            tool_calls: u64,
            input_tokens: u64,
            output_tokens: u64,
            final_text: String,
            merkle_root: String,
            log_size: u64,
        }
    }

    /// The run failed. Terminal.
    "run.failed" Core RunFailed {
        required { code: String, message: String, retriable: bool, turns: u64, }
        optional { duration_ms: u64, merkle_root: String, log_size: u64, }
    }

    /// The run was stopped. Terminal.
    "run.cancelled" Core RunCancelled {
        required { by: By, reason: String, }
        optional { duration_ms: u64, merkle_root: String, log_size: u64, }
    }

    /// A model call begins.
    "turn.started" Core TurnStarted {
        required { turn_index: u64, model: String, provider: String, input_tokens_estimate: u64, }
        optional { turn_id: String, prompt_hash: String, }
    }

    /// A model call ended; its tools have not run yet.
    "turn.completed" Core AssistantMessageCompleted {
        required {
            turn_index: u64,
            input_tokens: u64,
            output_tokens: u64,
            cached_input_tokens: u64,
            cost_micros_usd: u64,
            duration_ms: u64,
            tool_calls: u64,
            stop_reason: StopReason,
        }
        optional {
            cost_source: CostSource,
            cache_write_tokens: u64,
            turn_id: String,
            provider_request_id: String,
            raw_response_hash: String,
        }
    }

    /// One attempt at a turn failed. If it will be tried again, the deltas so far are void.
    "turn.failed" Core TurnFailed {
        required { turn_index: u64, code: String, message: String, will_retry: bool, }
        optional { attempt: u64, turn_id: String, }
    }

    /// A block of reasoning is whole.
    "assistant.thinking_complete" Experimental ReasoningEmitted {
        required { turn_index: u64, block_index: u64, text: String, }
        optional { signed: bool, redacted: bool, }
    }

    /// A user's message.
    "user.message" Core UserMessageAppended {
        required { turn_index: u64, text: String, }
        optional { message_id: String, client_message_id: String, by: By, }
    }

    /// It is decided that a call runs.
    "tool.invoked" Core ToolCallScheduled {
        identity { tool_call_id: String, }
        required { tool_name: String, kind: ToolKind, turn_index: u64, }
        optional { attempt: u64, input: Object, mcp_server: String, mcp_tool: String, }
    }

    /// A call succeeded.
    "tool.completed" Core ToolCallCompleted {
        identity { tool_call_id: String, }
        required { tool_name: String, kind: ToolKind, duration_ms: u64, summary: String, }
        optional {
            attempt: u64,
            result_artifact_id: String,
            output: serde_json::Value,
            mcp_server: String,
            mcp_tool: String,
            result: ToolResult,
        }
    }

    /// A call failed.
    "tool.failed" Core ToolCallFailed {
        identity { tool_call_id: String, }
        required {
            tool_name: String,
            kind: ToolKind,
            duration_ms: u64,
            summary: String,
            error: String,
            error_type: ToolErrorType,
            outcome: ToolOutcome,
        }
        optional {
            attempt: u64,
            result_artifact_id: String,
            output: serde_json::Value,
            mcp_server: String,
            mcp_tool: String,
            result: ToolResult,
            r#final: bool,
        }
    }

    /// Someone stopped a call.
    "tool.cancelled" Core ToolCallFailed {
        identity { tool_call_id: String, }
        required {
            tool_name: String,
            kind: ToolKind,
            duration_ms: u64,
            summary: String,
            error: String,
            error_type: CancelledType,
            outcome: ToolOutcome,
            by: By,
        }
        optional {
            attempt: u64,
            result_artifact_id: String,
            output: serde_json::Value,
            mcp_server: String,
            mcp_tool: String,
            result: ToolResult,
            r#final: bool,
        }
    }

    /// A call hit a cap.
    "tool.timed_out" Core ToolCallFailed {
        identity { tool_call_id: String, }
        required {
            tool_name: String,
            kind: ToolKind,
            duration_ms: u64,
            summary: String,
            error: String,
            error_type: TimeoutType,
            outcome: ToolOutcome,
            limit: ToolLimit,
            after_ms: u64,
        }
        optional {
            attempt: u64,
            result_artifact_id: String,
            output: serde_json::Value,
            mcp_server: String,
            mcp_tool: String,
            result: ToolResult,
            r#final: bool,
        }
    }

    /// A budget is used up.
    "cost.budget_exceeded" Core BudgetExceeded {
        required {
            cumulative_cost_micros_usd: u64,
            task_budget_micros_usd: u64,
            action: BudgetAction,
            limit: BudgetAxis,
            r#where: BudgetPlace,
        }
        optional {
            /// Tokens, turns, milliseconds or micro-dollars.
            cap: u64,
            actual: u64,
            turn_id: String,
            partial_text: String,
            partial_tokens: u64,
        }
    }
}
