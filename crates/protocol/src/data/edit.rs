//! `tool.edit.*`, `tool.multi_edit.*`, `tool.file_write.*` and other producers' `tool.file.*`.

use super::{By, Time};

events! {
    /// An edit of an existing file is worked out.
    "tool.edit.proposed" ToolEditProposed Artifact {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { path: String, summary: String, auto_apply: bool, }
    }

    /// An edit was written to the workspace.
    "tool.edit.applied" ToolEditApplied Artifact {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { applied_at: Time, }
        optional { path: String, result_revision: String, }
    }

    /// An edit was undone.
    "tool.edit.reverted" ToolEditReverted Artifact {
        identity { patch_artifact_id: String, }
        required { reverted_by: By, reason: String, }
        optional { inverse_artifact_id: String, path: String, tool_call_id: String, }
    }

    /// An edit was refused.
    "tool.edit.rejected" ToolEditRejected Added {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { rejected_by: By, reason: String, }
    }

    /// A batch of edits, one that stands or falls together, is worked out.
    "tool.multi_edit.proposed" ToolMultiEditProposed Artifact {
        identity { tool_call_id: String, patch_artifact_ids: Vec<String>, }
        required { summary: String, auto_apply: bool, }
        optional { paths: Vec<String>, }
    }

    /// A batch of edits was written to the workspace.
    "tool.multi_edit.applied" ToolMultiEditApplied Artifact {
        identity { tool_call_id: String, patch_artifact_ids: Vec<String>, }
        required { applied_at: Time, }
        optional { paths: Vec<String>, result_revision: String, }
    }

    /// A batch of edits was undone.
    "tool.multi_edit.reverted" ToolMultiEditReverted Artifact {
        identity { patch_artifact_ids: Vec<String>, }
        required { reverted_by: By, reason: String, }
        optional { inverse_artifact_id: String, paths: Vec<String>, tool_call_id: String, }
    }

    /// A batch of edits was refused.
    "tool.multi_edit.rejected" ToolMultiEditRejected Added {
        identity { tool_call_id: String, patch_artifact_ids: Vec<String>, }
        required { rejected_by: By, reason: String, }
        optional { paths: Vec<String>, }
    }

    /// A new file is worked out.
    "tool.file_write.proposed" ToolFileWriteProposed Artifact {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { path: String, summary: String, auto_apply: bool, }
    }

    /// A new file was written to the workspace.
    "tool.file_write.applied" ToolFileWriteApplied Artifact {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { applied_at: Time, }
        optional { path: String, result_revision: String, }
    }

    /// A new file was refused.
    "tool.file_write.rejected" ToolFileWriteRejected Added {
        identity { tool_call_id: String, patch_artifact_id: String, }
        required { rejected_by: By, reason: String, }
    }
}

rows! {
    /// A patch, as other producers tell it.
    "tool.file.patch" Core Typed {
        identity { tool_call_id: String, path: String, artifact_id: String, }
        required { artifact_status: String, }
        optional { operation: String, before_existed: bool, }
    }

    /// A patch was applied, as other producers tell it.
    "tool.file.applied" Core Typed {
        identity { tool_call_id: String, path: String, artifact_id: String, }
        required { artifact_status: String, }
        optional { operation: String, before_existed: bool, }
    }

    /// A patch was undone, as other producers tell it.
    "tool.file.reverted" Core Typed {
        identity { tool_call_id: String, path: String, artifact_id: String, }
        required { artifact_status: String, }
        optional { operation: String, before_existed: bool, }
    }
}
