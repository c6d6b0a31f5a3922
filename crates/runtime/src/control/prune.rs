//! Letting go of the beginning of finished runs.

use r1_event::finding::Verdict;
use r1_event::merkle::{Blake3, Frontier, Sha256};
use r1_event::payload::Payload;
use r1_event::side_record::{Prune, RunContext, Trees};
use r1_event::validate::{Options, Validator};
use r1_event::{Digest, Record, RunId, Seq, SideRecord, UnixNanos, Version, cbor};
use r1_receipt::graph::{self, Notes};
use r1_store::{DamagedRun, Listed, PageLimit, RunFilter, SharedStore, StoreError};

use super::check::{self, blocking};
use super::receipt::{RebuildError, notes_of};
use super::view;
use crate::index::Index;
use crate::keys::Keyring;
use crate::source::{Log, Progress, SourceError, StoredRun};

/// One run and how much of it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The run.
    pub run_id: RunId,
    /// The last event that goes.
    pub through: Seq,
    /// How many events go now: those before went earlier.
    pub events: u64,
}

/// What pruning one run through `through`, or as far as possible, would remove.
pub async fn plan(store: &SharedStore, run: &RunId, through: Option<Seq>) -> Result<Plan, PruneError> {
    let summary = store.run(run).await?.ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
    if summary.version == Version::V1 {
        return Err(PruneError::V1 { run: run.clone() });
    }
    if summary.head.terminal.is_none() {
        return Err(PruneError::Open { run: run.clone() });
    }
    let first = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    if first.first().and_then(context_of).is_some_and(|context| context.run_kind.as_deref() == Some("operator")) {
        return Err(PruneError::Operator { run: run.clone() });
    }
    let last = summary.head.next.previous().and_then(Seq::previous);
    let gone = summary.pruned_through.map_or(0, Seq::get);
    let through = match (through, last) {
        (Some(through), Some(last)) if through > last => return Err(PruneError::Terminal { run: run.clone(), last }),
        (None, None) | (Some(_), None) => return Err(PruneError::Nothing { run: run.clone() }),
        (Some(through), _) => through,
        (None, Some(last)) => last,
    };
    match through.get().checked_sub(gone) {
        None | Some(0) => Err(PruneError::Nothing { run: run.clone() }),
        Some(events) => Ok(Plan { run_id: run.clone(), through, events }),
    }
}

/// What pruning all runs of an age would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanOlder {
    /// Of each run that has something to remove.
    pub plans: Vec<Plan>,
    /// Entries that may be as old, and cannot be pruned because they cannot be read.
    pub damaged: Vec<DamagedRun>,
}

/// What pruning all runs that ended before `before` would remove. Runs whose logs hold lasting memory stay.
pub async fn plan_older(store: &SharedStore, before: UnixNanos) -> Result<PlanOlder, PruneError> {
    let mut older = PlanOlder::default();
    let mut after = None;
    let index = Index::new(store.clone());
    loop {
        let filter =
            RunFilter { finished: Some(true), updated_before: Some(before), after, limit: 500, ..RunFilter::default() };
        let page = store.list(filter).await?;
        for entry in page.entries {
            let run = match entry {
                Listed::Run(summary) => summary.run_id,
                Listed::Damaged(entry) => {
                    older.damaged.push(entry);
                    continue;
                }
            };
            match plan(store, &run, None).await {
                Ok(plan) => {
                    // What a workspace knows is not too old because nobody learned it anew.
                    if !index.holds_memory(&plan.run_id).await? {
                        older.plans.push(plan);
                    }
                }
                Err(PruneError::Nothing { .. } | PruneError::V1 { .. } | PruneError::Operator { .. }) => {}
                Err(err) => return Err(err),
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(older),
        }
    }
}

/// Removes what a plan names. The run is checked first: what is left could not show a fault of what went.
pub async fn prune(
    store: &SharedStore,
    plan: &Plan,
    keyring: &Keyring,
    reason: &str,
    now: UnixNanos,
    progress: Progress,
) -> Result<(), PruneError> {
    let verdict = check::check_run(store, &plan.run_id, keyring, progress).await?;
    if verdict.is_corrupt() {
        return Err(PruneError::Corrupt(Box::new(verdict)));
    }
    let log = Log::Stored(StoredRun::open(store.clone(), plan.run_id.clone()).await?);
    // Without the graph of what went before, nobody can make a receipt of what is left either.
    let notes = match notes_of(&log, Some(store)).await {
        Ok(notes) => Some(notes),
        Err(RebuildError::PrunedBlindly { .. }) => None,
        Err(RebuildError::Source(err)) => return Err(err.into()),
    };
    let (run, through, reason) = (plan.run_id.clone(), plan.through, reason.to_owned());
    let cut = blocking(move || Cut::at(&log, notes, run, through)).await?;
    let record = cut.into_record(reason, now).ok_or_else(|| PruneError::Nothing { run: plan.run_id.clone() })?;
    store.prune(record).await?;
    Ok(Index::new(store.clone()).forget(&plan.run_id).await?)
}

/// A log at the place where it is cut.
struct Cut {
    run: RunId,
    last_hash: Option<Digest>,
    tree: Frontier<Blake3>,
    tree_sha256: Frontier<Sha256>,
    context: RunContext,
    open_turn: Option<String>,
    open_calls: Vec<(String, u32, Seq)>,
    graph: Option<cbor::Value>,
}

impl Cut {
    fn at(log: &Log, notes: Option<Notes>, run: RunId, through: Seq) -> Result<Self, PruneError> {
        let mut cut = Self::start(log.side_records(), run);
        let mut graph = notes.map(|notes| graph::Cut::new(notes, through.get()));
        let side_records = log.side_records().to_vec();
        let mut validator = Validator::new(Options { side_records, ..Options::default() });
        for page in log.pages() {
            for record in page? {
                if cut.tree.size() < through.get() {
                    cut.step(&record);
                    validator.push(&record);
                }
                // What is kept of the graph depends on what comes behind the cut.
                graph.iter_mut().for_each(|graph| graph.push(&record));
            }
        }
        (cut.open_turn, cut.open_calls) = validator.open();
        cut.graph = graph.map(graph::Cut::finish);
        Ok(cut)
    }

    fn start(side_records: &[SideRecord], run: RunId) -> Self {
        let mut cut = Self {
            run,
            last_hash: None,
            tree: Frontier::default(),
            tree_sha256: Frontier::default(),
            context: RunContext::default(),
            open_turn: None,
            open_calls: Vec::new(),
            graph: None,
        };
        if let Some(prune) = Prune::furthest(side_records) {
            cut.last_hash = Some(prune.last_hash);
            cut.tree = prune.trees.blake3().clone();
            cut.tree_sha256 = prune.trees.sha256().clone();
            cut.context = prune.context.clone();
        }
        // What an erasure of the first event kept of it is all there is.
        let kept = side_records.iter().rev().find_map(|record| match record {
            SideRecord::Erase(erase) => erase.context.clone(),
            SideRecord::Prune(_)
            | SideRecord::Seal(_)
            | SideRecord::Checkpoint(_)
            | SideRecord::Other(_)
            | SideRecord::Damaged(_) => None,
        });
        cut.context = kept.unwrap_or(cut.context);
        cut
    }

    fn step(&mut self, record: &Record) {
        self.last_hash = Some(record.hash());
        self.tree.push(record.leaf());
        self.tree_sha256.push(record.leaf_sha256());
        if self.tree.size() == 1 {
            self.context = context_of(record).unwrap_or_else(|| self.context.clone());
        }
    }

    /// `None` if there are no events before the cut.
    fn into_record(self, reason: String, pruned_at: UnixNanos) -> Option<Prune> {
        Some(Prune {
            run_id: self.run,
            last_hash: self.last_hash?,
            trees: Trees::new(self.tree, self.tree_sha256)?,
            pruned_at,
            reason,
            context: self.context,
            open_turn: self.open_turn,
            open_calls: self.open_calls,
            graph: self.graph,
        })
    }
}

/// What projections need of a run's first event.
pub(crate) fn context_of(first: &Record) -> Option<RunContext> {
    let place = view::place(first)?;
    match Payload::decode(place.kind, first.payload.as_ref()?) {
        Ok(Payload::RunStarted(body)) => {
            Some(RunContext { task_id: body.task_id, session_id: body.session_id, run_kind: body.run_kind })
        }
        _ => None,
    }
}

/// A run was not pruned.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// It goes on.
    #[error("run {run} is open; only finished runs are pruned")]
    Open {
        /// The run.
        run: RunId,
    },
    /// Starling could no longer check what is left.
    #[error("run {run} is a v1 log; only v2 logs can be pruned and still be checked")]
    V1 {
        /// The run.
        run: RunId,
    },
    /// It says who erased what, and why: other runs' verdicts rest on it.
    #[error("run {run} is the record of an operator's action, which is kept")]
    Operator {
        /// The run.
        run: RunId,
    },
    /// Its last event stays.
    #[error("the terminal event of run {run} stays; it can be pruned through {last} at most")]
    Terminal {
        /// The run.
        run: RunId,
        /// The last event that can go.
        last: Seq,
    },
    /// There is nothing left to go.
    #[error("nothing of run {run} is left to prune there")]
    Nothing {
        /// The run.
        run: RunId,
    },
    /// Its log does not hold.
    #[error("the log of run {} is corrupt; it was left as it is, so that the fault can still be seen", .0.run_id)]
    Corrupt(Box<Verdict>),
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
