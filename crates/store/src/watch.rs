//! Wake-ups: "this log has grown, go and read".
//!
//! One [`Watches`] per store. Writers of this process publish into it right after their commit; what
//! other processes write is found by the backend's own means (notifications, polling) and published
//! the same way. A wake-up carries no event, so a lost or doubled one loses or doubles nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use r1_event::{RunId, Seq};
use tokio::sync::watch;

/// Everyone who waits for logs of one store to grow.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    runs: Mutex<HashMap<RunId, watch::Sender<u64>>>,
    /// Counts published changes of any run.
    feed: watch::Sender<u64>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { runs: Mutex::default(), feed: watch::Sender::new(0) }
    }
}

impl Watches {
    /// Waits for `run` to grow.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> HeadWatch {
        let mut runs = self.runs();
        // Runs that nobody waits for any more are dropped here, so the map is bounded by the waiters.
        if runs.len().is_power_of_two() {
            runs.retain(|_, sender| sender.receiver_count() > 0);
        }
        let sender = runs.entry(run.clone()).or_insert_with(|| watch::Sender::new(0));
        HeadWatch { receiver: sender.subscribe() }
    }

    /// Waits for any run to grow.
    #[must_use]
    pub fn watch_feed(&self) -> FeedWatch {
        FeedWatch { receiver: self.shared.feed.subscribe() }
    }

    /// Tells that the next event of `run` will have seq `next`.
    pub fn publish(&self, run: &RunId, next: Seq) {
        if let Some(sender) = self.runs().get(run) {
            sender.send_if_modified(|known| {
                let grown = *known < next.get();
                *known = next.get().max(*known);
                grown
            });
        }
        self.publish_feed();
    }

    /// Tells that some run has grown, without saying which.
    pub fn publish_feed(&self) {
        self.shared.feed.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// The runs that someone waits for: those a backend has to look after.
    #[must_use]
    pub fn watched(&self) -> Vec<RunId> {
        let runs = self.runs();
        runs.iter().filter(|(_, sender)| sender.receiver_count() > 0).map(|(run, _)| run.clone()).collect()
    }

    /// Whether anyone waits for anything.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.shared.feed.receiver_count() > 0 || self.runs().values().any(|sender| sender.receiver_count() > 0)
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, watch::Sender<u64>>> {
        // The map is valid at every step, so a panic elsewhere cannot have left it half changed.
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for one run to grow.
#[derive(Clone, Debug)]
pub struct HeadWatch {
    receiver: watch::Receiver<u64>,
}

impl HeadWatch {
    /// Returns once the run is known to have grown past `next`, or when anything was published since
    /// the last call; false when the store was closed. Cancel-safe.
    pub async fn grown(&mut self, next: Seq) -> bool {
        if *self.receiver.borrow_and_update() > next.get() {
            return true;
        }
        self.receiver.changed().await.is_ok()
    }
}

/// Waits for any run to grow.
#[derive(Clone, Debug)]
pub struct FeedWatch {
    receiver: watch::Receiver<u64>,
}

impl FeedWatch {
    /// Returns when anything was published since the last call; false when the store was closed. Cancel-safe.
    pub async fn grown(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }
}
