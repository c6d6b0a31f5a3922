//! Operator runs: what people do outside of agent runs, or to one whose log is closed, in short runs of their own.

use r1_event::payload::{RunCompleted, RunStarted};
use r1_event::side_record::{EventRef, Prune};
use r1_event::{Batch, Chain, ChainError, Payload, Record, RunId, Seq, SideRecord, UnixNanos, Version};
use r1_protocol::{RunFacts, event_id, json};
use r1_receipt::key::SecretKey;
use r1_receipt::{Graph, Node, NodeId};
use r1_store::{Listed, PageLimit, RunFilter, SharedStore, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::caller::Caller;
use super::view;
use crate::agent::command::set_actor;
use crate::emit::Emission;
use crate::engine::Engine;
use crate::index::Index;
use crate::world::{self, NoRandomness};
use crate::writer::{RunWriter, WriterError};

/// The kind of such runs.
pub(crate) const OPERATOR: &str = "operator";

/// What to write down.
#[derive(Debug)]
pub struct OperatorRun {
    /// What it happened to.
    pub about: About,
    /// What was asked for, in a line.
    pub goal: String,
    /// Why.
    pub reason: String,
    /// What happened, without secrets.
    pub events: Vec<Emission>,
}

/// What an operator run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A run, whose log is closed.
    Run(RunId),
    /// A directory: what is known there.
    Workspace(String),
    /// Neither.
    Nothing,
}

/// The place in the log of another run that an operator run begins after.
#[derive(Debug, Deserialize)]
struct Parent {
    run_id: String,
}

/// Writes an operator run, whole and sealed, and says where its events are. A run that it is about is
/// not touched.
pub async fn write(
    store: &SharedStore,
    new: OperatorRun,
    owner: &str,
    key: Option<SecretKey>,
    now: UnixNanos,
    caller: &Caller,
) -> Result<Vec<EventRef>, OperatorError> {
    let OperatorRun { about, goal, reason, events } = new;
    let opening = Opening { about, goal, reason };
    let written = write_with(store, opening, owner, key, now, caller, |pen| {
        events.into_iter().try_for_each(|event| pen.write(event).map(drop))
    });
    written.await
}

/// What an operator run begins and ends with.
#[derive(Debug)]
pub struct Opening {
    /// What it is about.
    pub about: About,
    /// What was asked for, in a line.
    pub goal: String,
    /// Why.
    pub reason: String,
}

/// Writes events one after the other, each knowing what those before it are called in the run's receipt.
#[derive(Debug)]
pub struct Pen {
    batch: Batch,
    graph: Graph,
    places: Vec<EventRef>,
    now: UnixNanos,
}

impl Pen {
    /// Writes an event; gives the name of its node in the receipt, if it has one.
    pub fn write(&mut self, event: Emission) -> Result<Option<NodeId>, ChainError> {
        let Emission { payload, blobs } = event;
        let seq = self.batch.push(self.now, payload)?;
        blobs.into_iter().for_each(|blob| self.batch.reference_blob(seq, blob));
        if let Some(hash) = self.batch.after().head() {
            let run_id = self.batch.after().run().clone();
            self.places.push(EventRef { run_id, seq, ts: self.now, hash });
        }
        Ok(self.tell_graph())
    }

    /// The id of the last event.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        self.batch.after().head().map(|hash| event_id(self.now, hash)).unwrap_or_default()
    }

    fn tell_graph(&mut self) -> Option<NodeId> {
        let step = self.graph.push(self.batch.records().last()?);
        step.nodes.first().map(Node::id)
    }
}

/// As [`write()`], with events that depend on those before them.
pub async fn write_with(
    store: &SharedStore,
    opening: Opening,
    owner: &str,
    key: Option<SecretKey>,
    now: UnixNanos,
    caller: &Caller,
    tell: impl FnOnce(&mut Pen) -> Result<(), ChainError> + Send,
) -> Result<Vec<EventRef>, OperatorError> {
    let mut started = started(store, &opening, owner).await?;
    set_actor(&mut started.extra, caller.actor.as_ref());
    let run = world::new_run_id(now)?;
    let mut writer = RunWriter::open(store.clone(), run.clone(), owner, key).await?;
    let mut batch = Batch::new(&Chain::new(run.clone()));
    batch.push(now, Payload::RunStarted(Box::new(started))).map_err(WriterError::from)?;
    let mut pen = Pen { batch, graph: Graph::default(), places: Vec::new(), now };
    pen.tell_graph();
    tell(&mut pen).map_err(WriterError::from)?;
    let Pen { mut batch, places, .. } = pen;
    let done = RunCompleted { final_text: opening.reason, ..RunCompleted::default() };
    batch.push(now, Payload::RunCompleted(done)).map_err(WriterError::from)?;
    caller.note_in(&mut batch, &run, places.first().map_or(Seq::FIRST, |place| place.seq));
    let written = writer.append_batch(batch).await;
    let closed = writer.close().await;
    written?;
    closed?;
    Ok(places)
}

/// Begins an operator run that stays open, with a first event, and says where that is; `None` if it was begun
/// before.
pub(super) async fn begin(
    engine: &Engine,
    run: &RunId,
    opening: &Opening,
    event: Emission,
    caller: &Caller,
) -> Result<Option<Seq>, OperatorError> {
    let (store, now) = (engine.store(), world::now());
    let mut started = started(store, opening, engine.instance()).await?;
    set_actor(&mut started.extra, caller.actor.as_ref());
    let owner = world::lease_owner(engine.instance());
    let mut writer = RunWriter::open(store.clone(), run.clone(), &owner, engine.key().cloned()).await?;
    let written = async {
        let mut batch = writer.batch();
        if batch.after().size() > 0 {
            return Ok(None);
        }
        batch.push(now, Payload::RunStarted(Box::new(started)))?;
        let seq = batch.push(now, event.payload)?;
        event.blobs.into_iter().for_each(|blob| batch.reference_blob(seq, blob));
        caller.note_in(&mut batch, run, seq);
        writer.append_batch(batch).await.map(|_| Some(seq))
    };
    let written: Result<_, WriterError> = written.await;
    let closed = writer.close().await;
    let seq = written?;
    closed?;
    Ok(seq)
}

/// The operator runs about `run`, the oldest first.
pub async fn about(store: &SharedStore, run: &RunId) -> Result<Vec<RunId>, StoreError> {
    match Index::new(store.clone()).operator_runs_about(run).await {
        // A store that can only be looked at keeps no index up to date.
        Err(StoreError::Backend { .. }) => look_for(store, run).await,
        found => found,
    }
}

/// Walks the listing, and reads the first event of each finished run that began after `run`. The listing's
/// own order is no help, since imports may come in any order.
async fn look_for(store: &SharedStore, run: &RunId) -> Result<Vec<RunId>, StoreError> {
    let begun = store.run(run).await?.ok_or_else(|| StoreError::NoRun { run: run.clone() })?.started_at;
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let filter = RunFilter { finished: Some(true), after, limit: 1000, ..RunFilter::default() };
        let page = store.list(filter).await?;
        let runs = page.entries.into_iter().filter_map(Listed::sound);
        for other in runs.filter(|other| other.version == Version::V2 && other.started_at >= begun) {
            if parent(store, &other.run_id).await?.as_ref() == Some(run) {
                found.push((other.started_at, other.run_id));
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, run)| run).collect())
}

/// The run that `run` is about, if it is an operator run.
pub async fn parent(store: &SharedStore, run: &RunId) -> Result<Option<RunId>, StoreError> {
    let first = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    let started = first.first().and_then(run_started).filter(|started| started.run_kind.as_deref() == Some(OPERATOR));
    let parent = started.and_then(|started| json::read::<Parent>(&started.parent?));
    Ok(parent.and_then(|parent| parent.run_id.parse().ok()))
}

/// What a run's first event says, if it can be read.
pub(crate) fn run_started(first: &Record) -> Option<RunStarted> {
    let place = view::place(first).filter(|place| place.seq == 1)?;
    match Payload::decode(place.kind, first.payload.as_ref()?) {
        Ok(Payload::RunStarted(started)) => Some(*started),
        _ => None,
    }
}

async fn started(store: &SharedStore, new: &Opening, owner: &str) -> Result<RunStarted, StoreError> {
    let started = RunStarted {
        goal: new.goal.clone(),
        provider_id: "none".into(),
        model_id: "none".into(),
        app_version: env!("CARGO_PKG_VERSION").into(),
        run_kind: Some(OPERATOR.into()),
        instance_id: Some(owner.into()),
        ..RunStarted::default()
    };
    Ok(match &new.about {
        About::Run(run) => started_about(store, run, started).await?,
        About::Workspace(path) => {
            let workspace = json::to_raw(&json!({ "path": path, "mode": "none" }));
            RunStarted { workspace: Some(workspace), ..started }
        }
        About::Nothing => started,
    })
}

async fn started_about(store: &SharedStore, run: &RunId, started: RunStarted) -> Result<RunStarted, StoreError> {
    let no_run = || StoreError::NoRun { run: run.clone() };
    let head = store.head(run).await?.ok_or_else(no_run)?;
    let first = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    let side_records = store.side_records(run).await?;
    let facts = facts(first.first(), &side_records).ok_or_else(no_run)?;
    let last = head.next.get() - 1;
    Ok(RunStarted {
        task_id: facts.task_id,
        session_id: facts.session_id,
        workspace: first.first().and_then(run_started).and_then(|started| started.workspace),
        parent: Some(json::to_raw(&json!({ "run_id": run.as_str(), "seq": last }))),
        ..started
    })
}

/// What all events of a run share, also if the first of them was erased or pruned.
fn facts(first: Option<&Record>, side_records: &[SideRecord]) -> Option<RunFacts> {
    if let Some(prune) = Prune::furthest(side_records) {
        return Some(RunFacts::of_prune(prune));
    }
    let erase = side_records.iter().find_map(|record| match record {
        SideRecord::Erase(erased) => Some(erased).filter(|erased| erased.seq == Seq::FIRST),
        SideRecord::Prune(_)
        | SideRecord::Seal(_)
        | SideRecord::Checkpoint(_)
        | SideRecord::Other(_)
        | SideRecord::Damaged(_) => None,
    });
    RunFacts::of_first(first?, erase)
}

/// An operator run was not written.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Its events could not be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// It cannot be named.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
