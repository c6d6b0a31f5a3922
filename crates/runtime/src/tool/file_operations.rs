//! Changes to files that a task names itself, without a model.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::api::{FileOperation, Operation};
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BadInput, Prepared, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, editing, input,
};
use crate::patch::{Change, MAX_FILE};
use crate::workspace::{Workspace, WorkspacePath};

/// Writes, extends and deletes files, all or none.
#[derive(Debug)]
pub struct FileOperations {
    spec: ToolSpec,
    root: Arc<Path>,
}

/// What the tool is called.
pub(crate) const NAME: &str = "file_operations";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    operations: Vec<FileOperation>,
}

impl FileOperations {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Writes, extends and deletes files of the workspace, all or none.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "operations": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "op": { "type": "string", "enum": ["write", "append", "delete"] },
                            "path": { "type": "string", "description": "Relative to the workspace." },
                            "content": { "type": "string", "description": "What to write or append." },
                        },
                        "required": ["op", "path"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["operations"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: NAME.into(),
            kind: ToolKind::MultiEdit,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: true,
            mcp: None,
        };
        Self { spec, root }
    }

    fn read(&self, input: &Value) -> Result<Vec<(WorkspacePath, FileOperation)>, BadInput> {
        let Input { operations } = input::read(input)?;
        operations.into_iter().map(|operation| Ok((input::path(&operation.path, &self.root)?, operation))).collect()
    }

    async fn plan(&self, call: &ToolCall, context: &ToolContext) -> Result<Prepared, ToolError> {
        let operations = self.read(&call.input)?;
        editing::prepare(call, context, true, move |workspace| {
            operations.into_iter().map(|(path, operation)| change(workspace, path, operation)).collect()
        })
        .await
    }
}

fn change(workspace: &Workspace, path: WorkspacePath, operation: FileOperation) -> Result<Change, ToolError> {
    let content = operation.content.unwrap_or_default().into_bytes();
    let refused = |err: crate::workspace::WorkspaceError| ToolError::tool(err.line());
    match operation.op {
        Operation::Write => Change::to(workspace, path, content).map_err(refused),
        Operation::Append => {
            let before = workspace.snapshot(&path, MAX_FILE).map_err(refused)?;
            let mut bytes = before.map(|before| before.bytes.to_vec()).unwrap_or_default();
            bytes.extend(content);
            Change::to(workspace, path, bytes).map_err(refused)
        }
        Operation::Delete => match workspace.snapshot(&path, MAX_FILE).map_err(refused)? {
            Some(before) => Ok(Change { after: None, ..Change::of(path, before, Vec::new()) }),
            None => Err(ToolError::tool(format!("there is no file {path} to delete"))),
        },
    }
}

impl Tool for FileOperations {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let mut paths: Vec<_> = self.read(input)?.into_iter().map(|(path, _)| path.to_string()).collect();
        paths.sort();
        paths.dedup();
        Ok(Subject::Edit { paths })
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
