//! Forgetting what is no longer in the logs: documents are dropped and made again from what is left.

use std::collections::{BTreeMap, BTreeSet};

use r1_event::RunId;
use r1_store::{DocumentQuery, SharedStore, StoreError};

use super::approval::{ApprovalEntry, RUN};
use super::artifact::ArtifactEntry;
use super::drawer::{Entry, facet, read};
use super::fold::Fold;
use super::memory;
use super::run::{ABOUT, RunEntry, TASK};

/// How many documents are looked up at once.
const PAGE: usize = 200;

impl Fold<'_> {
    /// Makes anew what was computed from events that have been redacted since. The redaction is in a log
    /// before anything is erased, so that no crash in between leaves their text here.
    pub(super) async fn forget_redacted(&mut self) -> Result<(), StoreError> {
        while let Some(run) = self.outdated().await? {
            self.refold(&run).await?;
        }
        Ok(())
    }

    /// A run that was folded with the text of events that are redacted by now.
    async fn outdated(&mut self) -> Result<Option<RunId>, StoreError> {
        for (run, sequences) in &self.redacted {
            let entry = self.runs.get(self.store, run.as_str()).await?;
            if entry.is_some_and(|entry| !sequences.is_subset(&entry.redacted)) {
                return Ok(Some(run.clone()));
            }
        }
        Ok(None)
    }

    /// Drops all that is known of a run and of those it is entangled with, and reads their logs again.
    pub(super) async fn refold(&mut self, run: &RunId) -> Result<(), StoreError> {
        let group = self.group(run).await?;
        for entry in group.values() {
            self.drop_run(entry).await?;
        }
        for entry in group.values() {
            if let Ok(run) = entry.stored_id.parse() {
                self.read_log(&run).await?;
            }
        }
        Ok(())
    }

    /// The runs of the same task, or without one the run and those about it; the oldest first.
    async fn group(&mut self, run: &RunId) -> Result<BTreeMap<(i64, String), RunEntry>, StoreError> {
        let Some(entry) = self.runs.get(self.store, run.as_str()).await?.cloned() else { return Ok(BTreeMap::new()) };
        let task_id = entry.run.task_id.clone();
        let subject = entry.about().unwrap_or(&entry.stored_id).to_owned();
        let belongs = |other: &RunEntry| match &task_id {
            Some(_) => other.run.task_id == task_id,
            None => other.stored_id == subject || other.about() == Some(subject.as_str()),
        };
        let wanted = match &task_id {
            Some(task_id) => facet(TASK, task_id),
            None => facet(ABOUT, &subject),
        };
        for found in all::<RunEntry>(self.store, wanted).await? {
            self.runs.get(self.store, &found.stored_id).await?;
        }
        self.runs.get(self.store, &subject).await?;
        let members = self.runs.seen().map(|(_, entry)| entry).filter(|entry| belongs(entry));
        Ok(members.map(|entry| ((entry.created_at, entry.stored_id.clone()), entry.clone())).collect())
    }

    async fn drop_run(&mut self, entry: &RunEntry) -> Result<(), StoreError> {
        let stored_id = entry.stored_id.as_str();
        if let (false, Ok(run)) = (entry.redacted.is_empty(), stored_id.parse()) {
            self.redacted.entry(run).or_default().extend(&entry.redacted);
        }
        self.runs.remove(stored_id);
        self.prompts.remove(stored_id);
        if let Some(task_id) = &entry.run.task_id {
            self.tasks.remove(task_id);
        }
        let mut approvals: BTreeSet<_> = self
            .approvals
            .seen()
            .filter(|(_, approval)| approval.stored_run == stored_id)
            .map(|(id, _)| id.to_owned())
            .collect();
        approvals
            .extend(all::<ApprovalEntry>(self.store, facet(RUN, stored_id)).await?.into_iter().map(|e| e.approval.id));
        approvals.iter().for_each(|id| self.approvals.remove(id));
        let mut artifacts: BTreeSet<_> = self
            .artifacts
            .seen()
            .filter(|(_, artifact)| artifact.is_told_by(stored_id))
            .map(|(id, _)| id.to_owned())
            .collect();
        artifacts.extend(all::<ArtifactEntry>(self.store, facet(RUN, stored_id)).await?.into_iter().map(|e| e.id));
        artifacts.iter().for_each(|id| self.artifacts.remove(id));
        self.drop_memories(stored_id).await
    }

    /// Takes back what a run wrote; others may have written the same keys.
    async fn drop_memories(&mut self, run: &str) -> Result<(), StoreError> {
        let mut names: BTreeSet<_> = memory::of_run(self.store, run).await?.into_iter().collect();
        names.extend(self.memories.seen().map(|(name, _)| name.to_owned()));
        for name in names {
            let Some(remembered) = self.memories.get_mut(self.store, &name).await? else { continue };
            if remembered.unlearn(run) {
                self.memories.remove(&name);
            }
        }
        Ok(())
    }
}

/// Every entry with this facet.
pub(super) async fn all<E: Entry>(store: &SharedStore, wanted: (String, String)) -> Result<Vec<E>, StoreError> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let query = DocumentQuery { facets: vec![wanted.clone()], after: after.take(), limit: PAGE };
        let page = store.documents(E::COLLECTION, query).await?;
        found.extend(page.iter().filter_map(read::<E>));
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some((last.rank, last.key.clone())),
            _ => return Ok(found),
        }
    }
}
