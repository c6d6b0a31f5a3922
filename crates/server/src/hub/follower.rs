//! One who follows a run.

use std::sync::Arc;

use r1_runtime::control::events::{EventsError, Rendered, RunEvents, Wanted};
use r1_store::PageLimit;
use tokio::sync::watch;

use super::channel::{Channel, End, Taken};

/// How much a follower takes at a time: what goes out as one piece.
const BATCH: PageLimit = PageLimit { events: 512, bytes: 128 << 10 };

/// Goes through the events of a run, and then along with it.
pub(crate) struct Follower {
    events: RunEvents,
    wanted: Wanted,
    next: u64,
    live: Option<Live>,
    ended: bool,
}

/// The part of a follower that looks at the channel.
struct Live {
    channel: Arc<Channel>,
    /// The first event that came after it joined.
    from: u64,
    reach: watch::Receiver<u64>,
}

/// What came next.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The wanted events; perhaps none of those that were looked at.
    pub(crate) events: Vec<Rendered>,
    /// The last event that was looked at, if any was.
    pub(crate) reached: Option<u64>,
}

impl Follower {
    /// Follows a run that goes on.
    pub(super) fn new(events: RunEvents, first: u64, wanted: Wanted, channel: Arc<Channel>) -> Self {
        let (from, reach) = channel.join();
        Self { events, wanted, next: first, live: Some(Live { channel, from, reach }), ended: false }
    }

    /// Goes through a run that has ended.
    pub(super) const fn of_ended(events: RunEvents, first: u64, wanted: Wanted) -> Self {
        Self { events, wanted, next: first, live: None, ended: false }
    }

    /// What is wanted.
    pub(crate) const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// What comes next, as soon as it is there; `None` after the run's last event. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, Stopped> {
        loop {
            if self.ended {
                return Ok(None);
            }
            let taken = match &self.live {
                Some(live) if self.next >= live.from => live.channel.take(self.next, BATCH),
                Some(_) | None => Taken::Gone,
            };
            match taken {
                Taken::Events { events, next } => return Ok(Some(self.took(events, next))),
                Taken::Gone => {
                    if let Some(batch) = self.read().await? {
                        return Ok(Some(batch));
                    }
                }
                Taken::Nothing => self.wait().await,
                Taken::End(End::Ended) => self.ended = true,
                Taken::End(End::Closed) => return Err(Stopped::Closed),
                Taken::End(End::Failed(err)) => return Err(Stopped::Failed(err)),
            }
        }
    }

    fn took(&mut self, mut events: Vec<Rendered>, next: u64) -> Batch {
        self.next = next;
        self.ended = events.last().is_some_and(|event| event.terminal);
        events.retain(|event| self.wanted.filter.takes(&event.type_name));
        Batch { events, reached: next.checked_sub(1) }
    }

    /// Reads on in the store.
    async fn read(&mut self) -> Result<Option<Batch>, Stopped> {
        let chunk = self.events.chunk(self.next, BATCH, &self.wanted).await.map_err(Stopped::from)?;
        if chunk.next == self.next {
            // Behind the end of a run that has ended.
            self.ended = true;
            return Ok(None);
        }
        self.next = chunk.next;
        self.ended = chunk.ended;
        Ok(Some(Batch { events: chunk.sheet.into_rendered().collect(), reached: chunk.next.checked_sub(1) }))
    }

    async fn wait(&mut self) {
        let Some(live) = &mut self.live else { return };
        // The sender lives in the channel that we hold.
        let _ = live.reach.changed().await;
    }
}

/// Why a follower cannot go on.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// The store was closed.
    #[error("the store was closed")]
    Closed,
    /// The store failed.
    #[error(transparent)]
    Failed(Arc<EventsError>),
}

impl From<EventsError> for Stopped {
    fn from(err: EventsError) -> Self {
        Self::Failed(Arc::new(err))
    }
}
