//! Tasks: something that is to be done, in one run or several.
//!
//! A task is no record of its own. It comes into being with its first run and is a fold over its runs.

mod kin;
mod wish;

use r1_event::RunId;
use r1_protocol::api::{ErrorDetail, NewTask, PatchTask};
use r1_store::StoreError;
use serde_json::Value;

use super::beacon;
use super::caller::{Caller, Effect, Role};
use super::command::{Answer, CommandError, command};
use super::create::{CreateError, create};
use super::go_on::{self, Changes, GoOnError};
use super::operator::{self, About, OperatorError, OperatorRun};
use super::order::{self, OrderError, Shop};
use super::receipt::RebuildError;
use crate::agent::command::{Command, Recorded, Refusal, TaskChanges, raised, updated};
use crate::config::ConfigError;
use crate::emit::Emission;
use crate::engine::Engine;
use crate::history::HistoryError;
use crate::world;

pub(crate) use kin::{Kin, Standing, TaskLock};

/// Makes a task and its first run, which is in the queue when this returns, unless it is held back.
pub async fn make(
    engine: &Engine,
    shop: &Shop,
    wanted: NewTask,
    trace_parent: Option<String>,
    caller: &Caller,
) -> Result<RunId, TaskError> {
    let wish = wish::Wish::read(wanted, &shop.directory).map_err(TaskError::Invalid)?;
    let mut config = shop.settings(wish.workspace())?.config;
    let order = wish.order(&mut config, trace_parent).map_err(TaskError::Invalid)?;
    let (new, _) = order.new_run(&config, &shop.machine, engine.workspaces()).await?;
    let allow_unknown_price = order::allows_unknown_price(&config, &new);
    Ok(create(engine, new, allow_unknown_price, caller).await?)
}

/// Changes fields of a task: in the log of its open run, or in an operator run about its last one.
pub async fn change(engine: &Engine, task_id: &str, wanted: PatchTask, caller: &Caller) -> Result<Effect, TaskError> {
    let changes = wish::changes(wanted).map_err(TaskError::Invalid)?;
    loop {
        let kin = Kin::of(engine.store(), task_id).await?;
        let last = kin.last().ok_or_else(|| TaskError::Unknown { task_id: task_id.into() })?;
        if !last.is_open {
            return record(engine, task_id, &last.run, changes, caller).await;
        }
        match command(engine, &last.run, Command::Update(changes.clone()), caller).await {
            Ok(answer) => return Ok(answer.effect),
            // It ended meanwhile: the next look says so.
            Err(CommandError::Refused(Refusal::Ended)) => {}
            Err(err) => return Err(err.into()),
        }
    }
}

/// Writes what changes into an operator run about `run`, whose log is closed.
async fn record(
    engine: &Engine,
    task_id: &str,
    run: &RunId,
    mut changes: TaskChanges,
    caller: &Caller,
) -> Result<Effect, TaskError> {
    let redactor = engine.redactor();
    if let Some(wanted) = &changes.budget {
        let unknown = || TaskError::Unknown { task_id: task_id.into() };
        let standing = Standing::of(engine.store(), task_id).await?.ok_or_else(unknown)?;
        changes.budget = Some(raised(&standing.budget, wanted).map_err(CommandError::Refused)?);
    }
    let new = OperatorRun {
        about: About::Run(run.clone()),
        goal: format!("change the task of {run}"),
        reason: "requested".into(),
        events: vec![Emission::plain(redactor.payload(updated(&changes, caller.actor.as_ref())))],
    };
    let key = engine.key().cloned();
    let places = operator::write(engine.store(), new, engine.instance(), key, world::now(), caller).await?;
    let place = places.first().ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
    Ok(Effect::new(&place.run_id, place.seq))
}

/// Lets a task begin: releases its held run, leaves an open one as it is, or tries again.
pub async fn start(engine: &Engine, task_id: &str, caller: &Caller) -> Result<Answer, TaskError> {
    loop {
        let kin = Kin::of(engine.store(), task_id).await?;
        let last = kin.last().ok_or_else(|| TaskError::Unknown { task_id: task_id.into() })?;
        if !last.is_open {
            let run = go_on::retry(engine, &last.run, Changes::default(), caller).await?;
            return Ok(Answer { effect: Effect::new(&run, r1_event::Seq::FIRST), was_so: false });
        }
        match command(engine, &last.run, Command::Release { by: "operator".into() }, caller).await {
            Err(CommandError::Refused(Refusal::Ended)) => {}
            answer => return Ok(answer?),
        }
    }
}

/// Adds an event from outside to an open run: `external.…`, or what a bridge may tell.
pub async fn tell(
    engine: &Engine,
    run: &RunId,
    event: r1_protocol::api::ExternalEvent,
    caller: &Caller,
) -> Result<Effect, TaskError> {
    let (type_name, data) = wish::external(event, caller)?;
    let event = match caller.role {
        Role::Operator => Recorded { type_name, data: Value::Object(data), blobs: Vec::new() },
        Role::Bridge => beacon::told(engine.store(), Some(run), type_name, data, caller).await?,
    };
    Ok(command(engine, run, Command::Record { events: vec![event] }, caller).await?.effect)
}

/// Why nothing came of what was asked of a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The request is not as it must be.
    #[error("{}", .0.first().map_or_else(String::new, |detail| format!("{}: {}", detail.path, detail.reason)))]
    Invalid(Vec<ErrorDetail>),
    /// No such task.
    #[error("there is no task {task_id}")]
    Unknown {
        /// The id given.
        task_id: String,
    },
    /// Only R1 writes such events.
    #[error(
        "events of type `{type_name}` are written by R1 itself; from outside only `external.…` are taken, and from \
         bridges what happens at their beacons"
    )]
    Reserved {
        /// The type given.
        type_name: String,
    },
    /// What is wanted cannot be had.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The settings cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No run could be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The run did not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The run's history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// What a bridge points at cannot be looked up.
    #[error(transparent)]
    Ledger(#[from] RebuildError),
    /// It cannot begin again.
    #[error(transparent)]
    GoOn(#[from] GoOnError),
    /// It could not be written down.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
