//! Patches of a stored run, from its id to the events in a log.

use std::io;
use std::path::Path;

use r1_event::payload::RunStarted;
use r1_event::{RunId, Seq};
use r1_protocol::json;
use r1_store::{PageLimit, SharedStore, StoreError};
use serde::Deserialize;

use super::super::caller::{Caller, Effect};
use super::super::check::blocking;
use super::super::command::{CommandError, command};
use super::super::operator::{self, About, OPERATOR, OperatorError, OperatorRun};
use super::{Done, PatchError, Request, apply, index, reject, revert};
use crate::agent::command::{Command, Recorded, Refusal, with_actor};
use crate::agent::{Call, RunState};
use crate::artifact::view::ArtifactIndex;
use crate::emit::Emission;
use crate::engine::Engine;
use crate::history::{HistoryError, load};
use crate::workspace::Workspace;

/// How often the events are offered to a run that ends at this very moment.
const ATTEMPTS: usize = 3;

/// What can be done with a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Make the change that it proposes.
    Apply,
    /// Decide that it will not be made.
    Reject,
    /// Undo it.
    Revert,
}

impl Verb {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Reject => "reject",
            Self::Revert => "revert",
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The patches that moved together.
    pub artifact_ids: Vec<String>,
    /// The patches that undo them, after a revert.
    pub inverse_ids: Vec<String>,
    /// The event that says so, in the log of the patch's own run while that is open, else of an operator
    /// run; `None` if it was so already.
    pub effect: Option<Effect>,
}

/// The run whose patches are meant: of an operator run, the one that it is about.
pub async fn subject(store: &SharedStore, run: &RunId) -> Result<RunId, StoreError> {
    Ok(operator::parent(store, run).await?.unwrap_or_else(|| run.clone()))
}

/// The artifacts of a run as they stand, with what operators did to them since it ended.
pub async fn artifacts(store: &SharedStore, run: &RunId) -> Result<ArtifactIndex, StoreError> {
    let mut runs = vec![run.clone()];
    runs.extend(operator::about(store, run).await?);
    index(store, &runs).await
}

/// Applies, rejects or reverts a patch of `run`, and all that move with it, in the run's workspace. When
/// this returns, the log says so.
pub async fn act(
    engine: &Engine,
    run: &RunId,
    verb: Verb,
    artifact_id: &str,
    request: &Request,
    caller: &Caller,
) -> Result<Moved, ActError> {
    let store = engine.store();
    let mut moved = Moved::default();
    for _ in 0..ATTEMPTS {
        let scene = Scene::of(store, run).await?;
        let index = artifacts(store, run).await?;
        scene.refuse_if_in_use(store, &index, artifact_id).await?;
        let done = match verb {
            Verb::Apply => apply(store, &scene.workspace().await?, &index, artifact_id, request).await?,
            Verb::Reject => reject(&index, artifact_id, request)?,
            Verb::Revert => {
                let workspace = scene.workspace().await?;
                revert(store, engine.redactor(), &workspace, &index, artifact_id, request).await?
            }
        };
        if done.events.is_empty() {
            // So it was before, or the attempt before this one is in the log now.
            return Ok(Moved { artifact_ids: done.artifact_ids, ..moved });
        }
        let Done { artifact_ids, inverse_ids, events } = done;
        moved = Moved { artifact_ids, inverse_ids, effect: None };
        if scene.is_closed {
            let goal = format!("{} patch {artifact_id} of {run}", verb.as_str());
            moved.effect = write(engine, run, goal, request, events, caller).await?;
            return Ok(moved);
        }
        let record = Command::Record { events: events.into_iter().filter_map(Recorded::of).collect() };
        match command(engine, run, record, caller).await {
            Ok(answer) => {
                moved.effect = Some(answer.effect);
                return Ok(moved);
            }
            // An operator run will say it instead.
            Err(CommandError::Refused(Refusal::Ended)) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Err(ActError::NotRecorded { run: run.clone() })
}

async fn write(
    engine: &Engine,
    run: &RunId,
    goal: String,
    request: &Request,
    events: Vec<Emission>,
    caller: &Caller,
) -> Result<Option<Effect>, OperatorError> {
    let redactor = engine.redactor();
    let told = |event: Emission| {
        let payload = redactor.payload(with_actor(event.payload, caller.actor.as_ref()));
        Emission { payload, ..event }
    };
    let new = OperatorRun {
        about: About::Run(run.clone()),
        goal,
        reason: redactor.text(&request.reason).into_owned(),
        events: events.into_iter().map(told).collect(),
    };
    let key = engine.key().cloned();
    let places = operator::write(engine.store(), new, engine.instance(), key, request.now, caller).await?;
    Ok(places.first().map(|place| Effect::new(&place.run_id, place.seq)))
}

/// Where a run's patches live.
struct Scene {
    run: RunId,
    started: Option<RunStarted>,
    /// Whether nobody may add to its log.
    is_closed: bool,
}

#[derive(Deserialize)]
struct Place {
    path: String,
}

impl Scene {
    async fn of(store: &SharedStore, run: &RunId) -> Result<Self, StoreError> {
        let head = store.head(run).await?.ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
        let first = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
        let started = first.first().and_then(operator::run_started);
        let kind = started.as_ref().and_then(|started| started.run_kind.as_deref());
        // Only its recorder adds to a recorded run.
        let is_closed = head.terminal.is_some() || matches!(kind, Some("recorded" | OPERATOR));
        Ok(Self { run: run.clone(), started, is_closed })
    }

    async fn workspace(&self) -> Result<Workspace, ActError> {
        let place = self.started.as_ref().and_then(|started| json::read::<Place>(started.workspace.as_ref()?));
        let Some(Place { path }) = place else {
            return Err(ActError::UnknownWorkspace { run: self.run.clone() });
        };
        blocking(move || Workspace::open(Path::new(&path)).map_err(|source| ActError::Workspace { path, source })).await
    }

    /// A call that is not over decides itself about its patches.
    async fn refuse_if_in_use(&self, store: &SharedStore, index: &ArtifactIndex, id: &str) -> Result<(), ActError> {
        if self.is_closed {
            return Ok(());
        }
        let state: RunState = load(store, &self.run).await?;
        let call_id = index.get(id).and_then(|artifact| artifact.tool_call_id.as_deref());
        match call_id.and_then(|call_id| state.call(call_id)).filter(|call| Call::is_open(call)) {
            Some(_) => Err(ActError::InUse { id: id.to_owned() }),
            None => Ok(()),
        }
    }
}

/// A patch of a run was not moved.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// The patch or the files do not allow it.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// Its call is not over.
    #[error("patch `{id}` belongs to a call that is not over; answer its request for approval, or wait")]
    InUse {
        /// Which.
        id: String,
    },
    /// Its first event is gone, or never said.
    #[error("where run {run} worked is not known")]
    UnknownWorkspace {
        /// The run.
        run: RunId,
    },
    /// The workspace is gone.
    #[error("the run's workspace {path} cannot be used")]
    Workspace {
        /// Where it was.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The run's history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The open run did not take the events.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// No operator run could be written.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The files are as asked, and the log does not say so.
    #[error("the files are as asked, but the worker of run {run} did not record it; ask again when the run has ended")]
    NotRecorded {
        /// The run.
        run: RunId,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
