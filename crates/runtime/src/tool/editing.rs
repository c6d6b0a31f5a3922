//! What all tools that change files have in common: a change is worked out and stored as a patch before
//! anyone is asked, and exactly that patch is applied afterwards.

use std::sync::Arc;

use r1_protocol::data::By;

use super::output::line;
use super::work::{blocking, lost};
use super::{Prepared, ToolCall, ToolContext, ToolError, ToolOutput};
use crate::artifact::life::Patches;
use crate::artifact::patches::{self, Origin};
use crate::patch::{Batch, Change, Options};
use crate::workspace::{Snapshot, Workspace};
use crate::world;

/// Works out changes with `plan`, which may block, and stores those that change something. With `batch`
/// they are one even if there is only one.
pub(super) async fn prepare(
    call: &ToolCall,
    context: &ToolContext,
    batch: bool,
    plan: impl FnOnce(&Workspace) -> Result<Vec<Change>, ToolError> + Send + 'static,
) -> Result<Prepared, ToolError> {
    let workspace = Arc::clone(&context.workspace);
    let changes = blocking(move || {
        let mut changes = plan(&workspace)?;
        changes.retain(|change| !change.is_empty());
        // Two changes of one file, and files that cannot be written, are refused before anyone is asked.
        for path in changes.iter().flat_map(|change| [&change.path, change.source()]) {
            workspace.check_writable(path).map_err(|err| ToolError::tool(err.line()))?;
        }
        Batch::new(changes).map_err(|err| ToolError::tool(err.line()))
    })
    .await?;
    let origin = Origin {
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        batch,
        reverts: Vec::new(),
    };
    let stored = context.artifacts.propose(changes.changes(), &origin).await.map_err(lost)?;
    Ok(Prepared {
        patches: stored.iter().map(|patch| patch.id.clone()).collect(),
        contains_secrets: stored.iter().any(|patch| patch.contains_secrets),
        state: patches::to_state(&stored),
        applied: false,
    })
}

/// Applies what was prepared, all or nothing, and says so in the log.
pub(super) async fn run(call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let members = patches::prepared(&call.prepared.state)
        .map_err(|err| ToolError::tool(format!("what was prepared for this call cannot be read: {err}")))?;
    if members.is_empty() {
        let text = "the files are already as asked; nothing was changed";
        return Ok(ToolOutput { output: text.into(), summary: "no change".into(), artifact_id: None });
    }
    let patches = Patches { tool_call_id: &call.call_id, members: &members };
    if call.prepared.applied {
        return Ok(done(&patches));
    }
    context.events.emit(patches.proposed(true)).await.map_err(lost)?;
    let mut changes = Vec::new();
    for patch in &members {
        changes.push(patches::load(context.artifacts.store(), &patch.facts).await.map_err(lost)?);
    }
    if context.cancel.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    let workspace = Arc::clone(&context.workspace);
    // A second attempt follows a process that died: it may have begun.
    let options = Options { allow_offset: false, recover: call.attempt > 1 };
    let applied = blocking(move || {
        let applied = Batch::new(changes).and_then(|batch| batch.apply(&workspace, options));
        applied.map_err(|err| ToolError::tool(err.line()))
    })
    .await?;
    let revisions: Vec<_> =
        applied.changes.iter().map(|change| change.after.as_ref().map(Snapshot::revision)).collect();
    context.events.emit_all(patches.applied(&revisions, &By::Agent, world::now())).await.map_err(lost)?;
    Ok(done(&patches))
}

/// What the model hears of patches that were applied.
fn done(patches: &Patches<'_>) -> ToolOutput {
    let done: Vec<_> = patches.members.iter().map(|patch| patches::summary(&patch.facts)).collect();
    ToolOutput { output: done.join("\n").into(), summary: line(&patches.summary()), artifact_id: None }
}
