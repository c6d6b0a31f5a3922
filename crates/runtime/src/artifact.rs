//! Content that events point at.

use r1_store::SharedStore;

use crate::emit::Emitter;

/// Stores content for one run and tells its log.
#[derive(Clone)]
pub struct Artifacts {
    store: SharedStore,
    events: Emitter,
}

impl Artifacts {
    /// For the run that `events` leads to.
    #[must_use]
    pub fn new(store: SharedStore, events: Emitter) -> Self {
        Self { store, events }
    }
}
