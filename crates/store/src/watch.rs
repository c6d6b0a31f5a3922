//! Wake-ups: "this log has grown, go and read", "a command is waiting".
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
    /// By run, the highest seq that is known to be free.
    runs: Topics,
    /// By run, the position of the newest command that is known.
    commands: Topics,
    /// Counts published changes of any run.
    feed: watch::Sender<u64>,
}

impl Default for Watches {
    fn default() -> Self {
        let waiting = Waiting { runs: Topics::default(), commands: Topics::default(), feed: watch::Sender::new(0) };
        Self { open: Arc::new(Mutex::new(Some(waiting))) }
    }
}

impl Watches {
    /// Waits for `run` to grow.
    #[must_use]
    pub fn watch(&self, run: &RunId) -> HeadWatch {
        let mut open = self.lock();
        let receiver = open.as_mut().map_or_else(closed, |waiting| waiting.runs.subscribe(run));
        HeadWatch { receiver }
    }

    /// Waits for commands to be left for `run`.
    #[must_use]
    pub fn watch_commands(&self, run: &RunId) -> CommandWatch {
        let mut open = self.lock();
        let receiver = open.as_mut().map_or_else(closed, |waiting| waiting.commands.subscribe(run));
        CommandWatch { receiver }
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
                waiting.runs.raise(run, next.get());
            }
        }
        waiting.publish_feed();
    }

    /// Tells that the newest command for `run` has this position, which grows with every command.
    pub fn publish_command(&self, run: &RunId, position: u64) {
        if let Some(waiting) = self.lock().as_ref() {
            waiting.commands.raise(run, position);
        }
    }

    /// Tells that the next event of `run` will have seq `next`, and nothing to those who wait for any run.
    pub fn publish_run(&self, run: &RunId, next: Seq) {
        if let Some(waiting) = self.lock().as_ref() {
            waiting.runs.raise(run, next.get());
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
        self.lock().as_ref().map_or_else(Vec::new, |waiting| waiting.runs.watched().cloned().collect())
    }

    /// Whether anyone waits for anything.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.lock().as_ref().is_some_and(|waiting| {
            waiting.feed.receiver_count() > 0
                || waiting.runs.watched().next().is_some()
                || waiting.commands.watched().next().is_some()
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
    fn publish_feed(&self) {
        // Who begins to wait later has read the feed later, and begins under the same lock.
        if self.feed.receiver_count() > 0 {
            self.feed.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }
}

/// A number per run that only grows, and who waits for it to.
#[derive(Debug, Default)]
struct Topics {
    runs: HashMap<RunId, watch::Sender<u64>>,
}

impl Topics {
    fn subscribe(&mut self, run: &RunId) -> watch::Receiver<u64> {
        // Runs that nobody waits for any more are dropped here, so the map is bounded by the waiters.
        if self.runs.len().is_power_of_two() {
            self.runs.retain(|_, sender| sender.receiver_count() > 0);
        }
        self.runs.entry(run.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    fn raise(&self, run: &RunId, number: u64) {
        if let Some(sender) = self.runs.get(run) {
            sender.send_if_modified(|known| {
                let grown = *known < number;
                *known = number.max(*known);
                grown
            });
        }
    }

    fn watched(&self) -> impl Iterator<Item = &RunId> {
        self.runs.iter().filter(|(_, sender)| sender.receiver_count() > 0).map(|(run, _)| run)
    }

    fn is_empty(&self) -> bool {
        self.runs.is_empty()
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

/// Waits for commands to be left for one run.
#[derive(Clone, Debug)]
pub struct CommandWatch {
    receiver: watch::Receiver<u64>,
}

impl CommandWatch {
    /// Returns when a command may have been left since the last call; false when the store was closed.
    /// Cancel-safe.
    pub async fn arrived(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }
}
