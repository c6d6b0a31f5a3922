//! Content that events point at.
//!
//! - [`Artifacts`]: stores content for one run and tells its log; body first, event second.
//! - [`patches`]: patches, which have a [`life`] after they are made.
//! - [`view`]: artifacts as a log tells them.
//! - [`read`]: gets content back.
//!
//! Output of programs and servers is redacted on its way in. Patches and files are never rewritten, since
//! they would no longer be what they are: that they hold a secret is noted instead.

mod intake;
pub mod life;
pub mod patches;
pub mod view;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream, StreamExt as _};
use r1_event::Digest;
use r1_protocol::data::{ArtifactCreated, ArtifactKind, ArtifactStatus, GapArtifactCapped, Kept, Object};
use r1_store::{BlobError, SharedStore};

use crate::emit::{Emission, Emitter, WriterGone};
use crate::redact::Redactor;
use crate::world;

use intake::Intake;

/// The most that is kept of one artifact.
pub const MAX_ARTIFACT: u64 = 64 << 20;

/// The most that is kept of all artifacts of a task.
pub const MAX_PER_TASK: u64 = 1 << 30;

/// Stores content for one run and tells its log. Clones share what is left of the task's space.
#[derive(Clone)]
pub struct Artifacts {
    store: SharedStore,
    events: Emitter,
    redactor: Arc<Redactor>,
    used: Arc<AtomicU64>,
}

/// Content to store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewArtifact {
    /// What it is.
    pub kind: ArtifactKind,
    /// In a line.
    pub summary: String,
    /// The event that caused it.
    pub created_by_event_id: String,
    /// The call that made it.
    pub tool_call_id: Option<String>,
    /// Its type.
    pub mime: Option<String>,
    /// Its name for people.
    pub name: Option<String>,
    /// Where it is from, in the workspace.
    pub path: Option<String>,
    /// What else is known of it, by kind.
    pub metadata: Object,
}

/// Content that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// `art_` and a ULID.
    pub id: String,
    /// The blob that holds it.
    pub digest: Digest,
    /// How many bytes are kept.
    pub size: u64,
    /// How many bytes there were, redacted.
    pub whole: u64,
}

impl Stored {
    /// Whether something was left out.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.size < self.whole
    }
}

impl Artifacts {
    /// For the run that `events` leads to.
    #[must_use]
    pub fn new(store: SharedStore, events: Emitter, redactor: Arc<Redactor>) -> Self {
        Self { store, events, redactor, used: Arc::default() }
    }

    /// The same, where the task has stored so many bytes before.
    #[must_use]
    pub fn with_used(self, bytes: u64) -> Self {
        self.used.store(bytes, Ordering::Relaxed);
        self
    }

    /// Stores content that is at hand.
    pub async fn put(&self, new: NewArtifact, body: impl Into<Bytes>) -> Result<Stored, ArtifactError> {
        let body = body.into();
        self.put_stream(new, stream::once(async { Ok(body) })).await
    }

    /// Stores content as it comes. What is over the limit is cut out of its middle, and the log says so.
    pub async fn put_stream(
        &self,
        new: NewArtifact,
        body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<Stored, ArtifactError> {
        let limit = MAX_ARTIFACT.min(MAX_PER_TASK.saturating_sub(self.used.load(Ordering::Relaxed)));
        let (content, facts) = Intake::new(&self.redactor, &new.kind, limit).stream(body);
        let blob = self.store.blobs().put(content).await?;
        let facts = facts.take();
        self.used.fetch_add(blob.size, Ordering::Relaxed);
        let stored = Stored { id: world::new_id("art"), digest: blob.hash, size: blob.size, whole: facts.whole };
        let kind = new.kind.clone();
        let created = ArtifactCreated {
            artifact_id: stored.id.clone(),
            kind: new.kind,
            size_bytes: stored.size,
            summary: new.summary,
            created_by_event_id: new.created_by_event_id,
            digest: format!("blake3:{}", stored.digest),
            sha256: facts.sha256.to_string(),
            mime: new.mime,
            status: Some(ArtifactStatus::Created),
            name: new.name,
            path: new.path,
            tool_call_id: new.tool_call_id,
            contains_secrets: facts.contains_secrets.then_some(true),
            metadata: Some(new.metadata).filter(|metadata| !metadata.is_empty()),
            ..Default::default()
        };
        let mut events = vec![Emission { blobs: vec![stored.digest], ..created.into() }];
        if stored.is_cut() {
            let kept = if stored.size == 0 { Kept::None } else { Kept::HeadTail };
            events.push(capped(kind, Some(stored.id.clone()), limit, stored.whole, kept));
        }
        self.events.emit_all(events).await?;
        Ok(stored)
    }

    /// The store that holds the content.
    #[must_use]
    pub const fn store(&self) -> &SharedStore {
        &self.store
    }
}

/// A body was cut or refused.
fn capped(
    kind: ArtifactKind,
    artifact_id: Option<String>,
    limit_bytes: u64,
    actual_bytes: u64,
    kept: Kept,
) -> Emission {
    GapArtifactCapped { artifact_id, kind, limit_bytes, actual_bytes, kept, ..Default::default() }.into()
}

/// The whole content of a blob, checked against its name.
pub async fn read(store: &SharedStore, digest: Digest) -> Result<Bytes, ArtifactError> {
    let mut content = store.blobs().get(digest).await?;
    let mut bytes = BytesMut::new();
    while let Some(piece) = content.next().await {
        bytes.extend_from_slice(&piece.map_err(|source| ArtifactError::Unreadable { digest, source })?);
    }
    Ok(bytes.freeze())
}

/// Content was not stored or found.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A patch that is cut would not apply.
    #[error("a patch of {bytes} bytes is over the limit of {limit}, and patches are never cut; change less at once")]
    PatchTooLarge {
        /// How long it, or a file of it, is.
        bytes: u64,
        /// The most that is taken.
        limit: u64,
    },
    /// The store failed.
    #[error("content cannot be stored or found")]
    Blob(#[from] BlobError),
    /// The store has it, but damaged.
    #[error("the content {digest} cannot be read")]
    Unreadable {
        /// Which.
        digest: Digest,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The run has no writer here any more.
    #[error(transparent)]
    Writer(#[from] WriterGone),
}

#[cfg(test)]
mod tests;
