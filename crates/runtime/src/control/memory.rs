//! What operators do with memory.
//!
//! What belongs to a workspace is written in operator runs; what belongs to an open task goes into the log of its
//! run, whoever works on it.

use std::path::Path;

use r1_event::{Payload, RunId};
use r1_protocol::data::{EventData, MemoryBy, MemoryWrite};
use r1_store::{Pages, SharedStore, StoreError};

use super::caller::{Caller, Effect};
use super::command::{CommandError, command};
use super::operator::{self, About, OperatorError, OperatorRun};
use super::task::Kin;
use crate::agent::RunState;
use crate::agent::command::{Command, Recorded, Refusal, with_actor};
use crate::emit::Emission;
use crate::engine::Engine;
use crate::history::{HistoryError, load};
use crate::index::{Index, Written};
use crate::memory::{
    self, Access, Entry, Found, Learned, Library, Listed, MemoryError, Tier, Value, fetch, hold, read_event,
    write_event,
};
use crate::world;

/// Whose memory: what outlives tasks is a workspace's, all else is that of a run's task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A directory.
    Workspace(String),
    /// The task of this run.
    Run(RunId),
}

impl Owner {
    /// The directory at this path.
    #[must_use]
    pub fn workspace(path: &Path) -> Self {
        Self::Workspace(path.to_string_lossy().into_owned())
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its key; of an alias the key that it stands for.
    pub key: String,
    /// What stands there.
    pub value: Value,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// The key.
    pub key: String,
    /// The event that tells of it.
    pub effect: Effect,
}

/// The keys of a tier that begin so.
pub async fn list(store: &SharedStore, owner: &Owner, tier: Tier, prefix: &str) -> Result<Vec<Listed>, OperateError> {
    match place(owner, tier)? {
        Place::Lasting(workspace) => Ok(library(Index::new(store.clone()), workspace).list(tier, prefix).await?),
        Place::Task(run) => {
            let state = load(store, run).await?;
            let entries = state.memory.entries(tier).into_iter().filter(|(key, _)| key.starts_with(prefix));
            Ok(entries.map(|(key, entry)| listed(key, entry)).collect())
        }
    }
}

/// What stands under a key. That it was read is recorded before it is given.
pub async fn get(
    engine: &Engine,
    owner: &Owner,
    tier: Tier,
    key: &str,
    caller: &Caller,
) -> Result<Option<Read>, OperateError> {
    let access = |key| Access { tier, key, by: &MemoryBy::Operator, call_id: None };
    let (events, about, found) = match place(owner, tier)? {
        Place::Lasting(workspace) => {
            let library = library(engine.index().clone(), workspace);
            let found = match tier {
                Tier::L3 => library.find(key).await?,
                _ => library.get(tier, key).await?.map(|entry| Found {
                    alias: None,
                    key: key.to_owned(),
                    entry: Some(entry),
                }),
            };
            let events = match &found {
                None => vec![read_event(access(key), None)],
                Some(Found { alias, key, entry }) => {
                    let alias = alias.iter().map(|(alias, target)| read_event(access(alias), Some(target)));
                    alias.chain([read_event(access(key), entry.as_ref())]).collect()
                }
            };
            let found = found.and_then(|found| Some((found.key, found.entry?)));
            (events, About::Workspace(workspace.to_owned()), found)
        }
        Place::Task(run) => {
            let state = load(engine.store(), run).await?;
            let entry = state.memory.get(tier, key).map(|entry| entry.as_ref().clone());
            let events = vec![read_event(access(key), entry.as_ref())];
            (events, About::Run(run.clone()), entry.map(|entry| (key.to_owned(), entry)))
        }
    };
    record(engine, about, format!("read {tier} `{key}`"), events, caller).await?;
    match found {
        None => Ok(None),
        Some((key, Entry { held, .. })) => Ok(Some(Read { key, value: fetch(engine.store(), &held).await? })),
    }
}

/// Puts something into memory. In L3 the key follows from the value, and an alias may be given.
pub async fn set(
    engine: &Engine,
    owner: &Owner,
    tier: Tier,
    key: Option<&str>,
    value: Value,
    alias: Option<&str>,
    caller: &Caller,
) -> Result<Wrote, OperateError> {
    let value = value.without_secrets(engine.redactor());
    let clean = |text: &str| engine.redactor().text(text).into_owned();
    let (key, alias) = (key.map(clean), alias.map(clean));
    if alias.is_some() && tier != Tier::L3 {
        return Err(MemoryError::NoAliases.into());
    }
    match (place(owner, tier)?, tier, key) {
        (Place::Lasting(_), Tier::L3, Some(_)) => Err(MemoryError::KeyGiven.into()),
        (Place::Lasting(workspace), Tier::L3, None) => {
            let library = library(engine.index().clone(), workspace);
            let learned = library.learn(&value, alias.as_deref(), &MemoryBy::Operator, None).await?;
            let Learned { key, events, was_known: _ } = learned;
            let goal = format!("remember {key} in L3");
            let effect = record(engine, About::Workspace(workspace.to_owned()), goal, events, caller).await?;
            Ok(Wrote { key, effect })
        }
        (_, _, None) => Err(MemoryError::NoKey { tier }.into()),
        (Place::Lasting(workspace), _, Some(key)) => {
            let effect = identify(engine, workspace, &key, Some(&value), caller).await?;
            Ok(Wrote { key, effect })
        }
        (Place::Task(run), _, Some(key)) => {
            memory::check_key(&key)?;
            memory::check_size(tier, value.bytes().len())?;
            let effect = write(engine, run, tier, &key, Some(&value), caller).await?;
            Ok(Wrote { key, effect })
        }
    }
}

/// Takes something out of memory; of L3 with all aliases that lead there.
pub async fn remove(
    engine: &Engine,
    owner: &Owner,
    tier: Tier,
    key: &str,
    caller: &Caller,
) -> Result<Wrote, OperateError> {
    let effect = match place(owner, tier)? {
        Place::Lasting(workspace) if tier == Tier::L3 => {
            let events = library(engine.index().clone(), workspace).forget(key, &MemoryBy::Operator).await?;
            let about = About::Workspace(workspace.to_owned());
            record(engine, about, format!("forget {tier} `{key}`"), events, caller).await?
        }
        Place::Lasting(workspace) => identify(engine, workspace, key, None, caller).await?,
        Place::Task(run) => write(engine, run, tier, key, None, caller).await?,
    };
    Ok(Wrote { key: key.to_owned(), effect })
}

/// Every write of a key, the oldest first.
pub async fn history(store: &SharedStore, owner: &Owner, tier: Tier, key: &str) -> Result<Vec<Written>, OperateError> {
    match place(owner, tier)? {
        Place::Lasting(workspace) => {
            let known = library(Index::new(store.clone()), workspace).history(tier, key).await?;
            Ok(known.map(|known| known.writes).unwrap_or_default())
        }
        Place::Task(run) => of_log(store, run, tier, key).await,
    }
}

/// Where a tier is kept.
enum Place<'a> {
    Lasting(&'a str),
    Task(&'a RunId),
}

fn place(owner: &Owner, tier: Tier) -> Result<Place<'_>, OperateError> {
    match (owner, tier.outlives_tasks()) {
        (Owner::Workspace(workspace), true) => Ok(Place::Lasting(workspace)),
        (Owner::Run(run), false) => Ok(Place::Task(run)),
        (Owner::Workspace(_), false) => Err(OperateError::NeedsRun { tier }),
        (Owner::Run(_), true) => Err(OperateError::NeedsWorkspace { tier }),
    }
}

fn library(index: Index, workspace: &str) -> Library {
    Library::new(index, workspace)
}

fn listed(key: &str, entry: &Entry) -> Listed {
    let (fingerprint, size) = (entry.fingerprint.to_string(), entry.held.size());
    Listed { key: key.to_owned(), fingerprint, size, target: None }
}

async fn identify(
    engine: &Engine,
    workspace: &str,
    key: &str,
    value: Option<&Value>,
    caller: &Caller,
) -> Result<Effect, OperateError> {
    let library = library(engine.index().clone(), workspace);
    if let Some(run) = library.open_run().await? {
        return Err(MemoryError::AppendOnly { run }.into());
    }
    let event = library.identify(key, value, &MemoryBy::Operator).await?;
    let verb = if value.is_some() { "set" } else { "delete" };
    record(engine, About::Workspace(workspace.to_owned()), format!("{verb} L0 `{key}`"), vec![event], caller).await
}

/// Writes to the memory of an open task, in the log of the run that is not over: `run`, or one that came after it.
async fn write(
    engine: &Engine,
    run: &RunId,
    tier: Tier,
    key: &str,
    value: Option<&Value>,
    caller: &Caller,
) -> Result<Effect, OperateError> {
    let held = match value {
        Some(value) => Some(hold(engine.store(), value).await?),
        None => None,
    };
    let mut run = run.clone();
    loop {
        let state = load(engine.store(), &run).await?;
        if state.terminal.is_some() {
            run = open_run(engine.store(), &state).await?.ok_or(OperateError::ReadOnly { run })?;
            continue;
        }
        let old = match state.memory.get(tier, key) {
            Some(entry) => Some(fetch(engine.store(), &entry.held).await?),
            None if value.is_none() => return Err(MemoryError::Missing { tier, key: key.to_owned() }.into()),
            None => None,
        };
        let access = Access { tier, key, by: &MemoryBy::Operator, call_id: None };
        let event = write_event(access, old.as_ref(), value, held.as_ref());
        let events = Recorded::of(event).into_iter().collect();
        match command(engine, &run, Command::Record { events }, caller).await {
            Ok(answer) => return Ok(answer.effect),
            // The agent was faster: what is under the key now is looked at again.
            Err(CommandError::Refused(Refusal::MemoryMoved | Refusal::Ended)) => {}
            Err(CommandError::Refused(Refusal::Recorded)) => return Err(OperateError::ReadOnly { run }),
            Err(err) => return Err(err.into()),
        }
    }
}

/// The run of the same task that is not over.
async fn open_run(store: &SharedStore, ended: &RunState) -> Result<Option<RunId>, StoreError> {
    let Some(task_id) = &ended.task_id else { return Ok(None) };
    let kin = Kin::of(store, task_id).await?;
    Ok(kin.open().map(|open| open.run.clone()).filter(|open| *open != ended.run))
}

async fn record(
    engine: &Engine,
    about: About,
    goal: String,
    events: Vec<Emission>,
    caller: &Caller,
) -> Result<Effect, OperateError> {
    let actor = caller.actor.as_ref();
    let signed = |Emission { payload, blobs }| Emission { payload: with_actor(payload, actor), blobs };
    let events: Vec<_> = events.into_iter().map(signed).collect();
    let new = OperatorRun { about, goal, reason: "requested".into(), events };
    let key = engine.key().cloned();
    let places = operator::write(engine.store(), new, engine.instance(), key, world::now(), caller).await?;
    let place = places.first().ok_or(OperateError::Nothing)?;
    Ok(Effect::new(&place.run_id, place.seq))
}

async fn of_log(store: &SharedStore, run: &RunId, tier: Tier, key: &str) -> Result<Vec<Written>, OperateError> {
    let mut found = Vec::new();
    let mut pages = Pages::of_all(&**store, run);
    while let Some(page) = pages.next().await? {
        for record in &page {
            // What was erased says nothing any more.
            let Ok((at, Payload::Typed(typed))) = RunState::read(record) else { continue };
            let Some(write) = MemoryWrite::read(&typed).filter(|write| write.key == key) else { continue };
            if Tier::of(&write.tier, &write.store) == Some(tier) {
                found.push(Written::new(run, at.seq, at.ts, write));
            }
        }
    }
    Ok(found)
}

/// Why an operator's wish was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    /// The tier belongs to tasks.
    #[error("{tier} belongs to a task; say which run is meant")]
    NeedsRun {
        /// The tier.
        tier: Tier,
    },
    /// The tier belongs to workspaces.
    #[error("{tier} belongs to a workspace, not to one of its runs")]
    NeedsWorkspace {
        /// The tier.
        tier: Tier,
    },
    /// The task is over.
    #[error("the task of run {run} has ended; what it remembers can only be read")]
    ReadOnly {
        /// The run.
        run: RunId,
    },
    /// No event was written.
    #[error("nothing was recorded")]
    Nothing,
    /// The memory does not take it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The run does not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The run cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// It could not be written down.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
