//! Patches as artifacts: the diff is the body, and the files before and after are kept beside it.

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use r1_event::Digest;
use r1_protocol::data::{ArtifactCreated, ArtifactKind, ArtifactStatus, Kept};
use r1_store::SharedStore;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ArtifactError, Artifacts, MAX_ARTIFACT, capped, read};
use crate::emit::Emission;
use crate::patch::{Change, Operation, PatchFacts, Stats, Version, diff};
use crate::redact::Redactor;
use crate::workspace::Snapshot;
use crate::world;

/// A patch that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPatch {
    /// `art_` and a ULID.
    pub id: String,
    /// All that making and unmaking it needs.
    pub facts: PatchFacts,
    /// Whether it seems to hold a secret.
    pub contains_secrets: bool,
}

/// Patches whose content is stored, and the events that are still to be written.
#[derive(Debug)]
pub struct Drafted {
    /// In the order of the changes.
    pub patches: Vec<StoredPatch>,
    /// Their `artifact.created`.
    pub events: Vec<Emission>,
}

/// Where patches come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The event that caused them.
    pub created_by_event_id: String,
    /// The call that made them.
    pub tool_call_id: Option<String>,
    /// Whether they are a batch even if there is only one; several always are.
    pub batch: bool,
    /// The patches that they undo, in the same order; empty if they undo none.
    pub reverts: Vec<String>,
}

impl Artifacts {
    /// Stores changes as proposed patches and tells the log. Several are one batch.
    pub async fn propose(&self, changes: &[Change], origin: &Origin) -> Result<Vec<StoredPatch>, ArtifactError> {
        match draft(&self.store, &self.redactor, changes, ArtifactStatus::Proposed, origin).await {
            Ok(Drafted { patches, events }) => {
                self.events.emit_all(events).await?;
                Ok(patches)
            }
            Err(ArtifactError::PatchTooLarge { bytes, limit }) => {
                self.events.emit(capped(ArtifactKind::Patch, None, limit, bytes, Kept::None)).await?;
                Err(ArtifactError::PatchTooLarge { bytes, limit })
            }
            Err(err) => Err(err),
        }
    }
}

/// Stores the content of changes; several are one batch.
pub async fn draft(
    store: &SharedStore,
    redactor: &Redactor,
    changes: &[Change],
    status: ArtifactStatus,
    origin: &Origin,
) -> Result<Drafted, ArtifactError> {
    let batch_id = (origin.batch || changes.len() > 1).then(|| world::new_id("batch"));
    let mut drafted = Drafted { patches: Vec::new(), events: Vec::new() };
    for (index, change) in changes.iter().enumerate() {
        for file in [&change.before, &change.after].into_iter().flatten() {
            put(store, file.bytes.clone()).await?;
        }
        let diff = diff(change);
        let digest = put(store, diff.text.clone().into()).await?;
        let after = change.after.as_ref().filter(|_| change.is_binary());
        let contains_secrets = redactor.contains_secret(&diff.text)
            || after.is_some_and(|after: &Snapshot| redactor.contains_secret(&after.bytes));
        let facts = PatchFacts {
            batch_id: batch_id.clone(),
            reverts_artifact_id: origin.reverts.get(index).cloned(),
            ..PatchFacts::of(change, diff.stats)
        };
        let id = world::new_id("art");
        let created = ArtifactCreated {
            artifact_id: id.clone(),
            kind: ArtifactKind::Patch,
            size_bytes: size(&diff.text),
            summary: summary(&facts),
            created_by_event_id: origin.created_by_event_id.clone(),
            digest: format!("blake3:{digest}"),
            sha256: Digest::new(Sha256::digest(&diff.text).into()).to_string(),
            mime: Some("text/x-diff".into()),
            status: Some(status.clone()),
            name: Some(format!("{}.diff", change.path)),
            path: Some(change.path.to_string()),
            tool_call_id: origin.tool_call_id.clone(),
            contains_secrets: contains_secrets.then_some(true),
            patch: object(&facts),
            ..Default::default()
        };
        let blobs = facts.blobs().chain([digest]).collect();
        drafted.events.push(Emission { blobs, ..created.into() });
        drafted.patches.push(StoredPatch { id, facts, contains_secrets });
    }
    Ok(drafted)
}

/// The change that a patch makes, with the files' content.
pub async fn load(store: &SharedStore, facts: &PatchFacts) -> Result<Change, ArtifactError> {
    Ok(Change {
        path: facts.target_path.clone(),
        from: facts.source_path.clone(),
        before: snapshot(store, facts.base.as_ref()).await?,
        after: snapshot(store, facts.result.as_ref()).await?,
        new_directories: facts.new_directories,
        gone_directories: facts.gone_directories,
    })
}

/// The patches that an editing tool prepared, from what it remembered.
pub fn prepared(state: &Value) -> Result<Vec<StoredPatch>, serde_json::Error> {
    Vec::deserialize(&state["patches"])
}

/// What [`prepared`] reads.
#[must_use]
pub fn to_state(patches: &[StoredPatch]) -> Value {
    json!({ "patches": patches })
}

/// What a patch does, in a line.
#[must_use]
pub fn summary(facts: &PatchFacts) -> String {
    let Stats { additions, deletions, .. } = facts.stats;
    let path = &facts.target_path;
    match (facts.operation, &facts.source_path) {
        (Operation::Create, _) => format!("create {path} (+{additions})"),
        (Operation::Delete, _) => format!("delete {path} (−{deletions})"),
        (Operation::Modify, _) => format!("edit {path} (+{additions} −{deletions})"),
        (Operation::Rename, Some(from)) => format!("rename {from} to {path} (+{additions} −{deletions})"),
        (Operation::Rename, None) => format!("rename {path}"),
    }
}

async fn snapshot(store: &SharedStore, version: Option<&Version>) -> Result<Option<Snapshot>, ArtifactError> {
    match version {
        Some(version) => Ok(Some(Snapshot { bytes: read(store, version.digest).await?, mode: version.mode })),
        None => Ok(None),
    }
}

async fn put(store: &SharedStore, bytes: Bytes) -> Result<Digest, ArtifactError> {
    let length = size(&bytes);
    if length > MAX_ARTIFACT {
        return Err(ArtifactError::PatchTooLarge { bytes: length, limit: MAX_ARTIFACT });
    }
    Ok(store.blobs().put(stream::once(async { Ok(bytes) }).boxed()).await?.hash)
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn object(facts: &PatchFacts) -> Option<r1_protocol::data::Object> {
    match serde_json::to_value(facts) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}
