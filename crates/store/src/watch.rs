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
#[derive(Clone, Debug)]
pub struct Watches {
    /// `None` once the store is closed.
    open: Arc<Mutex<Option<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    runs: HashMap<RunId, watch::Sender<u64>>,
    /// Counts published changes of any run.
    feed: watch::Sender<u64>,
}

impl Default for Watches {
    fn default() -> Self {
        let waiting = Waiting { runs: HashMap::new(), feed: watch::Sender::new(0) };
        Self { open: Arc::new(Mutex::new(Some(waiting))) }
    }
}

impl Watches {
    /// Waits for `run` to grow.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> HeadWatch {
        let mut open = self.lock();
        let Some(waiting) = open.as_mut() else { return HeadWatch { receiver: closed() } };
        // Runs that nobody waits for any more are dropped here, so the map is bounded by the waiters.
        if waiting.runs.len().is_power_of_two() {
            waiting.runs.retain(|_, sender| sender.receiver_count() > 0);
        }
        let sender = waiting.runs.entry(run.clone()).or_insert_with(|| watch::Sender::new(0));
        HeadWatch { receiver: sender.subscribe() }
    }

    /// Waits for any run to grow.
    #[must_use]
    pub fn watch_feed(&self) -> FeedWatch {
        let receiver = self.lock().as_ref().map_or_else(closed, |waiting| waiting.feed.subscribe());
        FeedWatch { receiver }
    }

    /// Tells that the next event of `run` will have seq `next`.
    pub fn publish(&self, run: &RunId, next: Seq) {
        self.publish_all([(run, next)]);
    }

    /// Tells of several runs what their next events will be.
    pub fn publish_all<'a>(&self, grown: impl IntoIterator<Item = (&'a RunId, Seq)>) {
        let open = self.lock();
        let Some(waiting) = open.as_ref() else { return };
        if !waiting.runs.is_empty() {
            for (run, next) in grown {
                waiting.publish(run, next);
            }
        }
        waiting.publish_feed();
    }

    /// Tells that the next event of `run` will have seq `next`, and nothing to those who wait for any run.
    pub fn publish_run(&self, run: &RunId, next: Seq) {
        if let Some(waiting) = self.lock().as_ref() {
            waiting.publish(run, next);
        }
    }

    /// Tells that some run has grown, without saying which.
    pub fn publish_feed(&self) {
        if let Some(waiting) = self.lock().as_ref() {
            waiting.publish_feed();
        }
    }

    /// The runs that someone waits for: those a backend has to look after.
    #[must_use]
    pub fn watched(&self) -> Vec<RunId> {
        let open = self.lock();
        let runs = open.iter().flat_map(|waiting| &waiting.runs);
        runs.filter(|(_, sender)| sender.receiver_count() > 0).map(|(run, _)| run.clone()).collect()
    }

    /// Whether anyone waits for anything.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.lock().as_ref().is_some_and(|waiting| {
            waiting.feed.receiver_count() > 0 || waiting.runs.values().any(|sender| sender.receiver_count() > 0)
        })
    }

    /// Ends every wait, those to come too.
    pub fn close(&self) {
        *self.lock() = None;
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        // What is inside is valid at every step, so a panic elsewhere cannot have left it half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn publish(&self, run: &RunId, next: Seq) {
        if let Some(sender) = self.runs.get(run) {
            sender.send_if_modified(|known| {
                let grown = *known < next.get();
                *known = next.get().max(*known);
                grown
            });
        }
    }

    fn publish_feed(&self) {
        self.feed.send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}

/// A receiver whose sender is gone.
fn closed() -> watch::Receiver<u64> {
    watch::Sender::new(0).subscribe()
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
