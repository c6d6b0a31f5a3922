//! One tool call: its beginning, the tool's own events, its end.

use std::sync::Arc;
use std::time::Instant;

use r1_event::{Payload, payload};
use r1_protocol::data;
use r1_protocol::json;
use serde_json::{Value, json};

use crate::agent::{Call, RunState, Toolset};
use crate::tool::{BadInput, Failure, MAX_OUTPUT, Prepared, Tool, ToolCall, ToolContext, ToolError, ToolOutput};

/// A call that is about to run, with all that it needs.
pub(super) struct Job {
    pub(super) tool: Option<Arc<dyn Tool>>,
    pub(super) call: ToolCall,
    pub(super) name: String,
    pub(super) prepare_error: Option<String>,
    pub(super) input_lost: bool,
}

impl Job {
    pub(super) fn new(state: &RunState, call: &Call, tools: &Toolset, real_input: Option<&Value>) -> Self {
        let tool = tools.get(&call.tool).cloned();
        let (prepared, prepare_error) = match &call.prepared {
            Some(Ok(prepared)) => (prepared.clone(), None),
            Some(Err(error)) => (Prepared::default(), Some(error.clone())),
            None => (Prepared::default(), None),
        };
        Self {
            tool,
            name: call.tool.clone(),
            prepare_error,
            // The log has no secrets, so after a restart neither has the call.
            input_lost: call.redacted && real_input.is_none(),
            call: ToolCall {
                call_id: call.call_id.clone(),
                attempt: call.attempts.max(1),
                turn_index: state.spent.turns.saturating_sub(1),
                input: real_input.cloned().unwrap_or_else(|| call.input.clone()),
                prepared,
                event_id: call.event_id.clone(),
            },
        }
    }

    /// Runs it and gives the event that ends it.
    pub(super) async fn run(self, context: ToolContext, names: Arc<[String]>) -> Payload {
        let started = Instant::now();
        let kind = self.tool.as_ref().map_or(data::ToolKind::Builtin, |tool| tool.spec().kind.clone());
        let begin = data::ToolStarted {
            tool_call_id: self.call.call_id.clone(),
            tool_name: self.name.clone(),
            kind: kind.clone(),
            turn_index: Some(self.call.turn_index),
            attempt: Some(self.call.attempt),
            ..Default::default()
        };
        let result = match context.events.emit(begin).await {
            Ok(_) => self.execute(&context, &names).await,
            Err(_) => Err(ToolError::cancelled()),
        };
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match result {
            Ok(output) => self.completed(output, &kind, took),
            Err(error) => self.failed(error, &kind, took),
        }
    }

    async fn execute(&self, context: &ToolContext, names: &[String]) -> Result<ToolOutput, ToolError> {
        let Some(tool) = &self.tool else {
            let reason = format!("there is no tool `{}`; there are {}", self.name, names.join(", "));
            let unavailable = data::ErrorToolUnavailable {
                tool_name: self.name.clone(),
                reason: reason.clone(),
                ..Default::default()
            };
            let _ = context.events.emit(unavailable).await;
            return Err(ToolError::tool(reason));
        };
        if self.input_lost {
            let why = "the input held a secret that is not in the log, and the process that knew it is gone; \
                       ask for the call again";
            return Err(ToolError::tool(why));
        }
        if let Err(BadInput(why)) = tool.subject(&self.call.input) {
            return Err(ToolError::tool(why));
        }
        if let Some(error) = &self.prepare_error {
            return Err(ToolError::tool(error.clone()));
        }
        tool.run(&self.call, context).await
    }

    fn completed(&self, output: ToolOutput, kind: &data::ToolKind, took: u64) -> Payload {
        let (mcp_server, mcp_tool) = self.mcp();
        Payload::ToolCallCompleted(payload::ToolCallCompleted {
            call_id: self.call.call_id.clone(),
            result: json::to_raw(&within_limit(output.output)),
            duration_ms: i64::try_from(took).unwrap_or(i64::MAX),
            attempt: u32::try_from(self.call.attempt).unwrap_or(u32::MAX),
            tool: Some(self.name.clone()),
            kind: Some(kind.as_str().into()),
            summary: Some(output.summary),
            result_artifact_id: output.artifact_id,
            mcp_server,
            mcp_tool,
            ..Default::default()
        })
    }

    fn failed(&self, error: ToolError, kind: &data::ToolKind, took: u64) -> Payload {
        let (error_type, limit, after_ms) = match error.failure {
            Failure::Tool => ("tool", None, None),
            Failure::Spawn => ("spawn", None, None),
            Failure::Denied => ("denied", None, None),
            Failure::TimedOut { after_ms } => ("timeout", Some("wall_clock"), Some(after_ms)),
            Failure::OutputLimit { after_ms } => ("timeout", Some("output"), Some(after_ms)),
            Failure::Cancelled => ("cancelled", None, None),
        };
        let (mcp_server, mcp_tool) = self.mcp();
        // The server answered, and its answer is that the tool failed.
        let told = mcp_server.is_some() && error.failure == Failure::Tool && error.output.is_some();
        Payload::ToolCallFailed(payload::ToolCallFailed {
            result_state: told.then(|| "tool_error".into()),
            call_id: self.call.call_id.clone(),
            error: error.message,
            error_type: error_type.into(),
            duration_ms: i64::try_from(took).unwrap_or(i64::MAX),
            attempt: u32::try_from(self.call.attempt).unwrap_or(u32::MAX),
            result: error.output.map(|output| json::to_raw(&within_limit(output))),
            tool: Some(self.name.clone()),
            kind: Some(kind.as_str().into()),
            summary: Some(error.summary),
            result_artifact_id: error.artifact_id,
            outcome: Some("failed".into()),
            by: (error.failure == Failure::Cancelled).then(|| "operator".into()),
            limit: limit.map(Into::into),
            after_ms,
            mcp_server,
            mcp_tool,
            ..Default::default()
        })
    }

    fn mcp(&self) -> (Option<String>, Option<String>) {
        self.tool.as_ref().and_then(|tool| tool.spec().mcp.clone()).unzip()
    }

    /// Works out what the call would do; gives the event that records it.
    pub(super) async fn prepare(self, context: ToolContext) -> Payload {
        let call_id = &self.call.call_id;
        let result = match &self.tool {
            Some(tool) => tool.prepare(&self.call, &context).await,
            None => Ok(Prepared::default()),
        };
        let value = match result {
            Ok(prepared) => prepared.to_json(call_id),
            Err(error) => json!({ "tool_call_id": call_id, "error": error.message }),
        };
        Payload::SideEffectRecorded(payload::SideEffectRecorded {
            name: crate::agent::TOOL_PREPARED.into(),
            value: json::to_raw(&value),
            ..Default::default()
        })
    }
}

/// A tool that says more than the model may hear is cut here, whatever it thinks of limits.
fn within_limit(output: Value) -> Value {
    let text = match &output {
        Value::String(text) if text.len() + 2 <= MAX_OUTPUT => return output,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MAX_OUTPUT - 64 {
        return output;
    }
    let mut end = MAX_OUTPUT - 64;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[cut: {} bytes in all]", &text[..end], text.len()).into()
}

/// A call whose task panicked.
pub(super) fn panicked(state: &RunState, call: &Call) -> Payload {
    Payload::ToolCallFailed(payload::ToolCallFailed {
        call_id: call.call_id.clone(),
        tool: Some(call.tool.clone()),
        kind: Some(state.kind_of(&call.tool).into()),
        error: "the tool failed with a defect of its own".into(),
        error_type: "panic".into(),
        attempt: u32::try_from(call.attempts).unwrap_or(u32::MAX),
        outcome: Some("failed".into()),
        summary: Some("defect".into()),
        ..Default::default()
    })
}
