//! Finding lines in files.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use r1_protocol::data::{GrepMatch, ToolGrepCompleted, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output::{Listing, fitting, line};
use super::walk::{pattern, walk};
use super::work::{blocking, lost};
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};
use crate::workspace::WorkspacePath;

/// The most matches that are listed.
const MAX_MATCHES: usize = 500;

/// The most that is shown of a line.
const MAX_TEXT: usize = 1 << 10;

/// A file with a longer line is no text that anyone reads.
const MAX_LINE: usize = 16 << 20;

/// Finds lines that match a regular expression.
#[derive(Debug)]
pub struct Grep {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
}

/// What is looked for, and where.
struct Query {
    matcher: RegexMatcher,
    start: WorkspacePath,
    glob: Option<GlobMatcher>,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    matches: Vec<GrepMatch>,
    count: u64,
    files: u64,
}

impl Grep {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Searches the files of the workspace for lines that match a regular expression (Rust \
            syntax, as in ripgrep) and shows them as `path:line:text`. Leaves out what `.gitignore` names and files \
            that are not text. Narrow it with `path` (a file or directory) and `glob` (`*.rs`). Lists at most 500 \
            matches.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "The regular expression." },
                "path": { "type": "string", "description": "File or directory to search. Default: the workspace." },
                "glob": { "type": "string", "description": "Only files whose path matches, such as `*.{ts,tsx}`." },
                "ignore_case": { "type": "boolean", "description": "Take no notice of case. Default: false." },
                "literal": { "type": "boolean", "description": "Take the pattern as it is, not as an expression." },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "grep".into(),
            kind: ToolKind::Grep,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Self { spec, root }
    }

    fn query(&self, input: &Input) -> Result<Query, BadInput> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(input.ignore_case).fixed_strings(input.literal).line_terminator(Some(b'\n'));
        let matcher = builder.build(&input.pattern).map_err(|err| {
            BadInput(format!("`{}` is not a usable regular expression: {err}; or set `literal`", input.pattern))
        })?;
        let start = input::path(input.path.as_deref().unwrap_or("."), &self.root)?;
        Ok(Query { matcher, start, glob: input.glob.as_deref().map(pattern).transpose()? })
    }

    async fn find(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input: Input = input::read(&call.input)?;
        let query = self.query(&input)?;
        let (workspace, cancel) = (Arc::clone(&context.workspace), context.cancel.clone());
        let Found { matches, count, files } = blocking(move || {
            let mut builder = SearcherBuilder::new();
            builder.line_number(true).binary_detection(BinaryDetection::quit(0)).heap_limit(Some(MAX_LINE));
            let mut searcher = builder.build();
            let mut found = Found::default();
            walk(&workspace, &query.start, &cancel, |path| {
                if query.glob.as_ref().is_some_and(|glob| !glob.is_match(path.as_str())) {
                    return;
                }
                // Opened anew below the root: the content, at least, is never that of a file outside.
                let Ok(file) = workspace.open_file(path) else { return };
                found.files += 1;
                let sink = Lines { path, found: &mut found };
                // A file that cannot be read to its end is searched as far as it can.
                let _ = searcher.search_file(&query.matcher, &file, sink);
            })?;
            Ok(found)
        })
        .await?;
        let mut listing = Listing::new();
        let lines = matches.iter().map(|found| format!("{}:{}:{}", found.path, found.line, found.text));
        let shown = u64::try_from(lines.take_while(|line| listing.push(line)).count()).unwrap_or(u64::MAX);
        let last = match count.saturating_sub(shown) {
            _ if count == 0 => Some(format!("no line matches `{}` in {files} files", input.pattern)),
            0 => None,
            left => Some(format!("[{left} more matches; use a narrower pattern, `path` or `glob`]")),
        };
        let listed = u64::try_from(matches.len()).unwrap_or(u64::MAX);
        let completed = ToolGrepCompleted {
            tool_call_id: call.call_id.clone(),
            pattern: input.pattern.clone(),
            files_searched: files,
            matches,
            match_count: count,
            truncated: count > listed,
            ..Default::default()
        };
        context.events.emit(completed).await.map_err(lost)?;
        let summary = line(&format!("{count} matches in {files} files for {}", input.pattern));
        Ok(ToolOutput { output: listing.finish(last.as_deref()).into(), summary, artifact_id: None })
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let query = self.query(&input::read(input)?)?;
        Ok(Subject::Read { path: query.start.to_string() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.find(call, context))
    }
}

/// Takes the matching lines of one file.
struct Lines<'a> {
    path: &'a WorkspacePath,
    found: &'a mut Found,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.found.count += 1;
        if self.found.matches.len() < MAX_MATCHES {
            let text = String::from_utf8_lossy(matched.bytes());
            self.found.matches.push(GrepMatch {
                path: self.path.to_string(),
                line: matched.line_number().unwrap_or(0),
                text: fitting(text.trim_end_matches(['\n', '\r']), MAX_TEXT).to_owned(),
            });
        }
        Ok(true)
    }
}
