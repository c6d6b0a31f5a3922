//! Keeping up with the logs.

use std::time::Duration;

use r1_event::RunId;
use r1_store::{Document, DocumentChange, Expect, FeedCursor, PageLimit, StoreError};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Index;
use super::approval::ApprovalEntry;
use super::artifact::ArtifactEntry;
use super::drawer::Entry;
use super::fold::Fold;
use super::memory::Remembered;
use super::run::{Prompt, RunEntry};
use super::task::TaskEntry;

/// What the documents mean. Raise it with every change of what is kept or how it is found: the whole index
/// is then made again.
const VERSION: u32 = 3;

/// Where it is kept how far the index is.
const COLLECTION: &str = "index";
const KEY: &str = "state";

/// How often the background work looks at what is new.
const REST: Duration = Duration::from_millis(250);

/// How long a store that fails is left alone by it.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How far the index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    version: u32,
    epoch: u64,
    position: u64,
}

/// How far the index is, as the store has it.
enum Found {
    /// There is none.
    Nothing,
    /// Written by another R1.
    Foreign { revision: u64 },
    /// This one.
    Known { cursor: FeedCursor, revision: u64 },
}

impl Index {
    /// Takes in all that the feed has now. Costs as much as what is new; any number of nodes may do it at
    /// the same time.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        // Several readers of one process would only take each other's work away.
        let _turn = self.catching_up.lock().await;
        loop {
            match self.found().await? {
                Found::Nothing => self.start_over(Expect::Absent).await?,
                Found::Foreign { revision } => self.start_over(Expect::Revision(revision)).await?,
                Found::Known { cursor, revision } => {
                    let page = self.store.read_feed(cursor, PageLimit::BULK).await?;
                    if page.items.is_empty() && page.next <= cursor {
                        return Ok(());
                    }
                    let mut fold = Fold::new(&self.store);
                    for item in &page.items {
                        fold.apply(&item.run, &item.record).await?;
                    }
                    self.write(fold, page.next, revision).await?;
                }
            }
        }
    }

    /// Takes in all that the log of `run` has now. The feed may be a moment behind a log: who has just
    /// written something calls this to find it.
    pub async fn see(&self, run: &RunId) -> Result<(), StoreError> {
        self.catch_up().await?;
        let Some(head) = self.store.head(run).await? else { return Ok(()) };
        loop {
            let Found::Known { cursor, revision } = self.found().await? else { return self.catch_up().await };
            let mut fold = Fold::new(&self.store);
            let through = fold.runs.get(&self.store, run.as_str()).await?.map_or(0, |entry| entry.through);
            if through + 1 >= head.next.get() {
                return Ok(());
            }
            fold.read_log(run).await?;
            if self.write(fold, cursor, revision).await? {
                return Ok(());
            }
        }
    }

    /// Makes all that is kept of a run anew, after something of its log was taken away.
    pub async fn forget(&self, run: &RunId) -> Result<(), StoreError> {
        loop {
            // An index that nobody has asked for yet holds nothing.
            let Found::Known { cursor, revision } = self.found().await? else { return Ok(()) };
            let mut fold = Fold::new(&self.store);
            fold.refold(run).await?;
            if self.write(fold, cursor, revision).await? {
                return Ok(());
            }
        }
    }

    /// Takes in all that the log of `run` has now, if anyone has ever asked for the index.
    pub(crate) async fn refresh(&self, run: &RunId) -> Result<(), StoreError> {
        match self.found().await? {
            Found::Nothing => Ok(()),
            Found::Foreign { .. } | Found::Known { .. } => self.see(run).await,
        }
    }

    /// Keeps up until `stop`, so that those who ask find little left to do. A failure is told and tried again later:
    /// whoever asks brings the index up to date first, so nothing is missed meanwhile.
    pub async fn keep_up(&self, stop: CancellationToken, tell: impl Fn(&StoreError)) {
        let mut feed = self.store.watch_feed();
        let mut is_told = false;
        loop {
            let rest = match self.catch_up().await {
                Ok(()) => {
                    is_told = false;
                    match stop.run_until_cancelled(feed.grown()).await {
                        Some(true) => REST,
                        Some(false) | None => return,
                    }
                }
                Err(StoreError::Closed) => return,
                Err(err) => {
                    // Once for as long as it lasts.
                    if !std::mem::replace(&mut is_told, true) {
                        tell(&err);
                    }
                    AFTER_FAILURE
                }
            };
            if stop.run_until_cancelled(tokio::time::sleep(rest)).await.is_none() {
                return;
            }
        }
    }

    async fn found(&self) -> Result<Found, StoreError> {
        let Some(document) = self.store.document(COLLECTION, KEY).await? else { return Ok(Found::Nothing) };
        let revision = document.revision;
        Ok(match serde_json::from_slice::<State>(&document.body) {
            Ok(State { version: VERSION, epoch, position }) => {
                Found::Known { cursor: FeedCursor { epoch, position }, revision }
            }
            Ok(_) | Err(_) => Found::Foreign { revision },
        })
    }

    async fn start_over(&self, expect: Expect) -> Result<(), StoreError> {
        let kept = [
            RunEntry::COLLECTION,
            Prompt::COLLECTION,
            TaskEntry::COLLECTION,
            ApprovalEntry::COLLECTION,
            ArtifactEntry::COLLECTION,
            Remembered::COLLECTION,
        ];
        let mut changes: Vec<_> =
            kept.into_iter().map(|collection| DocumentChange::Clear { collection: collection.into() }).collect();
        changes.push(put(FeedCursor::START, expect));
        // If another node was faster, that is as good.
        self.store.change_documents(changes).await?;
        Ok(())
    }

    /// Writes what became of the documents, unless another node has moved the index since it was looked at.
    async fn write(&self, mut fold: Fold<'_>, cursor: FeedCursor, revision: u64) -> Result<bool, StoreError> {
        fold.forget_redacted().await?;
        fold.settle().await?;
        let mut changes = fold.into_changes();
        changes.push(put(cursor, Expect::Revision(revision)));
        self.store.change_documents(changes).await
    }
}

fn put(FeedCursor { epoch, position }: FeedCursor, expect: Expect) -> DocumentChange {
    let state = State { version: VERSION, epoch, position };
    let body = serde_json::to_vec(&state).unwrap_or_default();
    DocumentChange::Put { collection: COLLECTION.into(), document: Document::new(KEY, body), expect }
}
