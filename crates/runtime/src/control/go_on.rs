//! Going on from a run: resume, retry, fork.

use r1_event::{Kind, Payload, RunId, Seq};
use r1_protocol::api::TaskKind;
use r1_protocol::data::{self, EventData, Object};
use r1_store::{LeaseError, Pages, SharedStore, StoreError};

use super::caller::{Caller, Effect};
use super::command::{CommandError, command};
use super::create::{Continuation, CreateError, NewRun, Way, create};
use super::order::own_place;
use super::task::{Kin, Standing, TaskLock};
use crate::agent::command::{Command, TaskChanges};
use crate::agent::{Budget, RunState};
use crate::engine::{Claim, Engine, EngineError};
use crate::history::{HistoryError, load, load_at};
use crate::snapshot::SnapshotError;
use crate::workers::Foreman;
use crate::writer::WriterError;

/// What may be changed when a run goes on.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// What to tell the agent.
    pub message: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// Limits instead of those that the run had; what it leaves out stays.
    pub budget: Option<Budget>,
    /// Why.
    pub reason: Option<String>,
    /// From where, if not from the end.
    pub from: Option<Point>,
}

/// A place in a run to go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A checkpoint, by its id.
    Checkpoint(String),
    /// An event.
    Event(Seq),
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
    /// Another run of its task is open.
    #[error("run {open} of the same task has not ended; there is one at a time")]
    TaskIsOpen {
        /// That run.
        open: RunId,
    },
    /// Someone else makes another run of the task.
    #[error("another run of task {task_id} is being made right now")]
    TaskIsBusy {
        /// The task.
        task_id: String,
    },
    /// Someone works on it.
    #[error("run {run} is being worked on")]
    AtWork {
        /// The run.
        run: RunId,
    },
    /// This process takes no more runs.
    #[error("this node is about to stop and takes no more runs")]
    Draining,
    /// Not an event of the run.
    #[error("run {run} has no event {seq}")]
    NoEvent {
        /// The run.
        run: RunId,
        /// The place given.
        seq: Seq,
    },
    /// Not a checkpoint of the run.
    #[error("run {run} has no checkpoint `{checkpoint_id}`")]
    UnknownCheckpoint {
        /// The run.
        run: RunId,
        /// The id given.
        checkpoint_id: String,
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
    /// The run cannot be taken.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The run did not take what was to be changed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The new run cannot be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A new run that takes up what `run` left when it failed or was cancelled, in the same workspace; from an
/// earlier point, in the workspace as it was then.
pub async fn resume(engine: &Engine, run: &RunId, changes: Changes, caller: &Caller) -> Result<RunId, GoOnError> {
    let state = load(engine.store(), run).await?;
    match state.terminal {
        None => return Err(GoOnError::StillOpen { run: run.clone() }),
        Some(Kind::RunCompleted) if changes.message.is_none() => {
            return Err(GoOnError::Completed { run: run.clone() });
        }
        Some(_) => {}
    }
    let Some(point) = &changes.from else {
        let (seq, budget) = (state.last, changes.budget.clone());
        return make(engine, successor(state, seq, Way::Resume, changes), budget, caller).await;
    };
    let at = match point {
        Point::Event(seq) => *seq,
        Point::Checkpoint(id) => checkpoint(engine.store(), run, id).await?,
    };
    branch(engine, run, at, Way::Resume, changes, caller).await
}

/// Has an open run that nobody works on taken up again, by the workers of this process.
pub async fn reopen(
    engine: &Engine,
    workers: &Foreman,
    run: &RunId,
    changes: Changes,
    caller: &Caller,
) -> Result<Effect, GoOnError> {
    let state = load(engine.store(), run).await?;
    if state.terminal.is_some() || changes.from.is_some() {
        return Err(GoOnError::StillOpen { run: run.clone() });
    }
    // Of what comes before it is taken only the taking is noted: that is what was asked for.
    let quietly = Caller { note: None, ..caller.clone() };
    if let Some(budget) = changes.budget {
        let raise = TaskChanges { budget: Some(budget), ..TaskChanges::default() };
        command(engine, run, Command::Update(raise), &quietly).await?;
    }
    let mut message = changes.message;
    if state.lease.is_none()
        && let Some(text) = message.take()
    {
        let say = Command::Message { text, client_message_id: None, artifact_ids: Vec::new() };
        command(engine, run, say, &quietly).await?;
    }
    let why = Claim { by_operator: true, message, caller: caller.clone() };
    match workers.take(run, why).await {
        Some(Ok(seq)) => Ok(Effect::new(run, seq)),
        Some(Err(EngineError::Writer(WriterError::Lease(LeaseError::Held { .. })))) => {
            Err(GoOnError::AtWork { run: run.clone() })
        }
        Some(Err(err)) => Err(err.into()),
        None => Err(GoOnError::Draining),
    }
}

/// A new run of the same task from its beginning, without what was said since.
pub async fn retry(engine: &Engine, run: &RunId, changes: Changes, caller: &Caller) -> Result<RunId, GoOnError> {
    let state = load(engine.store(), run).await?;
    if state.terminal.is_none() {
        return Err(GoOnError::StillOpen { run: run.clone() });
    }
    let (seq, prompt, budget) = (state.last, state.goal.clone(), changes.budget.clone());
    let mut new = successor(state, seq, Way::Retry, changes);
    new.prompt = prompt;
    if new.workspace_mode != "in_place" {
        let place = own_place(engine.workspaces()).to_string_lossy().into_owned();
        // The model is told where it works.
        new.system_prompt = new.system_prompt.replace(&new.workspace_path, &place);
        new.workspace_path = place;
    }
    make(engine, new, budget, caller).await
}

/// A new run that shares `run` up to the event `at` and then goes another way, in a workspace of its own.
pub async fn fork(
    engine: &Engine,
    run: &RunId,
    at: Seq,
    changes: Changes,
    caller: &Caller,
) -> Result<RunId, GoOnError> {
    branch(engine, run, at, Way::Fork, changes, caller).await
}

async fn branch(
    engine: &Engine,
    run: &RunId,
    at: Seq,
    way: Way,
    changes: Changes,
    caller: &Caller,
) -> Result<RunId, GoOnError> {
    let state = load_at(engine.store(), run, at).await?;
    if state.last != at {
        return Err(GoOnError::NoEvent { run: run.clone(), seq: at });
    }
    let changed_since = load(engine.store(), run).await?.changed_files;
    let budget = changes.budget.clone();
    let mut new = successor(state.clone(), at, way, changes);
    if let Some((checkpoint_id, revision)) = workspace_of(&state, changed_since, run, at)? {
        let path = own_place(engine.workspaces());
        engine.snapshots().restore(&revision, &path).await?;
        new.workspace_path = path.to_string_lossy().into_owned();
        new.workspace_mode = "clone".into();
        if let Some(origin) = &mut new.origin {
            origin.checkpoint_id = Some(checkpoint_id);
        }
    }
    make(engine, new, budget, caller).await
}

/// Makes the run, unless its task has an open one.
async fn make(engine: &Engine, mut new: NewRun, budget: Option<Budget>, caller: &Caller) -> Result<RunId, GoOnError> {
    let wanted = budget.unwrap_or_default();
    let Some(task_id) = new.task_id.clone() else {
        new.spec.budget = new.spec.budget.with(&wanted);
        return Ok(create(engine, new, true, caller).await?);
    };
    let store = engine.store();
    let busy = || GoOnError::TaskIsBusy { task_id: task_id.clone() };
    let lock = TaskLock::take(store, &task_id, engine.instance()).await?.ok_or_else(busy)?;
    let made = async {
        let kin = Kin::of(store, &task_id).await?;
        if let Some(open) = kin.open() {
            return Err(GoOnError::TaskIsOpen { open: open.run.clone() });
        }
        new.number = kin.next_number();
        if let Some(standing) = Standing::of(store, &task_id).await? {
            new.spec.budget = standing.budget;
            if let Some(origin) = &mut new.origin {
                origin.prior_cost_micros_usd = origin.prior_cost_micros_usd.max(standing.cost_micros_usd);
            }
        }
        new.spec.budget = new.spec.budget.with(&wanted);
        Ok(create(engine, new, true, caller).await?)
    };
    let made = made.await;
    lock.release().await?;
    made
}

/// Where a checkpoint was saved.
async fn checkpoint(store: &SharedStore, run: &RunId, checkpoint_id: &str) -> Result<Seq, GoOnError> {
    let mut pages = Pages::of_all(&**store, run);
    while let Some(page) = pages.next().await? {
        for record in &page {
            let read = RunState::read(record);
            let (place, payload) = read.map_err(|source| HistoryError::Fold { run: run.clone(), source })?;
            if let Payload::Typed(typed) = &payload
                && let Some(saved) = data::RunCheckpointSaved::read(typed)
                && saved.checkpoint_id == checkpoint_id
            {
                return Ok(place.seq);
            }
        }
    }
    Err(GoOnError::UnknownCheckpoint { run: run.clone(), checkpoint_id: checkpoint_id.into() })
}

/// The snapshot to go on from; `None` if the run never changed files, so that its own workspace will do.
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
    let spec = state.spec.as_ref().clone();
    let reason = changes.reason.unwrap_or_else(|| "requested".into());
    let planned = [TaskKind::Shell, TaskKind::Git, TaskKind::File];
    let planned = planned.into_iter().find(|kind| kind.as_str() == state.run_kind);
    NewRun {
        kind: planned.unwrap_or_default(),
        // Nobody hears a message without a model.
        prompt: if planned.is_some() { state.goal } else { changes.message.unwrap_or_default() },
        title: Some(state.title).filter(|title| !title.is_empty()),
        spec,
        model: changes.model.unwrap_or(state.model),
        system_prompt: state.system.to_string(),
        workspace_path: state.workspace_path,
        workspace_mode: state.workspace_mode,
        attachments: Vec::new(),
        task_id: state.task_id,
        number: state.number + 1,
        priority: Some(state.priority),
        tags: Object::new(),
        // What goes on with a run belongs to its trace.
        trace_parent: state.trace_parent,
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
