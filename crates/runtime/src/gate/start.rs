//! What the files of a workspace do not tell of it, noted when a task begins.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::context::Base;
use super::preset::Preset;
use super::protected::Protected;
use super::repository;
use crate::snapshot::Snapshots;

/// Saves a workspace in which a task begins, for its gates to compare with. `None` if git is not there or
/// cannot.
pub async fn save_start(snapshots: &Snapshots, workspace: &Path, preset: &Preset) -> Option<String> {
    let start = Start {
        head: repository::head_tree(workspace).await,
        protected: Protected::look(workspace, &preset.scope.protected).await.ok(),
    };
    let note = serde_json::to_string(&start).ok()?;
    snapshots.save_noted(workspace, &note).await
}

/// Noted beside the files, which a snapshot keeps. Tasks that began before something was noted lack it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The tree of the last commit; absent where nothing can be committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<String>,
    /// The protected files, those that git ignores too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) protected: Option<Protected>,
}

impl Start {
    /// What was noted about the workspace that gates compare with; `None` if nothing was.
    pub(super) async fn of(base: &Base) -> Option<Self> {
        match base {
            Base::Snapshot { snapshots, revision } => {
                let note = snapshots.locate(revision).ok()?.note().await?;
                serde_json::from_str(&note).ok()
            }
            Base::Revision(_) | Base::Empty => None,
        }
    }
}
