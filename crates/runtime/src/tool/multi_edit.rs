//! Several changes that are made together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::edit::edited;
use super::replace::Replacement;
use super::{
    BadInput, Prepared, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, editing, input,
};
use crate::workspace::WorkspacePath;

/// Replaces several texts, in one file or several: all or none.
#[derive(Debug)]
pub struct MultiEdit {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    /// For edits that name none.
    path: Option<String>,
    edits: Vec<OneEdit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneEdit {
    path: Option<String>,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl MultiEdit {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Makes several replacements at once, in one file or in several. Either all of them are \
            made or none. Each works as in `edit`: `old_string` must match exactly and once, unless `replace_all`. \
            Edits of the same file are made in the order given, each on the result of the one before.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file of every edit that names none." },
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": { "type": "string", "description": "Path of the file, relative to the workspace." },
                            "old_string": { "type": "string", "description": "The text that is there, exactly." },
                            "new_string": { "type": "string", "description": "The text instead; empty to remove." },
                            "replace_all": { "type": "boolean", "description": "Replace every occurrence." },
                        },
                        "required": ["old_string", "new_string"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["edits"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "multi_edit".into(),
            kind: ToolKind::MultiEdit,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: true,
            mcp: None,
        };
        Self { spec, root }
    }

    /// The edits of each file, in their order.
    fn by_path(&self, input: &Value) -> Result<BTreeMap<WorkspacePath, Vec<Replacement>>, BadInput> {
        let Input { path: common, edits } = input::read(input)?;
        if edits.is_empty() {
            return Err(BadInput("`edits` is empty; give at least one".into()));
        }
        let mut by_path: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, OneEdit { path, old_string, new_string, replace_all }) in edits.into_iter().enumerate() {
            let path = path.as_ref().or(common.as_ref());
            let path = path.ok_or_else(|| BadInput(format!("edit {} names no `path`", index + 1)))?;
            let replacement = Replacement { old_string, new_string, replace_all };
            by_path.entry(input::path(path, &self.root)?).or_default().push(replacement);
        }
        Ok(by_path)
    }

    async fn plan(&self, call: &ToolCall, context: &ToolContext) -> Result<Prepared, ToolError> {
        let by_path = self.by_path(&call.input)?;
        editing::prepare(call, context, true, move |workspace| {
            by_path.into_iter().map(|(path, replacements)| edited(workspace, path, &replacements)).collect()
        })
        .await
    }
}

impl Tool for MultiEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        Ok(Subject::Edit { paths: self.by_path(input)?.into_keys().map(String::from).collect() })
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
