//! Changing a part of a file.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::replace::{Replacement, replace};
use super::{
    BadInput, Prepared, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, editing, input,
};
use crate::patch::{Change, MAX_FILE};
use crate::workspace::{Workspace, WorkspaceError, WorkspacePath};

/// Replaces a text in a file by another.
#[derive(Debug)]
pub struct Edit {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Replaces a text in a file of the workspace by another. `old_string` must be exactly what \
            is in the file, blanks and line breaks included, without the line numbers that `file_read` shows, and \
            must occur exactly once: give enough of the text around it. With `replace_all` every occurrence is \
            replaced, to rename something for example. Read the file first. For several changes at once use \
            `multi_edit`.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Path of the file, relative to the workspace." },
                "old_string": { "type": "string", "description": "The text that is there, exactly." },
                "new_string": { "type": "string", "description": "The text instead; empty to remove." },
                "replace_all": { "type": "boolean", "description": "Replace every occurrence. Default: false." },
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "edit".into(),
            kind: ToolKind::Edit,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: true,
            mcp: None,
        };
        Self { spec, root }
    }

    async fn plan(&self, call: &ToolCall, context: &ToolContext) -> Result<Prepared, ToolError> {
        let Input { path, old_string, new_string, replace_all } = input::read(&call.input)?;
        let path = input::path(&path, &self.root)?;
        let replacement = Replacement { old_string, new_string, replace_all };
        editing::prepare(call, context, false, move |workspace| Ok(vec![edited(workspace, path, &[replacement])?]))
            .await
    }
}

/// The change that replacements, one after the other, make in a file.
pub(super) fn edited(
    workspace: &Workspace,
    path: WorkspacePath,
    replacements: &[Replacement],
) -> Result<Change, ToolError> {
    let file = workspace
        .snapshot(&path, MAX_FILE)
        .and_then(|file| file.ok_or_else(|| WorkspaceError::Missing { path: path.clone() }));
    let before = file.map_err(|err| ToolError::tool(err.line()))?;
    let mut bytes = before.bytes.to_vec();
    for (index, replacement) in replacements.iter().enumerate() {
        bytes = replace(&bytes, replacement).map_err(|err| {
            let which = if replacements.len() > 1 { format!(", edit {}", index + 1) } else { String::new() };
            ToolError::tool(format!("`{path}`{which}: {err}"))
        })?;
    }
    Ok(Change::of(path, before, bytes))
}

impl Tool for Edit {
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
