//! Giving a run a file, for its model to look at.

use bytes::Bytes;
use r1_event::{Digest, RunId};
use r1_protocol::data::{self, EventData, Object};
use r1_protocol::event_id;
use r1_store::{BlobError, StoreError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::caller::{Caller, Effect};
use super::command::{CommandError, command};
use crate::agent::command::{Command, Recorded, Refusal};
use crate::engine::Engine;
use crate::history::{HistoryError, load};
use crate::index::{ArtifactQuery, Index, IndexError};
use crate::world;

/// The longest file that is taken.
pub const MAX_FILE: u64 = 64 << 20;

/// How much the artifacts of one task may have together.
pub const MAX_TASK: u64 = 1 << 30;

/// What an uploaded file may be.
pub const KINDS: [&str; 3] = ["image", "file_snapshot", "tool_result_blob"];

/// A file.
#[derive(Clone, Debug)]
pub struct Upload {
    /// One of [`KINDS`]; told from its type if not given.
    pub kind: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// Its media type.
    pub mime: String,
    /// What is in it.
    pub content: Bytes,
}

/// Adds a file to an open run. Its artifact can then come with a message.
pub async fn attach(engine: &Engine, run: &RunId, upload: Upload, caller: &Caller) -> Result<Effect, AttachError> {
    let state = load(engine.store(), run).await?;
    if state.terminal.is_some() {
        return Err(CommandError::Refused(Refusal::Ended).into());
    }
    let size = upload.content.len() as u64;
    let kind = upload.kind.unwrap_or_else(|| usual_kind(&upload.mime).into());
    let used = match &state.task_id {
        Some(task_id) => used(engine, task_id).await?,
        None => 0,
    };
    let over = [(size, MAX_FILE), (used + size, MAX_TASK)].into_iter().find(|(actual, limit)| actual > limit);
    if let Some((actual_bytes, limit_bytes)) = over {
        let capped = data::GapArtifactCapped {
            kind: kind.as_str().into(),
            limit_bytes,
            actual_bytes,
            kept: "none".into(),
            ..Default::default()
        };
        record(engine, run, &capped, Vec::new(), &Caller { note: None, ..caller.clone() }).await?;
        return Err(AttachError::TooMuch { limit_bytes, actual_bytes });
    }
    let content = upload.content.clone();
    let stored = engine.store().blobs().put(Box::pin(futures_util::stream::once(async move { Ok(content) }))).await?;
    let name = upload.name.unwrap_or_else(|| "attachment".into());
    let created = data::ArtifactCreated {
        artifact_id: world::new_id("art"),
        kind: kind.as_str().into(),
        size_bytes: stored.size,
        summary: name.clone(),
        created_by_event_id: event_id(state.last_at, state.head),
        digest: format!("blake3:{}", stored.hash),
        sha256: r1_event::id::to_hex(&Sha256::digest(&upload.content)),
        mime: Some(upload.mime),
        status: Some("created".into()),
        name: Some(name),
        ..Default::default()
    };
    record(engine, run, &created, vec![stored.hash], caller).await
}

fn usual_kind(mime: &str) -> &'static str {
    if mime.starts_with("image/") { "image" } else { "file_snapshot" }
}

async fn record<E: EventData + serde::Serialize>(
    engine: &Engine,
    run: &RunId,
    event: &E,
    blobs: Vec<Digest>,
    caller: &Caller,
) -> Result<Effect, AttachError> {
    let data = serde_json::to_value(event).unwrap_or_else(|_| Value::Object(Object::new()));
    let blobs = blobs.iter().map(ToString::to_string).collect();
    let events = vec![Recorded { type_name: E::TYPE.into(), data, blobs }];
    Ok(command(engine, run, Command::Record { events }, caller).await?.effect)
}

/// What the artifacts of a task have together.
async fn used(engine: &Engine, task_id: &str) -> Result<u64, StoreError> {
    let index = Index::new(engine.store().clone());
    let (mut used, mut cursor) = (0, None);
    loop {
        let query = ArtifactQuery { task_id: Some(task_id.to_owned()), cursor, limit: 200, ..ArtifactQuery::default() };
        let page = match index.artifacts(query).await {
            Ok(page) => page,
            Err(IndexError::Store(err)) => return Err(err),
            // It is one of the index's own.
            Err(IndexError::BadCursor { .. }) => return Ok(used),
        };
        used += page.data.iter().map(|artifact| artifact.size_bytes).sum::<u64>();
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(used),
        }
    }
}

/// A file was not added.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It is too long, or the task has too much.
    #[error("{actual_bytes} bytes are more than the {limit_bytes} that there is room for")]
    TooMuch {
        /// How much there may be.
        limit_bytes: u64,
        /// How much there would be.
        actual_bytes: u64,
    },
    /// The run does not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The run cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// It could not be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
