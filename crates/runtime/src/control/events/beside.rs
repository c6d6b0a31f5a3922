//! What the records beside a log say to whoever serves its events.

use std::collections::HashMap;

use r1_event::side_record::{Erase, Prune};
use r1_event::{Record, RunId, Seq, SideRecord, Version};
use r1_protocol::RunFacts;
use r1_store::{PageLimit, SharedStore, StoreError};

use super::super::view::place;
use super::{EventsError, damaged};

/// Erasures and prunes of one run as far as they are known. They are looked up when an event turns out to be
/// gone: most runs have none, and a run that is followed may get one at any time.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    erasures: HashMap<u64, Erase>,
    prune: Option<Prune>,
}

impl Beside {
    /// The record of the erasure of the event with this sequence.
    #[must_use]
    pub fn erasure(&self, sequence: u64) -> Option<&Erase> {
        self.erasures.get(&sequence)
    }

    /// Sees to it that the erasure of an event without payload is known, if there was one.
    pub(crate) async fn know_erasure(
        &mut self,
        store: &SharedStore,
        run: &RunId,
        record: &Record,
        sequence: u64,
    ) -> Result<(), StoreError> {
        if is_erased(record) && !self.erasures.contains_key(&sequence) {
            self.load(store, run).await?;
        }
        Ok(())
    }

    /// The record of the pruning that took the event with this sequence.
    pub(super) async fn know_prune(
        &mut self,
        store: &SharedStore,
        run: &RunId,
        sequence: u64,
    ) -> Result<Option<&Prune>, StoreError> {
        if self.prune.as_ref().is_none_or(|prune| prune.through().get() <= sequence) {
            self.load(store, run).await?;
        }
        Ok(self.prune.as_ref().filter(|prune| prune.through().get() > sequence))
    }

    /// What all events of a run share, also if its first event was erased or pruned.
    pub(crate) async fn facts(&mut self, store: &SharedStore, run: &RunId) -> Result<RunFacts, EventsError> {
        let page = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
        let first = page.first().ok_or_else(|| EventsError::NoRun { run: run.clone() })?;
        let is_first = place(first).is_none_or(|place| place.seq == Seq::FIRST.get());
        if !is_first || is_erased(first) {
            self.load(store, run).await?;
        }
        let facts = match &self.prune {
            Some(prune) if !is_first => {
                let summary = store.run(run).await?.ok_or_else(|| EventsError::NoRun { run: run.clone() })?;
                Some(RunFacts::of_pruned(prune, summary.started_at))
            }
            _ => RunFacts::of_first(first, self.erasures.get(&0)),
        };
        facts.ok_or_else(|| damaged(run, Seq::FIRST))
    }

    async fn load(&mut self, store: &SharedStore, run: &RunId) -> Result<(), StoreError> {
        let side_records = store.side_records(run).await?;
        self.prune = Prune::furthest(&side_records).cloned().or(self.prune.take());
        for record in side_records {
            match record {
                SideRecord::Erase(erase) => {
                    self.erasures.insert(erase.seq.get() - 1, erase);
                }
                SideRecord::Prune(_)
                | SideRecord::Seal(_)
                | SideRecord::Checkpoint(_)
                | SideRecord::Other(_)
                | SideRecord::Damaged(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether the payload of an event is gone. Starling's events may have none from the beginning.
fn is_erased(record: &Record) -> bool {
    record.payload.is_none() && record.version() == Some(Version::V2)
}
