//! Finding files by their names.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ToolGlobCompleted, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output::{Listing, line};
use super::walk::{pattern, walk};
use super::work::{blocking, lost};
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};

/// The most that is listed.
const MAX_MATCHES: usize = 1000;

/// Finds files whose path matches a pattern.
#[derive(Debug)]
pub struct Glob {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    path: Option<String>,
}

impl Glob {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Finds files of the workspace by name: `**/*.rs`, `src/**/test_*.py`, `*.{ts,tsx}`. A \
            pattern without a slash matches names in every directory. Lists at most 1000 paths, sorted; leaves out \
            what `.gitignore` names. To search in files use `grep`.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "The pattern, for paths relative to `path`." },
                "path": { "type": "string", "description": "Directory to search. Default: the workspace." },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "glob".into(),
            kind: ToolKind::Glob,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Self { spec, root }
    }

    async fn find(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input: Input = input::read(&call.input)?;
        let start = input::path(input.path.as_deref().unwrap_or("."), &self.root)?;
        let matcher = pattern(&input.pattern)?;
        let (workspace, cancel) = (Arc::clone(&context.workspace), context.cancel.clone());
        let (found, count) = blocking(move || {
            // The first by path, however many there are.
            let (mut found, mut count) = (BTreeSet::new(), 0_u64);
            walk(&workspace, &start, &cancel, |path| {
                let below =
                    if start.is_root() { Some(path.as_str()) } else { path.as_str().strip_prefix(start.as_str()) };
                if below.is_some_and(|below| matcher.is_match(below.trim_start_matches('/'))) {
                    count += 1;
                    found.insert(path.to_string());
                    if found.len() > MAX_MATCHES {
                        found.pop_last();
                    }
                }
            })?;
            Ok((found, count))
        })
        .await?;
        let matches: Vec<String> = found.into_iter().collect();
        let listed = u64::try_from(matches.len()).unwrap_or(u64::MAX);
        let mut listing = Listing::new();
        let shown = matches.iter().take_while(|path| listing.push(path)).count();
        let left = count - u64::try_from(shown).unwrap_or(count);
        let last = match (count, left) {
            (0, _) => Some(format!("no file matches `{}`", input.pattern)),
            (_, 0) => None,
            (_, left) => Some(format!("[{left} more; use a narrower pattern]")),
        };
        let completed = ToolGlobCompleted {
            tool_call_id: call.call_id.clone(),
            pattern: input.pattern.clone(),
            matches,
            match_count: count,
            truncated: count > listed,
            ..Default::default()
        };
        context.events.emit(completed).await.map_err(lost)?;
        let summary = line(&format!("{count} files match {}", input.pattern));
        Ok(ToolOutput { output: listing.finish(last.as_deref()).into(), summary, artifact_id: None })
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let input: Input = input::read(input)?;
        pattern(&input.pattern)?;
        Ok(Subject::Read { path: input::path(input.path.as_deref().unwrap_or("."), &self.root)?.to_string() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.find(call, context))
    }
}
