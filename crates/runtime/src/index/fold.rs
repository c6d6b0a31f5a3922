//! Folding events into documents: a part of the feed at a time, or the logs of a few runs anew.

use std::collections::{BTreeSet, HashMap};

use r1_event::payload::Typed;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Payload, Record, RunId, Seq, SideRecord, UnixNanos};
use r1_protocol::data::{EventData, MemoryWrite, RedactionApplied, TaskUpdated};
use r1_store::{DocumentChange, PageLimit, Pages, SharedStore, StoreError};

use super::approval::{ApprovalEntry, Word};
use super::artifact::ArtifactEntry;
use super::drawer::Drawer;
use super::event::{Event, Place, Said};
use super::memory::Remembered;
use super::origin;
use super::run::{Opening, Prompt, RunEntry};
use super::task::TaskEntry;
use crate::artifact::view::ArtifactView;
use crate::memory::Tier;

/// What became of the documents that some events speak of.
pub(super) struct Fold<'a> {
    pub(super) store: &'a SharedStore,
    pub(super) runs: Drawer<RunEntry>,
    pub(super) prompts: Drawer<Prompt>,
    pub(super) tasks: Drawer<TaskEntry>,
    pub(super) approvals: Drawer<ApprovalEntry>,
    pub(super) artifacts: Drawer<ArtifactEntry>,
    pub(super) memories: Drawer<Remembered>,
    /// Runs that got something new.
    grown: BTreeSet<RunId>,
    /// Sequences that were redacted, by run, as far as these events and their documents tell.
    pub(super) redacted: HashMap<RunId, BTreeSet<u64>>,
    erasures: HashMap<RunId, HashMap<Seq, Erase>>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(store: &'a SharedStore) -> Self {
        Self {
            store,
            runs: Drawer::default(),
            prompts: Drawer::default(),
            tasks: Drawer::default(),
            approvals: Drawer::default(),
            artifacts: Drawer::default(),
            memories: Drawer::default(),
            grown: BTreeSet::new(),
            redacted: HashMap::new(),
            erasures: HashMap::new(),
        }
    }

    /// Takes the next event of a run; one that is known already changes nothing.
    pub(super) async fn apply(&mut self, run: &RunId, record: &Record) -> Result<(), StoreError> {
        let Some(place) = Place::of(record) else { return Ok(()) };
        let known = self.runs.get(self.store, run.as_str()).await?;
        if known.is_some_and(|entry| place.seq.get() <= entry.through) {
            return Ok(());
        }
        let is_new = known.is_none();
        let is_redacted = self.redacted.get(run).is_some_and(|seqs| seqs.contains(&(place.seq.get() - 1)));
        let event = self.read(run, place, record, is_redacted).await?;
        if is_new {
            self.begin(run, &event).await?;
        }
        if !self.grown.contains(run) {
            self.grown.insert(run.clone());
        }
        let Some(entry) = self.runs.get_mut(self.store, run.as_str()).await? else { return Ok(()) };
        let open = if event.kind.is_terminal() { std::mem::take(&mut entry.pending) } else { Vec::new() };
        if let Some(typed) = event.typed() {
            self.typed(run, event.seq, event.at, typed).await?;
        }
        if let Some(entry) = self.runs.get_mut(self.store, run.as_str()).await? {
            entry.apply(&event);
        }
        for approval_id in open {
            if let Some(entry) = self.approvals.get_mut(self.store, &approval_id).await? {
                entry.cancel(event.at);
            }
        }
        Ok(())
    }

    /// Reads all that the log of `run` has and the index has not.
    pub(super) async fn read_log(&mut self, run: &RunId) -> Result<(), StoreError> {
        let through = self.runs.get(self.store, run.as_str()).await?.map_or(0, |entry| entry.through);
        let next = Seq::new(through + 1).unwrap_or(Seq::FIRST);
        let mut pages = Pages::new(&**self.store, run, next, PageLimit::BULK);
        while let Some(page) = pages.next().await? {
            for record in &page {
                self.apply(run, record).await?;
            }
        }
        Ok(())
    }

    /// Brings the tasks up to what their runs are now. Once, after all events.
    pub(super) async fn settle(&mut self) -> Result<(), StoreError> {
        for run in std::mem::take(&mut self.grown) {
            let Some(entry) = self.runs.get_mut(self.store, run.as_str()).await? else { continue };
            let Some(task_id) = entry.run.task_id.clone() else { continue };
            let task = match self.tasks.get_mut(self.store, &task_id).await? {
                Some(task) => task,
                None => self.tasks.put(&task_id, TaskEntry::new(&task_id)),
            };
            task.count(entry);
        }
        Ok(())
    }

    /// What is to be written.
    pub(super) fn into_changes(self) -> Vec<DocumentChange> {
        let mut changes: Vec<_> = self.runs.into_changes().collect();
        changes.extend(self.prompts.into_changes());
        changes.extend(self.tasks.into_changes());
        changes.extend(self.approvals.into_changes());
        changes.extend(self.artifacts.into_changes());
        changes.extend(self.memories.into_changes());
        changes
    }

    async fn read(&mut self, run: &RunId, place: Place, record: &Record, hide: bool) -> Result<Event, StoreError> {
        let is_erased = record.version() == Some(r1_event::Version::V2) && record.payload.is_none();
        if !is_erased && !hide {
            return Ok(Event::read(place, record));
        }
        if !self.erasures.contains_key(run) {
            let erasures = erasures(self.store, run).await?;
            self.erasures.insert(run.clone(), erasures);
        }
        let erase = self.erasures.get(run).and_then(|erasures| erasures.get(&place.seq));
        Ok(Event::erased(place, record, erase))
    }

    async fn begin(&mut self, run: &RunId, event: &Event) -> Result<(), StoreError> {
        let (mut entry, opening) = match event.payload() {
            Some(Payload::RunStarted(started)) if event.seq == Seq::FIRST => RunEntry::begin(run, event, started),
            _ => (self.without_beginning(run, event).await?, Opening::default()),
        };
        if let Some((source, seq)) = &opening.origin {
            entry.continue_from(origin::progress(self.store, source, *seq).await?);
        }
        if !opening.goal.is_empty() {
            self.prompts.put(run.as_str(), Prompt::new(&entry, &opening.goal));
        }
        if let Some(task_id) = entry.run.task_id.clone().filter(|_| entry.is_own_of_task()) {
            let task = match self.tasks.get_mut(self.store, &task_id).await? {
                Some(task) => task,
                None => self.tasks.put(&task_id, TaskEntry::new(&task_id)),
            };
            // A run that goes on without a word of its own is called what its task is called.
            if opening.title.is_none() && opening.goal.is_empty() {
                entry.run.title = task.title().unwrap_or_default().to_owned();
            }
            task.begin_run(&entry, opening);
            entry.run.number.get_or_insert(task.run_count);
        }
        entry.redacted = self.redacted.get(run).cloned().unwrap_or_default();
        self.runs.put(run.as_str(), entry);
        Ok(())
    }

    /// A run whose first event was pruned or erased.
    async fn without_beginning(&self, run: &RunId, event: &Event) -> Result<RunEntry, StoreError> {
        let started_at = match self.store.run(run).await {
            Ok(summary) => summary.map_or(event.at, |summary| summary.started_at),
            // Its log goes on, and so do those of others.
            Err(StoreError::Damaged { .. }) => event.at,
            Err(err) => return Err(err),
        };
        if let (Seq::FIRST, Said::Erased(left)) = (event.seq, &event.said) {
            return Ok(RunEntry::of_context(run, event, started_at, left.context.clone().unwrap_or_default()));
        }
        let beside = self.store.side_records(run).await?;
        let context = Prune::furthest(&beside).map(|prune| prune.context.clone());
        Ok(RunEntry::of_context(run, event, started_at, context.unwrap_or_default()))
    }

    async fn typed(&mut self, run: &RunId, seq: Seq, at: UnixNanos, typed: &Typed) -> Result<(), StoreError> {
        if let Some(word) = Word::of(typed) {
            return self.approval(run, at, word).await;
        }
        if let Some(artifact_id) = ArtifactView::subject(typed) {
            let Some(entry) = self.runs.get(self.store, run.as_str()).await? else { return Ok(()) };
            let artifact = match self.artifacts.get_mut(self.store, &artifact_id).await? {
                Some(artifact) => artifact,
                None => self.artifacts.put(&artifact_id, ArtifactEntry::new(&artifact_id)),
            };
            artifact.apply(run, entry, at, typed);
            return Ok(());
        }
        if let Some(write) = MemoryWrite::read(typed) {
            return self.remember(run, seq, at, write).await;
        }
        if let Some(updated) = TaskUpdated::read(typed) {
            let entry = self.runs.get(self.store, run.as_str()).await?;
            let Some(task_id) = entry.and_then(|entry| entry.run.task_id.clone()) else { return Ok(()) };
            let task = match self.tasks.get_mut(self.store, &task_id).await? {
                Some(task) => task,
                None => self.tasks.put(&task_id, TaskEntry::new(&task_id)),
            };
            task.update(at.0, updated);
            return Ok(());
        }
        if let Some(redaction) = RedactionApplied::read(typed)
            && let Ok(run) = redaction.run_id.parse()
        {
            self.redacted.entry(run).or_default().extend(redaction.sequences);
        }
        Ok(())
    }

    /// Keeps account of what outlives tasks; what does not is in the log of its run.
    async fn remember(&mut self, run: &RunId, seq: Seq, at: UnixNanos, write: MemoryWrite) -> Result<(), StoreError> {
        let Some(tier) = Tier::of(&write.tier, &write.store).filter(|tier| tier.outlives_tasks()) else {
            return Ok(());
        };
        let entry = self.runs.get(self.store, run.as_str()).await?;
        let Some(workspace) = entry.and_then(|entry| entry.memory_of.clone()) else { return Ok(()) };
        let name = Remembered::name(&workspace, tier, &write.key);
        let remembered = match self.memories.get_mut(self.store, &name).await? {
            Some(remembered) => remembered,
            None => self.memories.put(&name, Remembered::new(&workspace, tier, &write.key)),
        };
        remembered.take(run, seq, at, write);
        Ok(())
    }

    async fn approval(&mut self, run: &RunId, at: UnixNanos, word: Word) -> Result<(), StoreError> {
        let approval_id = word.approval_id().to_owned();
        let Some(entry) = self.runs.get_mut(self.store, run.as_str()).await? else { return Ok(()) };
        entry.pending.retain(|pending| *pending != approval_id);
        let word = match word {
            Word::Asked(asked) => {
                entry.pending.push(approval_id.clone());
                self.approvals.put(&approval_id, ApprovalEntry::new(entry, at, *asked));
                return Ok(());
            }
            word => word,
        };
        if let Some(approval) = self.approvals.get_mut(self.store, &approval_id).await? {
            match word {
                Word::Answered(answer) => approval.answer(at, *answer),
                Word::TimedOut(_) => approval.time_out(at),
                Word::Asked(_) => {}
            }
        }
        Ok(())
    }
}

/// The records of what was erased in a run.
pub(super) async fn erasures(store: &SharedStore, run: &RunId) -> Result<HashMap<Seq, Erase>, StoreError> {
    let records = store.side_records(run).await?;
    Ok(records
        .into_iter()
        .filter_map(|record| match record {
            SideRecord::Erase(erase) => Some((erase.seq, erase)),
            SideRecord::Prune(_)
            | SideRecord::Seal(_)
            | SideRecord::Checkpoint(_)
            | SideRecord::Other(_)
            | SideRecord::Damaged(_) => None,
        })
        .collect())
}
