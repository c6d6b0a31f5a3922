//! The events of a patch's life: proposed, then applied or rejected; applied, then perhaps reverted.

use r1_event::UnixNanos;
use r1_protocol::data::{
    ArtifactField, ArtifactStatus, ArtifactUpdated, By, Time, ToolEditApplied, ToolEditProposed, ToolEditRejected,
    ToolEditReverted, ToolFileWriteApplied, ToolFileWriteProposed, ToolFileWriteRejected, ToolMultiEditApplied,
    ToolMultiEditProposed, ToolMultiEditRejected, ToolMultiEditReverted,
};
use serde_json::{Value, json};

use super::patches::{StoredPatch, summary};
use crate::emit::Emission;
use crate::patch::Operation;
use crate::workspace::Revision;

/// Patches that live together: one that stands alone, or all of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Patches<'a> {
    /// The call that made them.
    pub tool_call_id: &'a str,
    /// The patches.
    pub members: &'a [StoredPatch],
}

/// Under which names the events go.
enum Family<'a> {
    Edit(&'a StoredPatch),
    /// A new file.
    FileWrite(&'a StoredPatch),
    MultiEdit,
}

impl Patches<'_> {
    /// They are worked out; `auto_apply` if nobody needs to do more for them to be applied.
    #[must_use]
    pub fn proposed(&self, auto_apply: bool) -> Emission {
        let tool_call_id = self.tool_call_id.to_owned();
        match self.family() {
            Family::Edit(patch) => ToolEditProposed {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                path: path(patch),
                summary: summary(&patch.facts),
                auto_apply,
                ..Default::default()
            }
            .into(),
            Family::FileWrite(patch) => ToolFileWriteProposed {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                path: path(patch),
                summary: summary(&patch.facts),
                auto_apply,
                ..Default::default()
            }
            .into(),
            Family::MultiEdit => ToolMultiEditProposed {
                tool_call_id,
                patch_artifact_ids: self.ids(),
                summary: self.summary(),
                auto_apply,
                paths: Some(self.paths()),
                ..Default::default()
            }
            .into(),
        }
    }

    /// They are in the workspace, where the files now have these revisions.
    #[must_use]
    pub fn applied(&self, revisions: &[Option<Revision>], by: &By, now: UnixNanos) -> Vec<Emission> {
        let tool_call_id = self.tool_call_id.to_owned();
        let applied_at = Time::from(now);
        let result_revision = revisions.first().copied().flatten().map(|revision| revision.to_string());
        let event = match self.family() {
            Family::Edit(patch) => ToolEditApplied {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                applied_at: applied_at.clone(),
                path: Some(path(patch)),
                result_revision,
                ..Default::default()
            }
            .into(),
            Family::FileWrite(patch) => ToolFileWriteApplied {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                applied_at: applied_at.clone(),
                path: Some(path(patch)),
                result_revision,
                ..Default::default()
            }
            .into(),
            Family::MultiEdit => ToolMultiEditApplied {
                tool_call_id,
                patch_artifact_ids: self.ids(),
                applied_at: applied_at.clone(),
                paths: Some(self.paths()),
                ..Default::default()
            }
            .into(),
        };
        let steps = self.status_steps(&ArtifactStatus::Applied, ArtifactField::AppliedAt, &applied_at, by);
        std::iter::once(event).chain(steps).collect()
    }

    /// They will not be applied.
    #[must_use]
    pub fn rejected(&self, by: &By, reason: &str, now: UnixNanos) -> Vec<Emission> {
        let (tool_call_id, reason) = (self.tool_call_id.to_owned(), reason.to_owned());
        let rejected_by = by.clone();
        let event = match self.family() {
            Family::Edit(patch) => ToolEditRejected {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                rejected_by,
                reason,
                ..Default::default()
            }
            .into(),
            Family::FileWrite(patch) => ToolFileWriteRejected {
                tool_call_id,
                patch_artifact_id: patch.id.clone(),
                rejected_by,
                reason,
                ..Default::default()
            }
            .into(),
            Family::MultiEdit => ToolMultiEditRejected {
                tool_call_id,
                patch_artifact_ids: self.ids(),
                rejected_by,
                reason,
                paths: Some(self.paths()),
                ..Default::default()
            }
            .into(),
        };
        let steps = self.status_steps(&ArtifactStatus::Rejected, ArtifactField::RejectedAt, &Time::from(now), by);
        std::iter::once(event).chain(steps).collect()
    }

    /// They are undone by `inverses`, whose `artifact.created` events are `created`.
    #[must_use]
    pub fn reverted(
        &self,
        inverses: &[StoredPatch],
        created: Vec<Emission>,
        by: &By,
        reason: &str,
        now: UnixNanos,
    ) -> Vec<Emission> {
        let tool_call_id = Some(self.tool_call_id.to_owned()).filter(|id| !id.is_empty());
        let (reverted_by, reason) = (by.clone(), reason.to_owned());
        let event = match self.family() {
            Family::Edit(patch) | Family::FileWrite(patch) => ToolEditReverted {
                patch_artifact_id: patch.id.clone(),
                reverted_by,
                reason,
                inverse_artifact_id: inverses.first().map(|inverse| inverse.id.clone()),
                path: Some(path(patch)),
                tool_call_id,
                ..Default::default()
            }
            .into(),
            Family::MultiEdit => ToolMultiEditReverted {
                patch_artifact_ids: self.ids(),
                reverted_by,
                reason,
                inverse_artifact_id: inverses.first().filter(|_| inverses.len() == 1).map(|inverse| inverse.id.clone()),
                paths: Some(self.paths()),
                tool_call_id,
                ..Default::default()
            }
            .into(),
        };
        let at = json!(Time::from(now));
        let steps =
            self.members.iter().map(|patch| step(patch, ArtifactField::RevertedAt, Value::Null, at.clone(), by));
        std::iter::once(event).chain(created).chain(steps).collect()
    }

    /// What they do, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        match self.members {
            [patch] => summary(&patch.facts),
            members => {
                let all: Vec<_> = members.iter().map(|patch| summary(&patch.facts)).collect();
                format!("{} files: {}", members.len(), all.join(", "))
            }
        }
    }

    fn family(&self) -> Family<'_> {
        match self.members {
            [patch] if patch.facts.batch_id.is_none() => match patch.facts.operation {
                Operation::Create => Family::FileWrite(patch),
                Operation::Modify | Operation::Delete | Operation::Rename => Family::Edit(patch),
            },
            _ => Family::MultiEdit,
        }
    }

    fn ids(&self) -> Vec<String> {
        self.members.iter().map(|patch| patch.id.clone()).collect()
    }

    fn paths(&self) -> Vec<String> {
        self.members.iter().map(path).collect()
    }

    fn status_steps(&self, status: &ArtifactStatus, field: ArtifactField, at: &Time, by: &By) -> Vec<Emission> {
        let steps = |patch| {
            let was = json!(ArtifactStatus::Proposed);
            [
                step(patch, ArtifactField::Status, was, json!(status), by),
                step(patch, field.clone(), Value::Null, json!(at), by),
            ]
        };
        self.members.iter().flat_map(steps).collect()
    }
}

fn path(patch: &StoredPatch) -> String {
    patch.facts.target_path.to_string()
}

fn step(patch: &StoredPatch, field: ArtifactField, old_value: Value, new_value: Value, by: &By) -> Emission {
    let artifact_id = patch.id.clone();
    ArtifactUpdated { artifact_id, field, old_value, new_value, by: Some(by.clone()), ..Default::default() }.into()
}
