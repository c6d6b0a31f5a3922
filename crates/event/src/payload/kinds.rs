//! The payloads of kinds 1–17. Key names and order rules are part of every hash: never rename.

use bytes::Bytes;

use super::{Field, FieldType, Raw};
use crate::cbor::write;

fields! {
    /// Kind 1: pins the whole deterministic surface of the run.
    RunStarted {
        always {
            /// 1 for Starling's logs, 2 for R1's.
            schema_version: u32,
            /// What the run is to achieve.
            goal: String,
            /// Who serves the model.
            provider_id: String,
            /// Which model.
            model_id: String,
            /// Version of the provider's API.
            api_version: String,
            /// BLAKE3 of `params`.
            params_hash: Option<Bytes>,
            /// Sampling parameters.
            params: Raw,
            /// BLAKE3 of `system_prompt`.
            system_prompt_hash: Option<Bytes>,
            /// The system prompt.
            system_prompt: String,
            /// BLAKE3 of the sorted tool names and schema hashes.
            tool_registry_hash: Option<Bytes>,
            /// The tools; null and empty differ.
            tool_schemas: Option<Vec<ToolSchemaRef>>,
        }
        unless_empty {
            /// Limits of the whole run.
            budget: Option<BudgetLimits>,
            /// Version of Starling that wrote the log.
            starling_version: String,
            /// Version of the program around it.
            app_version: String,
        }
        v2 {
            /// agent_loop, shell, git, file, recorded, operator or control.
            run_kind: Option<String>,
            /// The task this run works on.
            task_id: Option<String>,
            /// The session it belongs to.
            session_id: Option<String>,
            /// Where it works: {path, mode}.
            workspace: Option<Raw>,
            /// The run that started it: {run_id, seq}.
            parent: Option<Raw>,
            /// The finished run that it continues: {run_id, seq}.
            resumed_from: Option<Raw>,
            /// The run whose prefix it shares: {run_id, seq}.
            forked_from: Option<Raw>,
            /// The process that created it.
            instance_id: Option<String>,
            /// The run's own place in a W3C trace.
            trace_parent: Option<String>,
            /// W3C trace context of whoever asked, as it was given.
            trace_parent_in: Option<String>,
            /// The foreign agent, for recorded runs.
            source: Option<Raw>,
            /// What was asked for, whole: whoever goes on with the run reads it here.
            spec: Option<Raw>,
            /// The task in a few words.
            title: Option<String>,
            /// Which run of its task this is, from 1.
            number: Option<u64>,
            /// low, normal or high.
            priority: Option<String>,
            /// Whether it waits for its release.
            held: Option<bool>,
            /// The run of the same task before this one.
            prior_run_id: Option<String>,
            /// What the runs that it continues have cost.
            prior_cost_micros_usd: Option<u64>,
            /// The checkpoint it goes on from.
            checkpoint_id: Option<String>,
            /// Why it continues another run.
            reason: Option<String>,
            /// The mission it belongs to.
            mission_id: Option<String>,
        }
    }

    /// A tool's name and the hash of its JSON schema.
    ToolSchemaRef {
        always {
            /// The tool.
            name: String,
            /// BLAKE3 of its schema.
            schema_hash: Option<Bytes>,
        }
        unless_empty {}
        v2 {}
    }

    /// Limits of a run; zero means none.
    BudgetLimits {
        always {}
        unless_empty {
            /// Tokens in.
            max_input_tokens: i64,
            /// Tokens out.
            max_output_tokens: i64,
            /// US dollars.
            max_usd: f64,
            /// Milliseconds.
            max_wall_clock_ms: i64,
        }
        v2 {}
    }

    /// Kind 2: a user's message.
    UserMessageAppended {
        always {
            /// The text.
            content: String,
        }
        unless_empty {}
        v2 {
            /// Index of the turn that will answer it.
            turn_index: Option<u64>,
            /// Who wrote it.
            by: Option<String>,
            /// A foreign agent's own id of it.
            message_id: Option<String>,
            /// The sender's own id: the same one twice is one message.
            client_message_id: Option<String>,
        }
    }

    /// Kind 3: a model call begins.
    TurnStarted {
        always {
            /// Names the turn until it is closed.
            turn_id: String,
            /// BLAKE3 of the request.
            prompt_hash: Option<Bytes>,
            /// Estimated tokens of the request.
            input_tokens: i64,
        }
        unless_empty {}
        v2 {
            /// Model calls before this one.
            turn_index: Option<u64>,
            /// Which model.
            model: Option<String>,
            /// Who serves it.
            provider: Option<String>,
        }
    }

    /// Kind 4: a block of reasoning.
    ReasoningEmitted {
        always {
            /// The turn.
            turn_id: String,
            /// The text, or an opaque block if `redacted`.
            content: String,
            /// Whether to hide it by default.
            sensitive: bool,
        }
        unless_empty {
            /// The provider's integrity signature.
            signature: Option<Bytes>,
            /// Whether `content` is opaque.
            redacted: bool,
        }
        v2 {
            /// Model calls before this turn.
            turn_index: Option<u64>,
            /// Place among the blocks of its turn.
            block_index: Option<u64>,
        }
    }

    /// Kind 5: a model call ended.
    AssistantMessageCompleted {
        always {
            /// The turn it closes.
            turn_id: String,
            /// The answer.
            text: String,
            /// Why the model stopped.
            stop_reason: String,
            /// Tokens in.
            input_tokens: i64,
            /// Tokens out.
            output_tokens: i64,
            /// US dollars.
            cost_usd: f64,
            /// BLAKE3 of the provider's stream.
            raw_response_hash: Option<Bytes>,
        }
        unless_empty {
            /// The calls that the model asks for.
            tool_uses: Option<Vec<PlannedToolUse>>,
            /// Tokens read from the provider's cache.
            cache_read_tokens: i64,
            /// Tokens written to it.
            cache_create_tokens: i64,
            /// The provider's own id of the request.
            provider_request_id: String,
        }
        v2 {
            /// Model calls before this turn.
            turn_index: Option<u64>,
            /// Micro-dollars; wins over `cost_usd`.
            cost_micros_usd: Option<u64>,
            /// How long the call took.
            duration_ms: Option<u64>,
            /// provider, price_book or unknown.
            cost_source: Option<String>,
        }
    }

    /// A call that the model asked for.
    PlannedToolUse {
        always {
            /// The call's id.
            call_id: String,
            /// The tool.
            tool: String,
            /// Its arguments.
            args: Raw,
        }
        unless_empty {}
        v2 {}
    }

    /// Kind 6: a tool call is about to run.
    ToolCallScheduled {
        always {
            /// The call's id, shared by its retries.
            call_id: String,
            /// The turn that asked for it.
            turn_id: String,
            /// The tool.
            tool: String,
            /// Its arguments.
            args: Raw,
            /// From 1.
            attempt: u32,
        }
        unless_empty {
            /// Key under which a retry is the same call.
            idemp_key: String,
        }
        v2 {
            /// Model calls before this turn.
            turn_index: Option<u64>,
            /// shell, edit, mcp, …
            kind: Option<String>,
            /// The MCP server that has the tool.
            mcp_server: Option<String>,
            /// The tool's name there.
            mcp_tool: Option<String>,
        }
    }

    /// Kind 7: a tool call succeeded.
    ToolCallCompleted {
        always {
            /// The call.
            call_id: String,
            /// What it returned.
            result: Raw,
            /// How long it took.
            duration_ms: i64,
            /// Which attempt.
            attempt: u32,
        }
        unless_empty {}
        v2 {
            /// The tool.
            tool: Option<String>,
            /// shell, edit, mcp, …
            kind: Option<String>,
            /// What happened, in a line.
            summary: Option<String>,
            /// Where the whole result is.
            result_artifact_id: Option<String>,
            /// The MCP server that has the tool.
            mcp_server: Option<String>,
            /// The tool's name there.
            mcp_tool: Option<String>,
            /// dispatched or tool_error; served as `result`, a name that the seed's payload has given away.
            result_state: Option<String>,
        }
    }

    /// Kind 8: a tool call failed.
    ToolCallFailed {
        always {
            /// The call.
            call_id: String,
            /// What went wrong.
            error: String,
            /// tool, panic, cancelled, timeout, denied, …
            error_type: String,
            /// How long it took.
            duration_ms: i64,
            /// Which attempt.
            attempt: u32,
        }
        unless_empty {
            /// Whether no retry follows.
            r#final: bool,
        }
        v2 {
            /// What the model received.
            result: Option<Raw>,
            /// The tool.
            tool: Option<String>,
            /// shell, edit, mcp, …
            kind: Option<String>,
            /// What happened, in a line.
            summary: Option<String>,
            /// Where the whole result is.
            result_artifact_id: Option<String>,
            /// The MCP server that has the tool.
            mcp_server: Option<String>,
            /// The tool's name there.
            mcp_tool: Option<String>,
            /// dispatched or tool_error; served as `result`, a name that the seed's payload has given away.
            result_state: Option<String>,
            /// failed, or unknown if nobody can tell.
            outcome: Option<String>,
            /// Who stopped it.
            by: Option<String>,
            /// The cap that was hit: wall_clock or output.
            limit: Option<String>,
            /// When it was hit.
            after_ms: Option<u64>,
        }
    }

    /// Kind 9: a value from outside.
    SideEffectRecorded {
        always {
            /// now, rand, or the caller's own name.
            name: String,
            /// The value.
            value: Raw,
        }
        unless_empty {}
        v2 {}
    }

    /// Kind 10: a budget axis is used up.
    BudgetExceeded {
        always {
            /// input_tokens, output_tokens, usd, wall_clock or turns.
            limit: String,
            /// The limit.
            cap: f64,
            /// What was used.
            actual: f64,
            /// pre_call, mid_stream or post_call.
            r#where: String,
        }
        unless_empty {
            /// The turn it closes.
            turn_id: String,
            /// The call it struck.
            call_id: String,
            /// What the model had said so far.
            partial_text: String,
            /// And in how many tokens.
            partial_tokens: i64,
        }
        v2 {
            /// What the task has cost so far.
            cumulative_cost_micros_usd: Option<u64>,
            /// What it may cost.
            task_budget_micros_usd: Option<u64>,
            /// halted.
            action: Option<String>,
        }
    }

    /// Kind 11: the context was compacted.
    ContextTruncated {
        always {
            /// How.
            strategy: String,
            /// Tokens before.
            tokens_before: i64,
            /// Tokens after.
            tokens_after: i64,
            /// Messages before.
            messages_before: u32,
            /// Messages after.
            messages_after: u32,
        }
        unless_empty {}
        v2 {}
    }

    /// Kind 12: the run succeeded.
    RunCompleted {
        always {
            /// The last answer.
            final_text: String,
            /// Model calls.
            turn_count: u32,
            /// Tool calls.
            tool_call_count: u32,
            /// US dollars.
            total_cost_usd: f64,
            /// Tokens in.
            total_input_tokens: i64,
            /// Tokens out.
            total_output_tokens: i64,
            /// How long the run took.
            duration_ms: i64,
            /// Root over every earlier event.
            merkle_root: Option<Bytes>,
        }
        unless_empty {}
        v2 {
            /// How many events that root covers.
            log_size: Option<u64>,
            /// Micro-dollars; wins over `total_cost_usd`.
            total_cost_micros_usd: Option<u64>,
        }
    }

    /// Kind 13: the run failed.
    RunFailed {
        always {
            /// What went wrong.
            error: String,
            /// Its class.
            error_type: String,
            /// Root over every earlier event.
            merkle_root: Option<Bytes>,
            /// How long the run took.
            duration_ms: i64,
        }
        unless_empty {}
        v2 {
            /// How many events that root covers.
            log_size: Option<u64>,
            /// Whether trying again may help.
            retriable: Option<bool>,
            /// Model calls.
            turns: Option<u64>,
        }
    }

    /// Kind 14: the run was stopped.
    RunCancelled {
        always {
            /// Why.
            reason: String,
            /// Root over every earlier event.
            merkle_root: Option<Bytes>,
            /// How long the run took.
            duration_ms: i64,
        }
        unless_empty {}
        v2 {
            /// How many events that root covers.
            log_size: Option<u64>,
            /// Who stopped it.
            by: Option<String>,
            /// What made them, in a word; the reason is theirs to give.
            cause: Option<String>,
        }
    }

    /// Kind 15: another process goes on.
    RunResumed {
        always {
            /// Last seq of the process before.
            at_seq: u64,
            /// Whether calls in flight are run again.
            reissue_tools: bool,
            /// How many were in flight.
            pending_calls: u32,
        }
        unless_empty {
            /// What the user adds.
            extra_message: String,
        }
        v2 {
            /// Who goes on.
            worker_id: Option<String>,
            /// Until when it may, unless it renews.
            lease_until: Option<String>,
            /// lease_expired, handed_over, reopened or operator.
            reason: Option<String>,
            /// The process that goes on.
            instance_id: Option<String>,
            /// W3C trace context of whoever asked.
            trace_parent: Option<String>,
        }
    }

    /// Kind 16: one attempt at a turn failed. v1 reserves the kind and gives it no payload.
    TurnFailed {
        always {}
        unless_empty {}
        v2 {
            /// The turn.
            turn_id: Option<String>,
            /// Model calls before this turn.
            turn_index: Option<u64>,
            /// Class of the failure.
            code: Option<String>,
            /// What went wrong.
            message: Option<String>,
            /// Whether the turn stays open for another attempt.
            will_retry: Option<bool>,
            /// Which attempt.
            attempt: Option<u64>,
        }
    }

    /// Kind 17: every other event.
    Typed {
        always {
            /// A name like `tool.shell.exited`.
            r#type: String,
            /// A map.
            data: Raw,
        }
        unless_empty {}
        v2 {}
    }
}

optional_field!(BudgetLimits);
