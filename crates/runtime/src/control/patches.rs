//! Applying, rejecting and reverting patches by their artifact's id, for every surface alike.
//!
//! - [`act`]: the whole of it for a stored run, from the run's id to the events in a log.
//! - [`artifacts`]: how a run's artifacts stand now.
//! - [`apply`], [`reject`], [`revert`]: each does its work in the workspace and returns the events that say
//!   so; [`act`] appends them: to the patch's own run while it is open, else to an operator run. Should that
//!   fail after the work is done, the same verb again finds the files as they should be and returns the
//!   events anew.

mod of_run;

pub use of_run::{ActError, Moved, Verb, act, artifacts, subject};

use r1_event::{Payload, RunId, UnixNanos};
use r1_protocol::data::{ArtifactStatus, By};
use r1_store::{Pages, SharedStore, StoreError};

use super::check::blocking;
use super::view;
use crate::artifact::ArtifactError;
use crate::artifact::life::Patches;
use crate::artifact::patches::{self, Drafted, Origin, StoredPatch};
use crate::artifact::view::{ArtifactIndex, ArtifactView};
use crate::emit::Emission;
use crate::patch::{Applied, ApplyError, Batch, Options};
use crate::redact::Redactor;
use crate::workspace::{Snapshot, Workspace};

/// Who asks, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whose doing it is.
    pub by: By,
    /// Why.
    pub reason: String,
    /// Whether a drifted file is patched where every hunk fits in exactly one place.
    pub allow_offset: bool,
    /// When.
    pub now: UnixNanos,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// The patches that moved together.
    pub artifact_ids: Vec<String>,
    /// The patches that undo them, after a revert.
    pub inverse_ids: Vec<String>,
    /// What is to be appended; nothing if they were already so.
    pub events: Vec<Emission>,
}

/// The artifacts that these logs tell of, read in this order.
pub async fn index(store: &SharedStore, runs: &[RunId]) -> Result<ArtifactIndex, StoreError> {
    let mut index = ArtifactIndex::default();
    for run in runs {
        let mut pages = Pages::of_all(&**store, run);
        while let Some(page) = pages.next().await? {
            for record in &page {
                let (Some(place), Some(bytes)) = (view::place(record), &record.payload) else { continue };
                // What cannot be read is no artifact; whether the log is sound is for others to say.
                if let Ok(payload) = Payload::decode(place.kind, bytes) {
                    index.apply(run, place.ts, &payload);
                }
            }
        }
    }
    Ok(index)
}

/// Applies a proposed patch and all that move with it.
pub async fn apply(
    store: &SharedStore,
    workspace: &Workspace,
    index: &ArtifactIndex,
    id: &str,
    request: &Request,
) -> Result<Done, PatchError> {
    let group = Group::of(index, id)?;
    match group.standing {
        Standing::Proposed => {}
        Standing::Applied => return Ok(group.nothing()),
        standing @ (Standing::Reverted | Standing::Rejected) => return Err(group.refused("apply", standing)),
    }
    let applied = make(workspace, group.batch(store).await?, request).await?;
    let revisions: Vec<_> =
        applied.changes.iter().map(|change| change.after.as_ref().map(Snapshot::revision)).collect();
    let events = group.patches().applied(&revisions, &request.by, request.now);
    Ok(Done { events, ..group.nothing() })
}

/// Rejects a proposed patch and all that move with it.
pub fn reject(index: &ArtifactIndex, id: &str, request: &Request) -> Result<Done, PatchError> {
    let group = Group::of(index, id)?;
    match group.standing {
        Standing::Proposed => {}
        Standing::Rejected => return Ok(group.nothing()),
        standing @ (Standing::Applied | Standing::Reverted) => return Err(group.refused("reject", standing)),
    }
    let events = group.patches().rejected(&request.by, &request.reason, request.now);
    Ok(Done { events, ..group.nothing() })
}

/// Undoes an applied patch and all that move with it. What was done is kept as patches of its own, so that
/// reverting those does it again.
pub async fn revert(
    store: &SharedStore,
    redactor: &Redactor,
    workspace: &Workspace,
    index: &ArtifactIndex,
    id: &str,
    request: &Request,
) -> Result<Done, PatchError> {
    let group = Group::of(index, id)?;
    match group.standing {
        Standing::Applied => {}
        Standing::Reverted => return Ok(group.nothing()),
        standing @ (Standing::Proposed | Standing::Rejected) => return Err(group.refused("revert", standing)),
    }
    let applied = make(workspace, group.batch(store).await?.reversed(), request).await?;
    let origin = Origin {
        created_by_event_id: group.created_by_event_id.clone(),
        tool_call_id: Some(group.tool_call_id.clone()).filter(|id| !id.is_empty()),
        batch: group.members.iter().any(|patch| patch.facts.batch_id.is_some()),
        reverts: group.members.iter().map(|patch| patch.id.clone()).collect(),
    };
    let Drafted { patches, events } =
        patches::draft(store, redactor, &applied.changes, ArtifactStatus::Applied, &origin).await?;
    let events = group.patches().reverted(&patches, events, &request.by, &request.reason, request.now);
    Ok(Done { inverse_ids: patches.into_iter().map(|patch| patch.id).collect(), events, ..group.nothing() })
}

/// Where patches stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has decided.
    Proposed,
    /// In the workspace.
    Applied,
    /// In the workspace once, and undone.
    Reverted,
    /// Refused.
    Rejected,
}

/// Patches that move together.
struct Group {
    members: Vec<StoredPatch>,
    tool_call_id: String,
    created_by_event_id: String,
    standing: Standing,
}

impl Group {
    fn of(index: &ArtifactIndex, id: &str) -> Result<Self, PatchError> {
        let unknown = || PatchError::Unknown { id: id.to_owned() };
        let view = index.get(id).ok_or_else(unknown)?;
        let not_a_patch = || PatchError::NotAPatch { id: id.to_owned() };
        let standing = standing(view).ok_or_else(not_a_patch)?;
        let members: Vec<_> = index.together(id).into_iter().filter_map(ArtifactView::stored_patch).collect();
        if members.is_empty() {
            return Err(not_a_patch());
        }
        Ok(Self {
            members,
            tool_call_id: view.tool_call_id.clone().unwrap_or_default(),
            created_by_event_id: view.created_by_event_id.clone(),
            standing,
        })
    }

    fn patches(&self) -> Patches<'_> {
        Patches { tool_call_id: &self.tool_call_id, members: &self.members }
    }

    async fn batch(&self, store: &SharedStore) -> Result<Batch, PatchError> {
        let mut changes = Vec::new();
        for patch in &self.members {
            changes.push(patches::load(store, &patch.facts).await?);
        }
        Ok(Batch::new(changes)?)
    }

    fn nothing(&self) -> Done {
        Done { artifact_ids: self.members.iter().map(|patch| patch.id.clone()).collect(), ..Done::default() }
    }

    fn refused(&self, verb: &'static str, standing: Standing) -> PatchError {
        let id = self.members.first().map(|patch| patch.id.clone()).unwrap_or_default();
        PatchError::WrongState { id, verb, standing }
    }
}

/// Where a patch stands; `None` for other artifacts.
#[must_use]
pub fn standing(view: &ArtifactView) -> Option<Standing> {
    match (&view.status, &view.reverted_at) {
        (ArtifactStatus::Proposed, _) => Some(Standing::Proposed),
        (ArtifactStatus::Rejected, _) => Some(Standing::Rejected),
        (ArtifactStatus::Applied, None) => Some(Standing::Applied),
        (ArtifactStatus::Applied, Some(_)) => Some(Standing::Reverted),
        (ArtifactStatus::Created | ArtifactStatus::Other(_), _) => None,
    }
}

async fn make(workspace: &Workspace, batch: Batch, request: &Request) -> Result<Applied, ApplyError> {
    let (workspace, options) = (workspace.clone(), Options { allow_offset: request.allow_offset, recover: false });
    blocking(move || batch.apply(&workspace, options)).await
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Proposed => "proposed",
            Self::Applied => "applied",
            Self::Reverted => "reverted",
            Self::Rejected => "rejected",
        })
    }
}

/// A patch was not moved. The workspace is as it was, unless the source says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// No log tells of it.
    #[error("there is no artifact `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Only patches move.
    #[error("artifact `{id}` is not a patch")]
    NotAPatch {
        /// What was asked for.
        id: String,
    },
    /// It is too late, or too early.
    #[error("cannot {verb} patch `{id}`: it is {standing}")]
    WrongState {
        /// Which.
        id: String,
        /// What was asked.
        verb: &'static str,
        /// Where it stands.
        standing: Standing,
    },
    /// The files do not allow it.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// Its content cannot be had.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}
