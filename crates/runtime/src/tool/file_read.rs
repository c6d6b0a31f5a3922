//! Reading a file.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ArtifactKind, Object, ToolFileReadCompleted, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output::{Listing, fitting, line};
use super::work::{blocking, lost};
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};
use crate::artifact::NewArtifact;
use crate::patch::{MAX_FILE, is_binary};
use crate::workspace::{Snapshot, WorkspaceError, WorkspacePath};

/// Lines that are shown if nobody says how many.
const DEFAULT_LINES: usize = 2000;

/// The most that is shown of one line, in bytes of JSON.
const MAX_LINE: usize = 2000;

/// Shows a file with line numbers.
#[derive(Debug)]
pub struct FileRead {
    spec: ToolSpec,
    root: Arc<Path>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// What of a file is shown.
struct Page {
    text: String,
    /// First and last line shown, from 1; `None` if there is none.
    shown: Option<(usize, usize)>,
    lines: usize,
    /// The asked-for lines, if not all of them could be shown.
    whole: Option<Vec<u8>>,
}

impl FileRead {
    /// For the workspace at `root`.
    #[must_use]
    pub fn new(root: Arc<Path>) -> Self {
        let description = "Reads a text file of the workspace and shows it with line numbers. Shows the first 2000 \
            lines unless `offset` (first line, from 1) and `limit` (number of lines) say otherwise; very long lines \
            are cut. Read a file before you edit it. The number and the tab in front of each line are not part of \
            the file.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Path of the file, relative to the workspace." },
                "offset": { "type": "integer", "minimum": 1, "description": "First line to show, from 1." },
                "limit": { "type": "integer", "minimum": 1, "description": "How many lines to show." },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "file_read".into(),
            kind: ToolKind::FileRead,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Self { spec, root }
    }

    async fn read(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input: Input = input::read(&call.input)?;
        let path = input::path(&input.path, &self.root)?;
        let (workspace, place) = (Arc::clone(&context.workspace), path.clone());
        let (file, page) = blocking(move || {
            let read = workspace.snapshot(&place, MAX_FILE);
            let missing = || WorkspaceError::Missing { path: place.clone() };
            let file = read.and_then(|file| file.ok_or_else(missing)).map_err(|err| ToolError::tool(err.line()))?;
            if is_binary(&file.bytes) {
                let size = file.bytes.len();
                return Err(ToolError::tool(format!("`{place}` is not a text file ({size} bytes)")));
            }
            let page = page(&file, input.offset.unwrap_or(1).max(1), input.limit.unwrap_or(DEFAULT_LINES));
            Ok((file, page))
        })
        .await?;
        let snippet = match &page.whole {
            Some(whole) => Some(keep(call, context, &path, &file, whole.clone()).await?),
            None => None,
        };
        let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let completed = ToolFileReadCompleted {
            tool_call_id: call.call_id.clone(),
            path: path.to_string(),
            size_bytes: size(file.bytes.len()),
            lines: size(page.lines),
            snippet_artifact_id: snippet.clone(),
            start_line: page.shown.map(|(first, _)| size(first)),
            end_line: page.shown.map(|(_, last)| size(last)),
            ..Default::default()
        };
        context.events.emit(completed).await.map_err(lost)?;
        let summary = match page.shown {
            Some((first, last)) => format!("{path}: lines {first}–{last} of {}", page.lines),
            None => format!("{path}: no lines of {}", page.lines),
        };
        Ok(ToolOutput { output: page.text.into(), summary: line(&summary), artifact_id: snippet })
    }
}

impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let input: Input = input::read(input)?;
        Ok(Subject::Read { path: input::path(&input.path, &self.root)?.to_string() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.read(call, context))
    }
}

/// The lines that were asked for, as many as fit.
fn page(file: &Snapshot, first: usize, limit: usize) -> Page {
    let lines: Vec<&[u8]> = file.bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let asked = &lines[(first - 1).min(lines.len())..(first - 1).saturating_add(limit).min(lines.len())];
    let mut listing = Listing::new();
    let (mut shown, mut cut) = (0, false);
    for (index, text) in asked.iter().enumerate() {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches(['\n', '\r']);
        let start = fitting(text, MAX_LINE);
        cut |= start.len() < text.len();
        let mark = if start.len() < text.len() { "… [line cut]" } else { "" };
        if !listing.push(&format!("{:>6}\t{start}{mark}", first + index)) {
            cut = true;
            break;
        }
        shown += 1;
    }
    let left = lines.len().saturating_sub(first - 1 + shown);
    let last = if lines.is_empty() {
        Some("[the file is empty]".to_owned())
    } else if asked.is_empty() {
        Some(format!("[the file has only {} lines]", lines.len()))
    } else if left > 0 {
        Some(format!("[{left} more lines; go on with offset {}]", first + shown))
    } else {
        None
    };
    Page {
        text: listing.finish(last.as_deref()),
        shown: (shown > 0).then(|| (first, first + shown - 1)),
        lines: lines.len(),
        whole: cut.then(|| asked.concat()),
    }
}

/// Keeps what could not be shown whole.
async fn keep(
    call: &ToolCall,
    context: &ToolContext,
    path: &WorkspacePath,
    file: &Snapshot,
    whole: Vec<u8>,
) -> Result<String, ToolError> {
    let mut metadata = Object::new();
    metadata.insert("path".into(), path.as_str().into());
    metadata.insert("revision".into(), file.revision().to_string().into());
    let new = NewArtifact {
        kind: ArtifactKind::FileSnapshot,
        summary: format!("what was read of {path}"),
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        mime: Some("text/plain".into()),
        name: Some(path.to_string()),
        path: Some(path.to_string()),
        metadata,
    };
    Ok(context.artifacts.put(new, whole).await.map_err(lost)?.id)
}
