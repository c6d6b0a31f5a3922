//! A server's tool as one of R1's.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use r1_protocol::data::{ArtifactKind, ErrorToolUnavailable, ToolKind};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::connection::{CallError, Connection, Offered};
use super::content;
use crate::artifact::NewArtifact;
use crate::tool::{
    BadInput, Failure, MAX_OUTPUT, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec,
};

/// A tool of an MCP server.
pub struct McpTool {
    spec: ToolSpec,
    server: String,
    tool: String,
    /// None for one that only a log knows.
    connection: Option<Arc<Connection>>,
}

impl McpTool {
    /// The tool that a log describes, to decide about its calls again; it cannot run. `None` if the spec
    /// is not that of an MCP tool.
    #[must_use]
    pub fn recorded(spec: &ToolSpec) -> Option<Self> {
        let (server, tool) = spec.mcp.clone()?;
        Some(Self { spec: spec.clone(), server, tool, connection: None })
    }

    pub(super) fn connected(name: String, offered: Offered, connection: Arc<Connection>) -> Self {
        let (server, tool) = (connection.server.clone(), offered.name.into_owned());
        let described = offered.description.map(std::borrow::Cow::into_owned).or(offered.title);
        let spec = ToolSpec {
            name,
            kind: ToolKind::Mcp,
            description: described.unwrap_or_else(|| format!("`{tool}` of the MCP server `{server}`")),
            input_schema: Value::Object((*offered.input_schema).clone()),
            // What a server says of itself is a hint, and running twice is not undone.
            idempotent: false,
            prepares: false,
            mcp: Some((server.clone(), tool.clone())),
        };
        Self { spec, server, tool, connection: Some(connection) }
    }

    async fn call(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(connection) = &self.connection else {
            return Err(self.unavailable(context, "the server is not connected").await);
        };
        let arguments = call.input.as_object().cloned().unwrap_or_default();
        let started = Instant::now();
        let answer = tokio::select! {
            () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
            answer = timeout(connection.call_timeout, connection.call(&self.tool, arguments)) => answer,
        };
        match answer {
            Ok(Ok(result)) => self.result(&result, call, context).await,
            Ok(Err(CallError::Gone)) => Err(self.unavailable(context, "the server has ended or hung up").await),
            Ok(Err(CallError::Refused(message))) => {
                Err(ToolError::tool(format!("`{}` of `{}` refused the call: {message}", self.tool, self.server)))
            }
            Ok(Err(CallError::WantsInput)) => Err(ToolError::tool(format!(
                "`{}` of `{}` wants to ask a person, which is not possible here",
                self.tool, self.server
            ))),
            Ok(Err(CallError::Unfinished)) => Err(ToolError::tool(format!(
                "`{}` of `{}` answers later, which is not possible here",
                self.tool, self.server
            ))),
            Err(_) => {
                let after = started.elapsed();
                let message =
                    format!("`{}` of `{}` did not answer within {} s", self.tool, self.server, after.as_secs());
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                Err(ToolError { failure: Failure::TimedOut { after_ms }, ..ToolError::tool(message) })
            }
        }
    }

    async fn result(
        &self,
        result: &CallToolResult,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let is_error = result.is_error.unwrap_or(false);
        let (output, artifact_id) = self.fitted(content::for_model(result), is_error, call, context).await?;
        if is_error {
            let message = match &output {
                Value::String(text) if !text.trim().is_empty() => first_line(text),
                _ => "the tool reports an error".to_owned(),
            };
            let summary = format!("{}: {message}", self.tool);
            return Err(ToolError { output: Some(output), artifact_id, summary, ..ToolError::tool(message) });
        }
        Ok(ToolOutput { output, artifact_id, summary: format!("{} of {} answered", self.tool, self.server) })
    }

    /// The output, cut to what a model receives; a cut one is kept whole as an artifact.
    async fn fitted(
        &self,
        output: Value,
        is_error: bool,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<(Value, Option<String>), ToolError> {
        let encoded = output.to_string();
        if encoded.len() <= MAX_OUTPUT {
            return Ok((output, None));
        }
        let (whole, mime) = match output {
            Value::String(text) => (text, "text/plain"),
            _ => (encoded, "application/json"),
        };
        let mut metadata = Map::new();
        metadata.insert("mcp_server".into(), self.server.clone().into());
        metadata.insert("tool_name".into(), self.tool.clone().into());
        metadata.insert("is_error".into(), is_error.into());
        let new = NewArtifact {
            kind: ArtifactKind::ToolResultBlob,
            summary: format!("result of {} of {}", self.tool, self.server),
            created_by_event_id: call.event_id.clone(),
            tool_call_id: Some(call.call_id.clone()),
            mime: Some(mime.into()),
            metadata,
            ..NewArtifact::default()
        };
        let cut = cut(&whole);
        let stored = context.artifacts.put(new, Bytes::from(whole)).await;
        let stored = stored.map_err(|err| ToolError::tool(format!("the result cannot be kept: {err}")))?;
        Ok((Value::String(cut), Some(stored.id)))
    }

    /// Tells the log and the model that the tool is not there.
    async fn unavailable(&self, context: &ToolContext, reason: &str) -> ToolError {
        let event = ErrorToolUnavailable {
            tool_name: self.spec.name.clone(),
            reason: format!("{}: {reason}", self.server),
            ..Default::default()
        };
        // A writer that is gone ends the call anyway.
        let _ = context.events.emit(event).await;
        let message = format!("the MCP server `{}` cannot be used: {reason}", self.server);
        ToolError { failure: Failure::Spawn, ..ToolError::tool(message) }
    }
}

/// As much of a text as surely fits, however much of it must be escaped.
fn cut(text: &str) -> String {
    const ROOM: usize = MAX_OUTPUT - 256;
    let mut kept = 0;
    let mut encoded = 0;
    for char in text.chars() {
        encoded += match char {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            char if char.is_control() => 6,
            char => char.len_utf8(),
        };
        if encoded > ROOM {
            break;
        }
        kept += char.len_utf8();
    }
    format!("{}\n[cut: {} of {} bytes; the artifact has all]", &text[..kept], kept, text.len())
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(200).collect()
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        if !input.is_object() {
            return Err(BadInput(format!("`{}` takes a JSON object", self.spec.name)));
        }
        Ok(Subject::Mcp { server: self.server.clone(), tool: self.tool.clone() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(call, context))
    }
}
