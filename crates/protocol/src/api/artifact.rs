//! Artifacts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Object, Time};

/// Something that a run made or used and that is kept: its body is at `/artifacts/{id}/raw`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// `art_` and a ULID.
    pub id: String,
    /// patch, file_snapshot, command_output, fetched_resource, search_results, image, tool_result_blob, …
    pub kind: String,
    /// created; of a patch proposed, applied or rejected.
    pub status: String,
    /// In a line.
    pub summary: String,
    /// Its type.
    pub mime: Option<String>,
    /// How long its body is.
    pub size_bytes: u64,
    /// `blake3:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its name for people.
    pub name: Option<String>,
    /// The run whose log tells of it first.
    pub produced_by_run_id: String,
    /// The call that made it.
    pub produced_by_tool_call_id: Option<String>,
    /// The run's task.
    pub task_id: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// Whether it is kept for good.
    pub pinned: bool,
    /// Whether it seems to hold a secret; then its body needs the right to write.
    pub contains_secrets: bool,
    /// What else is known of it, by kind.
    pub metadata: Object,
    /// The file that a patch changes.
    pub target_path: Option<String>,
    /// That file before: `sha256:` and hex; null means no file.
    pub base_revision: Option<String>,
    /// That file after.
    pub result_revision: Option<String>,
    /// The patch itself, up to 1 MiB; always null in lists.
    pub diff: Option<String>,
    /// How large a patch is.
    pub stats: Option<DiffStats>,
    /// When a patch was applied.
    pub applied_at: Option<Time>,
    /// When it was rejected.
    pub rejected_at: Option<Time>,
    /// When it was undone.
    pub reverted_at: Option<Time>,
    /// The patch that this one undoes.
    pub reverts_artifact_id: Option<String>,
    /// Patches with the same one move together.
    pub batch_id: Option<String>,
}

/// How large a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffStats {
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Places.
    pub hunks: u64,
}
