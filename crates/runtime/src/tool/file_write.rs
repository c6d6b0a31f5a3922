//! Writing a whole file.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BadInput, Prepared, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, editing, input,
};
use crate::patch::Change;

/// Writes a whole file.
#[derive(Debug)]
pub struct FileWrite {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    path: String,
    content: String,
}

impl FileWrite {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Writes a file of the workspace: makes a new one, with the directories that it needs, or \
            replaces the whole content of an existing one. To change a part of a file use `edit`: it is shorter and \
            shows what you mean. Read an existing file before you replace it.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Path of the file, relative to the workspace." },
                "content": { "type": "string", "description": "The whole new content." },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "file_write".into(),
            kind: ToolKind::FileWrite,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: true,
            mcp: None,
        };
        Self { spec, root }
    }

    async fn plan(&self, call: &ToolCall, context: &ToolContext) -> Result<Prepared, ToolError> {
        let Input { path, content } = input::read(&call.input)?;
        let path = input::path(&path, &self.root)?;
        editing::prepare(call, context, false, move |workspace| {
            let change = Change::to(workspace, path, content.into_bytes());
            Ok(vec![change.map_err(|err| ToolError::tool(err.line()))?])
        })
        .await
    }
}

impl Tool for FileWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let input: Input = input::read(input)?;
        Ok(Subject::Edit { paths: vec![input::path(&input.path, &self.root)?.to_string()] })
    }

    fn prepare<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        Box::pin(self.plan(call, context))
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(editing::run(call, context))
    }
}
