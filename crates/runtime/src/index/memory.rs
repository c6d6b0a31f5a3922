//! Where the lasting memory of workspaces is: which events hold what.
//!
//! Values are not kept here. Whoever wants one reads the event that holds it, so that what was erased from a log
//! is forgotten.

use r1_event::{Digest, RunId, Seq, UnixNanos};
use r1_protocol::api::RunStatus;
use r1_protocol::data::{MemoryOp, MemoryWrite};
use r1_store::{DocumentQuery, SharedStore, StoreError};
use serde::{Deserialize, Serialize};

use super::Index;
use super::approval::RUN;
use super::drawer::{Entry, facet, load, read};
use super::refold::all;
use super::run::{RunEntry, STATUS};
use crate::memory::Tier;

/// How many writes of a key are known; older ones are in the logs.
const MOST: usize = 48;

/// All that is known of one key of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    workspace: String,
    tier: String,
    /// The key.
    pub key: String,
    /// Its writes, the oldest first.
    pub writes: Vec<Written>,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Written {
    /// When, in Unix nanoseconds.
    pub at: i64,
    /// The run whose log has it.
    pub run: String,
    /// Where in that log.
    pub seq: u64,
    /// agent or operator.
    pub by: String,
    /// set or delete.
    pub op: String,
    /// What its content is called; not there for what was deleted.
    pub fingerprint: Option<String>,
    /// The difference to what was there before.
    pub diff_hash: String,
    /// Whether the event holds the value: not if it was known already.
    pub holds: bool,
}

impl Written {
    /// A write, as the event at this place tells it.
    pub(crate) fn new(run: &RunId, seq: Seq, at: UnixNanos, write: MemoryWrite) -> Self {
        Self {
            at: at.0,
            run: run.to_string(),
            seq: seq.get(),
            by: write.by.as_str().to_owned(),
            op: write.op.as_str().to_owned(),
            fingerprint: write.fingerprint,
            diff_hash: write.diff_hash,
            holds: write.value.is_some(),
        }
    }
}

impl Remembered {
    pub(super) fn new(workspace: &str, tier: Tier, key: &str) -> Self {
        Self { workspace: workspace.to_owned(), tier: tier.word().into(), key: key.to_owned(), writes: Vec::new() }
    }

    /// Takes a write. The order is that of the time, whatever order logs are read in.
    pub(super) fn take(&mut self, run: &RunId, seq: Seq, at: UnixNanos, write: MemoryWrite) {
        let written = Written::new(run, seq, at, write);
        match self.writes.binary_search(&written) {
            Ok(_) => {}
            Err(place) => self.writes.insert(place, written),
        }
        while self.writes.len() > MOST {
            let kept = self.holder().cloned();
            let oldest = self.writes.iter().position(|write| Some(write) != kept.as_ref());
            match oldest {
                Some(oldest) => drop(self.writes.remove(oldest)),
                None => return,
            }
        }
    }

    /// Takes back what `run` wrote; true if nothing is left.
    pub(super) fn unlearn(&mut self, run: &str) -> bool {
        self.writes.retain(|write| write.run != run);
        self.writes.is_empty()
    }

    /// The last write, unless it deleted.
    #[must_use]
    pub fn current(&self) -> Option<&Written> {
        self.writes.last().filter(|write| write.op == MemoryOp::Set.as_str())
    }

    /// The event that holds the current value.
    #[must_use]
    pub fn holder(&self) -> Option<&Written> {
        let current = self.current()?;
        self.writes.iter().rev().find(|write| write.holds && write.fingerprint == current.fingerprint)
    }

    /// The key of the document of a key.
    pub(super) fn name(workspace: &str, tier: Tier, key: &str) -> String {
        // Names of documents are no place for what may have to be erased.
        format!("{tier}:{}", Digest::blake3(format!("{workspace}\0{key}").as_bytes()))
    }

    fn id(&self) -> Option<String> {
        Some(Self::name(&self.workspace, self.tier.parse().ok()?, &self.key))
    }
}

impl Entry for Remembered {
    const COLLECTION: &'static str = "index.memory";

    fn rank(&self) -> u64 {
        self.writes.last().map_or(0, |write| u64::try_from(write.at).unwrap_or(0))
    }

    fn facets(&self) -> Vec<(String, String)> {
        let mut facets = vec![facet(PLACE, &place(&self.workspace, &self.tier))];
        facets.extend(self.writes.iter().map(|write| facet(RUN, &write.run)));
        facets
    }
}

/// The facet of a tier of a workspace.
const PLACE: &str = "place";

fn place(workspace: &str, tier: &str) -> String {
    format!("{tier}:{}", Digest::blake3(workspace.as_bytes()))
}

/// The facet by which the runs of a workspace are found.
pub(super) const WORKSPACE: &str = "workspace";

pub(super) fn workspace_name(workspace: &str) -> String {
    Digest::blake3(workspace.as_bytes()).to_string()
}

/// The names of the documents that `run` has a part in.
pub(super) async fn of_run(store: &SharedStore, run: &str) -> Result<Vec<String>, StoreError> {
    Ok(all::<Remembered>(store, facet(RUN, run)).await?.iter().filter_map(Remembered::id).collect())
}

impl Index {
    /// What is known of a key of a workspace's lasting memory.
    pub async fn memory(&self, workspace: &str, tier: Tier, key: &str) -> Result<Option<Remembered>, StoreError> {
        self.catch_up().await?;
        load(&self.store, &Remembered::name(workspace, tier, key)).await
    }

    /// All that is known of a tier of a workspace's lasting memory.
    pub async fn memories(&self, workspace: &str, tier: Tier) -> Result<Vec<Remembered>, StoreError> {
        self.catch_up().await?;
        all(&self.store, facet(PLACE, &place(workspace, tier.word()))).await
    }

    /// Whether lasting memory would be lost with the log of `run`.
    pub async fn holds_memory(&self, run: &RunId) -> Result<bool, StoreError> {
        self.catch_up().await?;
        let told = all::<Remembered>(&self.store, facet(RUN, run.as_str())).await?;
        Ok(told.iter().any(|remembered| remembered.holder().is_some_and(|holder| holder.run == run.as_str())))
    }

    /// A run of an agent that has begun in a workspace and has not ended.
    pub async fn open_run_in(&self, workspace: &str) -> Result<Option<RunId>, StoreError> {
        self.catch_up().await?;
        let open =
            [RunStatus::Running, RunStatus::AwaitingApproval, RunStatus::Idle, RunStatus::Paused, RunStatus::Queued];
        for status in open {
            let facets = vec![facet(WORKSPACE, &workspace_name(workspace)), facet(STATUS, status.as_str())];
            let query = DocumentQuery { facets, ..DocumentQuery::default() };
            let found = self.store.documents(RunEntry::COLLECTION, query).await?;
            let mut begun = found.iter().filter_map(read::<RunEntry>).filter(RunEntry::acts);
            if let Some(run) = begun.find_map(|entry| entry.stored_id.parse().ok()) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}
