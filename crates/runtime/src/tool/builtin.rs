//! R1's own tools.

use std::path::Path;
use std::sync::Arc;

use super::Tool;
use super::apply_patch::ApplyPatch;
use super::edit::Edit;
use super::file_operations::{self, FileOperations};
use super::file_read::FileRead;
use super::file_write::FileWrite;
use super::git::Git;
use super::glob::Glob;
use super::grep::Grep;
use super::http::Http;
use super::memory;
use super::multi_edit::MultiEdit;
use super::shell::Shell;
use super::todo_write::TodoWrite;
use super::web_fetch::WebFetch;
use super::web_search::{Service, WebSearch};
use crate::net::NetClient;

/// Whether models are offered the tool with this name: what one of them does better is not.
#[must_use]
pub fn is_for_models(name: &str) -> bool {
    name != file_operations::NAME
}

/// All of them, for a run that works at `root` and reaches others through `net`.
#[must_use]
pub fn all(root: &Path, net: &NetClient, search: Option<Service>) -> Vec<Arc<dyn Tool>> {
    let mut tools = files(root);
    tools.push(Arc::new(Shell::new()));
    tools.push(Arc::new(Http::new(net.clone())));
    tools.push(Arc::new(WebFetch::new(net.clone())));
    tools.push(Arc::new(WebSearch::new(search)));
    tools.extend(memory::all());
    tools
}

/// Tools that work on files of the workspace at `root`, which is the path that the run's log names:
/// absolute paths below it mean the same as relative ones.
#[must_use]
pub fn files(root: &Path) -> Vec<Arc<dyn Tool>> {
    let root: Arc<Path> = root.into();
    vec![
        Arc::new(FileRead::new(Arc::clone(&root))),
        Arc::new(FileWrite::new(Arc::clone(&root))),
        Arc::new(Edit::new(Arc::clone(&root))),
        Arc::new(MultiEdit::new(Arc::clone(&root))),
        Arc::new(ApplyPatch::new(Arc::clone(&root))),
        Arc::new(Glob::new(Arc::clone(&root))),
        Arc::new(Grep::new(Arc::clone(&root))),
        Arc::new(FileOperations::new(root)),
        Arc::new(TodoWrite::new()),
        Arc::new(Git::new()),
    ]
}
