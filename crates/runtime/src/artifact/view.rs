//! Artifacts as the log tells them: a fold over `artifact.*` events.

use std::collections::BTreeMap;

use r1_event::payload::Typed;
use r1_event::{Digest, Payload, RunId, UnixNanos};
use r1_protocol::data::{
    ArtifactCreated, ArtifactField, ArtifactKind, ArtifactStatus, ArtifactUpdated, EventData, Object, Time,
    ToolEditApplied, ToolFileWriteApplied,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::patches::StoredPatch;
use crate::patch::PatchFacts;
use crate::workspace::Revision;

/// An artifact as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactView {
    /// `art_` and a ULID.
    pub id: String,
    /// What it is.
    pub kind: ArtifactKind,
    /// How far it is.
    pub status: ArtifactStatus,
    /// In a line.
    pub summary: String,
    /// Its type.
    pub mime: Option<String>,
    /// How long its body is.
    pub size_bytes: u64,
    /// The blob that holds the body.
    #[serde(with = "as_text::option")]
    pub digest: Option<Digest>,
    /// SHA-256 of the body, hex.
    pub sha256: String,
    /// Its name for people.
    pub name: Option<String>,
    /// Where it is from, in the workspace.
    pub path: Option<String>,
    /// The run whose log tells of it first.
    #[serde(with = "as_text")]
    pub run_id: RunId,
    /// The call that made it.
    pub tool_call_id: Option<String>,
    /// The event that caused it.
    pub created_by_event_id: String,
    /// When it was made.
    #[serde(with = "as_nanos")]
    pub created_at: UnixNanos,
    /// Whether it is kept for good.
    pub pinned: bool,
    /// Whether it seems to hold a secret.
    pub contains_secrets: bool,
    /// What else is known of it, by kind.
    pub metadata: Object,
    /// What a patch starts from and makes.
    pub patch: Option<PatchFacts>,
    /// What a patch's file became, which a drifted file makes another one than the patch says.
    pub result_revision: Option<Revision>,
    /// When a patch was applied.
    pub applied_at: Option<Time>,
    /// When it was rejected.
    pub rejected_at: Option<Time>,
    /// When it was undone.
    pub reverted_at: Option<Time>,
}

impl ArtifactView {
    /// The artifact that an event in the log of `run` makes, if it makes one.
    #[must_use]
    pub fn created(run: &RunId, at: UnixNanos, event: &Typed) -> Option<Self> {
        ArtifactCreated::read(event).map(|created| view(run, at, created))
    }

    /// The artifact that an event speaks of.
    #[must_use]
    pub fn subject(event: &Typed) -> Option<String> {
        match event.r#type.as_str() {
            ArtifactCreated::TYPE => ArtifactCreated::read(event).map(|created| created.artifact_id),
            ArtifactUpdated::TYPE => ArtifactUpdated::read(event).map(|updated| updated.artifact_id),
            ToolEditApplied::TYPE => ToolEditApplied::read(event).map(|applied| applied.patch_artifact_id),
            ToolFileWriteApplied::TYPE => ToolFileWriteApplied::read(event).map(|applied| applied.patch_artifact_id),
            _ => None,
        }
    }

    /// Takes the next event that speaks of it.
    pub fn apply(&mut self, event: &Typed) {
        match event.r#type.as_str() {
            ArtifactUpdated::TYPE => {
                if let Some(updated) = ArtifactUpdated::read(event) {
                    self.update(&updated);
                }
            }
            ToolEditApplied::TYPE => {
                if let Some(applied) = ToolEditApplied::read(event) {
                    self.became(applied.result_revision.as_deref());
                }
            }
            ToolFileWriteApplied::TYPE => {
                if let Some(applied) = ToolFileWriteApplied::read(event) {
                    self.became(applied.result_revision.as_deref());
                }
            }
            _ => {}
        }
    }

    fn update(&mut self, updated: &ArtifactUpdated) {
        let time = || serde_json::from_value(updated.new_value.clone()).ok().flatten();
        match &updated.field {
            ArtifactField::Status => {
                if let Value::String(status) = &updated.new_value {
                    self.status = status.as_str().into();
                }
            }
            ArtifactField::AppliedAt => self.applied_at = time(),
            ArtifactField::RejectedAt => self.rejected_at = time(),
            ArtifactField::RevertedAt => self.reverted_at = time(),
            ArtifactField::Pinned => self.pinned = updated.new_value == Value::Bool(true),
            ArtifactField::Other(_) => {}
        }
    }

    fn became(&mut self, revision: Option<&str>) {
        if let Some(revision) = revision {
            self.result_revision = revision.parse().ok();
        }
    }

    /// The patch, if it is one.
    #[must_use]
    pub fn stored_patch(&self) -> Option<StoredPatch> {
        let facts = self.patch.clone()?;
        Some(StoredPatch { id: self.id.clone(), facts, contains_secrets: self.contains_secrets })
    }
}

/// The artifacts of one log or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtifactIndex {
    artifacts: BTreeMap<String, ArtifactView>,
}

impl ArtifactIndex {
    /// Takes the next event of a log. Logs that speak of each other's artifacts, such as an operator's, come
    /// after those they speak of.
    pub fn apply(&mut self, run: &RunId, at: UnixNanos, payload: &Payload) {
        let Payload::Typed(event) = payload else { return };
        if let Some(view) = ArtifactView::created(run, at, event) {
            self.artifacts.insert(view.id.clone(), view);
        } else if let Some(view) = ArtifactView::subject(event).and_then(|id| self.artifacts.get_mut(&id)) {
            view.apply(event);
        }
    }

    /// An artifact by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ArtifactView> {
        self.artifacts.get(id)
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ArtifactView> {
        self.artifacts.values()
    }

    /// The patches that move together with this one, itself among them; empty if it is none.
    #[must_use]
    pub fn together(&self, id: &str) -> Vec<&ArtifactView> {
        let Some(view) = self.get(id) else { return Vec::new() };
        match view.patch.as_ref().map(|patch| &patch.batch_id) {
            None => Vec::new(),
            Some(None) => vec![view],
            Some(Some(batch)) => {
                let is_member = |view: &&ArtifactView| {
                    view.patch.as_ref().is_some_and(|patch| patch.batch_id.as_ref() == Some(batch))
                };
                self.iter().filter(is_member).collect()
            }
        }
    }

    /// How many bytes the bodies take.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.iter().map(|view| view.size_bytes).sum()
    }
}

fn view(run: &RunId, at: UnixNanos, created: ArtifactCreated) -> ArtifactView {
    let patch: Option<PatchFacts> = created.patch.and_then(|patch| serde_json::from_value(Value::Object(patch)).ok());
    ArtifactView {
        id: created.artifact_id,
        kind: created.kind,
        status: created.status.unwrap_or(ArtifactStatus::Created),
        summary: created.summary,
        mime: created.mime,
        size_bytes: created.size_bytes,
        digest: created.digest.strip_prefix("blake3:").and_then(|hex| hex.parse().ok()),
        sha256: created.sha256,
        name: created.name,
        path: created.path,
        run_id: run.clone(),
        tool_call_id: created.tool_call_id,
        created_by_event_id: created.created_by_event_id,
        created_at: at,
        pinned: false,
        contains_secrets: created.contains_secrets.unwrap_or(false),
        metadata: created.metadata.unwrap_or_default(),
        result_revision: patch.as_ref().and_then(|patch| patch.result.as_ref()).map(|result| result.revision),
        patch,
        applied_at: None,
        rejected_at: None,
        reverted_at: None,
    }
}

/// Names and digests in the form that they are written in everywhere.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("not a name of this kind"))
    }

    pub(super) mod option {
        use super::{Deserializer, Display, FromStr, Serializer, de};
        use serde::Deserialize as _;

        pub(in super::super) fn serialize<T: Display, S: Serializer>(
            value: &Option<T>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => serializer.collect_str(value),
                None => serializer.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<T>, D::Error> {
            let text = Option::<String>::deserialize(deserializer)?;
            let parse = |text: String| text.parse().map_err(|_| de::Error::custom("not a name of this kind"));
            text.map(parse).transpose()
        }
    }
}

mod as_nanos {
    use r1_event::UnixNanos;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(at: &UnixNanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixNanos, D::Error> {
        i64::deserialize(deserializer).map(UnixNanos)
    }
}
