//! The content of a memory store.

use std::collections::{BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Batch, Chain, Digest, Record, RunId, Seq, SideRecord, UnixNanos};

use super::documents::Documents;
use crate::clock;
use crate::command::Command;
use crate::error::{AppendError, StoreError};
use crate::feed::{FeedCursor, FeedItem, FeedPage};
use crate::lease::{FencingToken, Lease};
use crate::page::LogPage;
use crate::rules::{self, Standing};
use crate::run::{Head, Listed, RunFilter, RunPage, RunPosition, RunSummary};
use crate::store::{PageLimit, StoreFacts};
use crate::watch::Watches;

#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// In the order of their first event.
    pub(super) runs: Vec<RunLog>,
    /// Places of the runs that have not ended.
    pub(super) open: BTreeSet<usize>,
    /// In one map, because whoever appends asks for both.
    known: HashMap<RunId, Known>,
    /// Every event ever appended: the run's place and the seq.
    feed: Vec<(usize, Seq)>,
    pub(super) blobs: HashMap<Digest, Blob>,
    pub(super) documents: Documents,
    /// Who is told when a log grows.
    pub(super) openings: Vec<Watches>,
}

/// What there is under a run's name.
#[derive(Debug, Default)]
struct Known {
    /// Where its log is, once it has one.
    place: Option<usize>,
    /// The last lease that was given out.
    lease: Option<Lease>,
}

#[derive(Debug)]
pub(super) struct Blob {
    pub(super) content: Bytes,
    pub(super) stored_at: UnixNanos,
}

#[derive(Debug)]
pub(super) struct RunLog {
    pub(super) chain: Chain,
    /// From the first that was not pruned.
    records: Vec<Record>,
    pruned_through: Option<Seq>,
    started_at: UnixNanos,
    updated_at: UnixNanos,
    side_records: Vec<(String, SideRecord)>,
    blobs: Vec<(Seq, Digest)>,
    /// Those that are pending.
    pub(super) commands: Vec<Command>,
    /// How many there have ever been.
    pub(super) commands_left: u64,
}

impl Shelf {
    pub(super) fn run(&self, run: &RunId) -> Option<&RunLog> {
        self.place(run).map(|place| &self.runs[place])
    }

    pub(super) fn run_mut(&mut self, run: &RunId) -> Result<&mut RunLog, StoreError> {
        match self.place(run) {
            Some(place) => Ok(&mut self.runs[place]),
            None => Err(StoreError::NoRun { run: run.clone() }),
        }
    }

    fn place(&self, run: &RunId) -> Option<usize> {
        self.known.get(run)?.place
    }

    /// The last lease on `run` that was given out.
    pub(super) fn lease(&self, run: &RunId) -> Option<&Lease> {
        self.known.get(run)?.lease.as_ref()
    }

    pub(super) fn lease_mut(&mut self, run: &RunId) -> Option<&mut Lease> {
        self.known.get_mut(run)?.lease.as_mut()
    }

    pub(super) fn keep_lease(&mut self, lease: Lease) {
        let known = self.known.entry(lease.run.clone()).or_default();
        known.lease = Some(lease);
    }

    pub(super) fn append(&mut self, lease: &Lease, batch: Batch) -> Result<Head, AppendError> {
        let run = batch.before().run();
        let known = self.known.get(run);
        let place = known.and_then(|known| known.place);
        let head = place.map_or(Head::EMPTY, |place| Head::from(&self.runs[place].chain));
        let token = known.and_then(|known| known.lease.as_ref()).map_or(FencingToken::NONE, |lease| lease.token);
        Standing { head, token }.admit(lease, &batch)?;
        if let Some((_, blob)) = batch.blobs().iter().find(|(_, blob)| !self.blobs.contains_key(blob)) {
            return Err(AppendError::BlobMissing { run: run.clone(), blob: *blob });
        }
        let pending = |id: &String| place.is_some_and(|place| self.runs[place].has_command(id));
        if let Some(id) = batch.settled().iter().find(|id| !pending(id)) {
            return Err(AppendError::CommandWithdrawn { run: run.clone(), id: id.clone() });
        }
        if let Some(note) = batch.noted() {
            if !self.documents.admits(note, clock::now()) {
                return Err(AppendError::NoteMoved { run: run.clone() });
            }
            self.documents.take_note(note);
        }
        if let Some(place) = place {
            self.runs[place].commands.retain(|command| !batch.settled().contains(&command.id));
        }
        let after = Head::from(batch.after());
        let Some((started_at, updated_at)) = batch.span() else { return Ok(after) };
        let mut seq = batch.before().next_seq();
        let origin = batch.origin().cloned();
        let (records, chain, blobs) = batch.into_parts();
        let place = place.unwrap_or_else(|| {
            let place = self.runs.len();
            self.known.entry(chain.run().clone()).or_default().place = Some(place);
            self.runs.push(RunLog::new(Chain::empty(chain.run().clone(), chain.version()), started_at));
            self.open.insert(place);
            place
        });
        for _ in &records {
            self.feed.push((place, seq));
            seq = seq.next();
        }
        let log = &mut self.runs[place];
        if let Some(origin) = origin {
            log.pruned_through = Some(origin.through());
            origin.beside().iter().for_each(|record| log.keep(record.clone()));
        }
        log.records.extend(records);
        log.blobs.extend(blobs);
        log.updated_at = updated_at;
        log.chain = chain;
        if after.terminal.is_some() {
            log.commands.clear();
            self.open.remove(&place);
        }
        let run = log.chain.run();
        for watches in &self.openings {
            watches.publish(run, after.next);
        }
        Ok(after)
    }

    pub(super) fn feed_page(&self, after: FeedCursor, limit: PageLimit) -> FeedPage {
        let start = usize::try_from(after.position).unwrap_or(usize::MAX).min(self.feed.len());
        let mut page = FeedPage { items: Vec::new(), next: after };
        let mut room = limit.room();
        for (position, (place, seq)) in (after.position + 1..).zip(&self.feed[start..]) {
            let cursor = FeedCursor { epoch: 0, position };
            let log = &self.runs[*place];
            // Pruned events leave their positions behind.
            if let Some(record) = log.record(*seq) {
                if !room.takes(record.size()) {
                    break;
                }
                page.items.push(FeedItem { cursor, run: log.chain.run().clone(), record: record.clone() });
            }
            page.next = cursor;
        }
        page
    }

    pub(super) fn feed_end(&self) -> FeedCursor {
        FeedCursor { epoch: 0, position: self.feed.len() as u64 }
    }

    pub(super) fn list(&self, filter: &RunFilter) -> RunPage {
        let RunFilter { id_prefix, finished, updated_before, after, limit } = filter;
        let limit = if *limit == 0 { 100 } else { *limit };
        let end = after.map_or(self.runs.len(), |RunPosition(place)| usize::try_from(place).unwrap_or(usize::MAX));
        let mut page = RunPage::default();
        for (place, log) in self.runs.iter().enumerate().take(end).rev() {
            let wanted = id_prefix.as_ref().is_none_or(|prefix| log.chain.run().as_str().starts_with(prefix))
                && finished.is_none_or(|finished| log.chain.terminal().is_some() == finished)
                && updated_before.is_none_or(|moment| log.updated_at < moment);
            if wanted {
                page.entries.push(Listed::Run(log.summary()));
                if page.entries.len() == limit {
                    page.next = Some(RunPosition(place as u64)).filter(|_| place > 0);
                    break;
                }
            }
        }
        page
    }

    pub(super) fn add_side_record(&mut self, run: &RunId, record: SideRecord) -> Result<(), StoreError> {
        let log = self.run_mut(run)?;
        rules::check_side_record(run, &record)?;
        log.keep(record);
        Ok(())
    }

    pub(super) fn erase(&mut self, erasures: Vec<Erase>) -> Result<(), StoreError> {
        let Some(run) = rules::erased_run(&erasures)?.cloned() else { return Ok(()) };
        let log = self.run_mut(&run)?;
        rules::check_erasable(&run, log.chain.version())?;
        if let Some(erase) = erasures.iter().find(|erase| log.record(erase.seq).is_none()) {
            return Err(StoreError::NoEvent { run, seq: erase.seq });
        }
        for erase in erasures {
            if let Some(record) = log.index(erase.seq).and_then(|index| log.records.get_mut(index)) {
                record.payload = None;
            }
            log.keep(SideRecord::Erase(erase));
        }
        Ok(())
    }

    pub(super) fn prune(&mut self, prune: Prune) -> Result<(), StoreError> {
        let log = self.run_mut(&prune.run_id)?;
        let through = prune.through();
        let record = SideRecord::Prune(Box::new(prune.clone()));
        if log.keeps(&record) {
            return Ok(());
        }
        rules::check_prune(&prune, log.chain.version(), &Head::from(&log.chain), log.pruned_through)?;
        let last = log.index(through).filter(|index| *index < log.records.len());
        let last = last.ok_or(StoreError::NoEvent { run: prune.run_id.clone(), seq: through })?;
        rules::check_pruned_hash(&prune, log.records[last].hash())?;
        log.records.drain(..=last);
        log.blobs.retain(|(seq, _)| *seq > through);
        log.pruned_through = Some(through);
        log.keep(record);
        Ok(())
    }

    pub(super) fn compact(&mut self) {
        self.runs.iter_mut().for_each(|log| log.records.shrink_to_fit());
    }

    pub(super) fn collect_blobs(&mut self, stored_before: UnixNanos) -> Vec<Digest> {
        let named: HashSet<Digest> = self.runs.iter().flat_map(|log| &log.blobs).map(|(_, blob)| *blob).collect();
        let unused = |(hash, blob): &(&Digest, &Blob)| !named.contains(*hash) && blob.stored_at < stored_before;
        let collected: Vec<Digest> = self.blobs.iter().filter(unused).map(|(hash, _)| *hash).collect();
        self.blobs.retain(|hash, _| !collected.contains(hash));
        collected
    }

    pub(super) fn describe(&self) -> StoreFacts {
        StoreFacts {
            backend: "memory",
            location: "memory".into(),
            layout_version: 1,
            runs: self.runs.len() as u64,
            bytes: None,
            notes: vec!["nothing is kept when the process ends".into()],
            faults: Vec::new(),
        }
    }
}

impl RunLog {
    fn new(chain: Chain, started_at: UnixNanos) -> Self {
        Self {
            chain,
            records: Vec::new(),
            pruned_through: None,
            started_at,
            updated_at: started_at,
            side_records: Vec::new(),
            blobs: Vec::new(),
            commands: Vec::new(),
            commands_left: 0,
        }
    }

    pub(super) fn has_command(&self, id: &str) -> bool {
        self.commands.iter().any(|command| command.id == id)
    }

    pub(super) fn page(&self, from: Seq, limit: PageLimit) -> LogPage {
        let start = self.index(from).unwrap_or(0).min(self.records.len());
        let mut room = limit.room();
        let records: Vec<_> =
            self.records[start..].iter().take_while(|record| room.takes(record.size())).cloned().collect();
        let gone = self.pruned_through.map_or(0, Seq::get);
        let last = Seq::new(gone + (start + records.len()) as u64);
        LogPage::new(from, records, last)
    }

    pub(super) fn side_records(&self) -> Vec<SideRecord> {
        self.side_records.iter().map(|(_, record)| record.clone()).collect()
    }

    pub(super) fn summary(&self) -> RunSummary {
        RunSummary {
            run_id: self.chain.run().clone(),
            version: self.chain.version(),
            head: Head::from(&self.chain),
            started_at: self.started_at,
            updated_at: self.updated_at,
            pruned_through: self.pruned_through,
        }
    }

    fn record(&self, seq: Seq) -> Option<&Record> {
        self.index(seq).and_then(|index| self.records.get(index))
    }

    /// Where the event stands in `records`; `None` if it was pruned.
    fn index(&self, seq: Seq) -> Option<usize> {
        let gone = self.pruned_through.map_or(0, Seq::get);
        usize::try_from(seq.get().checked_sub(gone + 1)?).ok()
    }

    fn keeps(&self, record: &SideRecord) -> bool {
        let key = rules::side_record_key(record, &record.encode());
        self.side_records.iter().any(|(kept, _)| *kept == key)
    }

    fn keep(&mut self, record: SideRecord) {
        if !self.keeps(&record) {
            self.side_records.push((rules::side_record_key(&record, &record.encode()), record));
        }
    }
}
