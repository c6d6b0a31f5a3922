//! What is known of tasks, runs, approvals and artifacts, without reading their logs.
//!
//! - [`Index`]: answers with the objects of the API, one or a page at a time.
//! - [`RunQuery`], [`TaskQuery`], [`ApprovalQuery`], [`ArtifactQuery`]: which ones.
//!
//! A cache: documents beside the logs, computed from the logs alone and made anew if their format changes.
//! Whoever asks makes it catch up first, so that what was written is found, on every node. Who holds a run's
//! lease, what was left for it and what was pruned are no events; they are asked of the store each time.

mod approval;
mod artifact;
mod cursor;
mod drawer;
mod event;
mod find;
mod fold;
mod follow;
mod join;
mod memory;
mod origin;
mod progress;
mod query;
mod refold;
mod run;
mod task;
mod walk;

use std::collections::HashSet;
use std::sync::Arc;

use r1_event::RunId;
use r1_store::{SharedStore, StoreError};
use tokio::sync::Mutex;

pub use memory::{Remembered, Written};
pub use query::{ApprovalQuery, ArtifactQuery, RunQuery, TaskQuery};

/// The objects of one store. Clones share their work.
#[derive(Clone)]
pub struct Index {
    store: SharedStore,
    catching_up: Arc<Mutex<()>>,
    /// Runs of which it was told that their entries are damaged.
    told: Arc<std::sync::Mutex<HashSet<RunId>>>,
}

impl Index {
    /// Over the logs of `store`. Costs nothing until it is asked.
    #[must_use]
    pub fn new(store: SharedStore) -> Self {
        Self { store, catching_up: Arc::default(), told: Arc::default() }
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &SharedStore {
        &self.store
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").finish_non_exhaustive()
    }
}

/// Why the index has no answer.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Not a place in this list.
    #[error("`{given}` is no cursor of this list; give a `next_cursor` as it came, or none to begin anew")]
    BadCursor {
        /// What was given.
        given: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
