//! Going through the files of a workspace as a developer sees them: without what `.gitignore` names, without
//! git's own, and without following links.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use super::{BadInput, ToolError};
use crate::workspace::{Entry, Workspace, WorkspacePath};

/// Calls `visit` with each file below `start`, in the order of their paths within each directory.
pub(super) fn walk(
    workspace: &Workspace,
    start: &WorkspacePath,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&WorkspacePath),
) -> Result<(), ToolError> {
    match workspace.entry(start).map_err(|err| ToolError::tool(err.line()))? {
        Some(Entry::Directory) => {}
        Some(Entry::File { .. }) => {
            visit(start);
            return Ok(());
        }
        Some(Entry::Link) => {
            return Err(ToolError::tool(format!("`{start}` is a symbolic link, which is not followed")));
        }
        Some(Entry::Special) => return Err(ToolError::tool(format!("`{start}` is not a directory"))),
        None => return Err(ToolError::tool(format!("`{start}` does not exist"))),
    }
    // From the root on, since every directory on the way may say what is ignored below it.
    let mut met = start.is_root();
    go(workspace, &WorkspacePath::default(), start, cancel, &mut met, &mut visit)?;
    if met { Ok(()) } else { go(workspace, start, start, cancel, &mut met, &mut visit) }
}

/// Walks from `from` to what is below `start`. A `start` that is ignored itself is not `met`; whoever names it
/// means it.
fn go(
    workspace: &Workspace,
    from: &WorkspacePath,
    start: &WorkspacePath,
    cancel: &CancellationToken,
    met: &mut bool,
    visit: &mut impl FnMut(&WorkspacePath),
) -> Result<(), ToolError> {
    let root = workspace.root();
    let goal = root.join(start.as_str());
    let mut builder = WalkBuilder::new(root.join(from.as_str()));
    // What is outside of the workspace, and how this machine is set up, has no say in what is found.
    builder.parents(false).git_global(false).require_git(false).hidden(false).follow_links(false);
    let way = goal.clone();
    builder.filter_entry(move |entry| {
        entry.file_name() != ".git" && (entry.path().starts_with(&way) || way.starts_with(entry.path()))
    });
    builder.sort_by_file_name(Ord::cmp);
    for entry in builder.build() {
        if cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        // What cannot be read is not found.
        let Ok(entry) = entry else { continue };
        *met |= entry.path() == goal;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(path) = relative(root, entry.path()) else { continue };
        // The walk goes by name: a directory that was swapped for a link meanwhile is noticed here.
        if matches!(workspace.entry(&path), Ok(Some(Entry::File { .. }))) {
            visit(&path);
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> Option<WorkspacePath> {
    let path = path.strip_prefix(root).ok()?.to_str()?;
    WorkspacePath::try_from(path.to_owned()).ok()
}

/// A pattern for paths: one without a slash matches names in every directory.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, BadInput> {
    let whole = text.trim_start_matches("./");
    let whole = if whole.contains('/') { whole.to_owned() } else { format!("**/{whole}") };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|err| BadInput(format!("`{text}` is not a usable pattern: {err}")))
}
