//! Changes that a model wrote as a patch.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BadInput, Prepared, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, editing, input,
};
use crate::patch::{Wanted, WantedError};

/// Applies a patch: all of it or nothing.
#[derive(Debug)]
pub struct ApplyPatch {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    patch: String,
}

impl ApplyPatch {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Applies a patch to files of the workspace: creates, changes, renames and deletes them, all \
            or none. Takes a unified diff as `git diff` writes it, or this form:\n\
            *** Begin Patch\n*** Add File: new.txt\n+content\n*** Update File: src/a.py\n*** Move to: src/b.py\n\
            @@ def f():\n context\n-old\n+new\n*** Delete File: gone.txt\n*** End Patch\n\
            Lines of context and removed lines must be exactly those of the file, enough of them to make the place \
            clear; line numbers are only a hint.";
        let input_schema = json!({
            "type": "object",
            "properties": { "patch": { "type": "string", "description": "The patch." } },
            "required": ["patch"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "apply_patch".into(),
            kind: ToolKind::MultiEdit,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: true,
            mcp: None,
        };
        Self { spec, root }
    }

    async fn plan(&self, call: &ToolCall, context: &ToolContext) -> Result<Prepared, ToolError> {
        let wanted = wanted(&call.input)?;
        editing::prepare(call, context, true, move |workspace| {
            wanted.iter().map(|wanted| wanted.change(workspace).map_err(refused)).collect()
        })
        .await
    }
}

fn wanted(input: &Value) -> Result<Vec<Wanted>, BadInput> {
    let Input { patch } = input::read(input)?;
    Wanted::parse(&patch).map_err(|err| BadInput(err.to_string()))
}

fn refused(err: WantedError) -> ToolError {
    ToolError::tool(match err {
        WantedError::Workspace(err) => err.line(),
        err @ (WantedError::Exists { .. } | WantedError::Fit { .. } | WantedError::Path(_)) => err.to_string(),
    })
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let wanted = wanted(input)?;
        let paths = wanted.iter().flat_map(Wanted::paths).map(|path| Ok(input::path(path, &self.root)?.to_string()));
        let mut paths = paths.collect::<Result<Vec<_>, BadInput>>()?;
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
