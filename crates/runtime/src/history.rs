//! What a run knows, read from its log and from those it goes on from.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use r1_event::{Payload, Record, RunId, Seq, Version};
use r1_protocol::api::RunStatus;
use r1_store::{PageLimit, Pages, SharedStore, StoreError};

use crate::agent::{FoldError, RunState};
use crate::world;

/// How many runs may stand behind each other: a fork of a fork of a fork.
const MAX_DEPTH: usize = 64;

/// Why a run's history cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The store failed, or has no such run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be folded.
    #[error("run {run} cannot be gone on with")]
    Fold {
        /// Which run.
        run: RunId,
        /// Why.
        #[source]
        source: FoldError,
    },
    /// A chain of forks without an end.
    #[error("run {run} goes on from more runs than can be followed")]
    TooDeep {
        /// Which run.
        run: RunId,
    },
}

/// The state of a run as it is now.
pub async fn load(store: &SharedStore, run: &RunId) -> Result<RunState, HistoryError> {
    load_until(store, run, None, 0).await
}

/// The state of a run as it was after the event `last`.
pub async fn load_at(store: &SharedStore, run: &RunId, last: Seq) -> Result<RunState, HistoryError> {
    load_until(store, run, Some(last), 0).await
}

/// How a run stands: by its log, and by whether anyone holds it.
pub async fn status(store: &SharedStore, run: &RunId) -> Result<RunStatus, HistoryError> {
    let state = load(store, run).await?;
    let lease = store.lease(run).await?;
    let is_held = lease.is_some_and(|lease| lease.is_live_at(world::now()));
    Ok(if is_held { state.status() } else { state.status_unheld() })
}

/// Where a run says that it worked. Pruned runs and those of Starling do not tell.
pub async fn workspace(store: &SharedStore, run: &RunId) -> Result<Option<PathBuf>, StoreError> {
    let records = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    let first = records.first().and_then(|record| RunState::read(record).ok());
    let Some((_, Payload::RunStarted(started))) = first else { return Ok(None) };
    let workspace = started.workspace.as_ref().map(r1_protocol::json::from_raw).unwrap_or_default();
    Ok(workspace["path"].as_str().map(PathBuf::from))
}

fn load_until<'a>(
    store: &'a SharedStore,
    run: &'a RunId,
    last: Option<Seq>,
    depth: usize,
) -> BoxFuture<'a, Result<RunState, HistoryError>> {
    Box::pin(async move {
        if depth > MAX_DEPTH {
            return Err(HistoryError::TooDeep { run: run.clone() });
        }
        let mut state: Option<RunState> = None;
        let mut pages = Pages::of_all(&**store, run);
        while let Some(page) = pages.next().await? {
            for record in page {
                let (place, payload) = read(run, &record)?;
                if last.is_some_and(|last| place.seq > last) {
                    return state.ok_or_else(|| StoreError::NoRun { run: run.clone() }.into());
                }
                match &mut state {
                    Some(state) => state.apply(place, &payload),
                    None => {
                        let failed = |source| HistoryError::Fold { run: run.clone(), source };
                        let begun = RunState::begin(place, run.clone(), &payload).map_err(failed)?;
                        state = Some(match &begun.origin {
                            None => begun,
                            Some(origin) => {
                                let source = load_until(store, &origin.run, Some(origin.seq), depth + 1).await?;
                                RunState::continue_from(source, place, run.clone(), &payload).map_err(failed)?
                            }
                        });
                    }
                }
            }
        }
        state.ok_or_else(|| StoreError::NoRun { run: run.clone() }.into())
    })
}

fn read(run: &RunId, record: &Record) -> Result<(crate::agent::Place, Payload), HistoryError> {
    let read = match record.version() {
        Some(Version::V2) => RunState::read(record),
        Some(Version::V1) | None => Err(FoldError::Foreign),
    };
    read.map_err(|source| HistoryError::Fold { run: run.clone(), source })
}
