//! Whether a run that someone works on has work at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A run that only waits for a person keeps its lease and leaves its slot to others.
#[derive(Debug, Default)]
pub struct Slot {
    rests: AtomicBool,
    /// Rung when that changes.
    bell: Arc<Notify>,
}

impl Slot {
    /// A slot whose owner hears of changes.
    #[must_use]
    pub fn with_bell(bell: Arc<Notify>) -> Self {
        Self { rests: AtomicBool::new(false), bell }
    }

    /// Whether the run waits for a person, and nothing else can go on.
    #[must_use]
    pub fn rests(&self) -> bool {
        self.rests.load(Ordering::Acquire)
    }

    pub(super) fn rest(&self, rests: bool) {
        if self.rests.swap(rests, Ordering::AcqRel) != rests {
            self.bell.notify_one();
        }
    }
}
