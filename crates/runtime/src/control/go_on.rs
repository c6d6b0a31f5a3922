//! Going on from a run: resume, retry, fork.

use std::path::PathBuf;

use r1_event::{Kind, RunId, Seq};

use super::caller::Caller;
use super::create::{Continuation, CreateError, NewRun, Way, create};
use crate::agent::{Budget, RunState};
use crate::engine::Engine;
use crate::history::{HistoryError, load, load_at};
use crate::snapshot::SnapshotError;

/// What may be changed when a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// What to tell the agent.
    pub message: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// Another budget.
    pub budget: Option<Budget>,
    /// Why.
    pub reason: Option<String>,
}

/// Why a run cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum GoOnError {
    /// It is done.
    #[error("run {run} is completed; give a message to go on with it")]
    Completed {
        /// The run.
        run: RunId,
    },
    /// It is open.
    #[error("run {run} has not ended; resume it as it is")]
    StillOpen {
        /// The run.
        run: RunId,
    },
    /// Not an event of the run.
    #[error("run {run} has no event {seq}")]
    NoEvent {
        /// The run.
        run: RunId,
        /// The place given.
        seq: Seq,
    },
    /// The workspace of that moment is not known.
    #[error(
        "run {run} has changed files, and how they were at event {seq} was not saved; \
         fork at a later event, behind a `run.checkpoint_saved`"
    )]
    NoCheckpoint {
        /// The run.
        run: RunId,
        /// The place given.
        seq: Seq,
    },
    /// The workspace cannot be brought back.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The run's history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The new run cannot be made.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// A new run that takes up what `run` left when it failed or was cancelled, in the same workspace.
pub async fn resume(engine: &Engine, run: &RunId, changes: Changes, caller: &Caller) -> Result<RunId, GoOnError> {
    let state = load(engine.store(), run).await?;
    match state.terminal {
        None => return Err(GoOnError::StillOpen { run: run.clone() }),
        Some(Kind::RunCompleted) if changes.message.is_none() => {
            return Err(GoOnError::Completed { run: run.clone() });
        }
        Some(_) => {}
    }
    let seq = state.last;
    Ok(create(engine, successor(state, seq, Way::Resume, changes), true, caller).await?)
}

/// A new run of the same task from its beginning, without what was said since.
pub async fn retry(engine: &Engine, run: &RunId, changes: Changes, caller: &Caller) -> Result<RunId, GoOnError> {
    let state = load(engine.store(), run).await?;
    if state.terminal.is_none() {
        return Err(GoOnError::StillOpen { run: run.clone() });
    }
    let seq = state.last;
    let prompt = state.goal.clone();
    let mut new = successor(state, seq, Way::Retry, changes);
    new.prompt = prompt;
    Ok(create(engine, new, true, caller).await?)
}

/// A new run that shares `run` up to the event `at` and then goes another way, in a workspace of its own.
pub async fn fork(
    engine: &Engine,
    run: &RunId,
    at: Seq,
    workspaces: PathBuf,
    changes: Changes,
    caller: &Caller,
) -> Result<RunId, GoOnError> {
    let state = load_at(engine.store(), run, at).await?;
    if state.last != at {
        return Err(GoOnError::NoEvent { run: run.clone(), seq: at });
    }
    let changed_since = load(engine.store(), run).await?.changed_files;
    let mut new = successor(state.clone(), at, Way::Fork, changes);
    if let Some((checkpoint_id, revision)) = workspace_of(&state, changed_since, run, at)? {
        let path = workspaces.join(crate::world::new_id("ws"));
        engine.snapshots().restore(&revision, &path).await?;
        new.workspace_path = path.to_string_lossy().into_owned();
        new.workspace_mode = "clone".into();
        if let Some(origin) = &mut new.origin {
            origin.checkpoint_id = Some(checkpoint_id);
        }
    }
    Ok(create(engine, new, true, caller).await?)
}

/// The snapshot to fork from; `None` if the run never changed files, so that its own workspace will do.
fn workspace_of(
    state: &RunState,
    changed_since: bool,
    run: &RunId,
    at: Seq,
) -> Result<Option<(String, String)>, GoOnError> {
    let saved = state.checkpoint.as_ref();
    match saved.and_then(|saved| Some((saved.checkpoint_id.clone(), saved.workspace_revision.clone()?))) {
        Some(saved) => Ok(Some(saved)),
        None if changed_since => Err(GoOnError::NoCheckpoint { run: run.clone(), seq: at }),
        None => Ok(None),
    }
}

fn successor(state: RunState, seq: Seq, way: Way, changes: Changes) -> NewRun {
    let mut spec = state.spec.as_ref().clone();
    if let Some(budget) = changes.budget {
        spec.budget = budget;
    }
    let reason = changes.reason.unwrap_or_else(|| "requested".into());
    NewRun {
        prompt: changes.message.unwrap_or_default(),
        title: None,
        spec,
        model: changes.model.unwrap_or(state.model),
        system_prompt: state.system.to_string(),
        workspace_path: state.workspace_path,
        workspace_mode: state.workspace_mode,
        attachments: Vec::new(),
        task_id: state.task_id,
        held: false,
        origin: Some(Continuation {
            run: state.run,
            seq,
            way,
            reason,
            prior_cost_micros_usd: state.spent.task_cost_micros_usd(),
            checkpoint_id: None,
            session_id: state.session_id,
        }),
    }
}
