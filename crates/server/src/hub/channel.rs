//! One run's newest events, written once for all who follow it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use r1_protocol::View;
use r1_runtime::control::events::{EventsError, Filter, Rendered, RunEvents, Wanted};
use r1_store::PageLimit;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::Leave;

/// What a channel keeps at most for those who are a little behind.
const WINDOW: PageLimit = PageLimit { events: 1024, bytes: 1 << 20 };
/// What its task reads at a time.
const READ: PageLimit = PageLimit { events: 256, bytes: 256 << 10 };

/// The newest events of one run.
pub(super) struct Channel {
    window: Mutex<Window>,
    /// How far the window reaches; wakes those who wait.
    reach: watch::Sender<u64>,
    _reader: AbortOnDropHandle<()>,
    _leave: Leave,
}

struct Window {
    /// The sequence of the first event in it, or of the next if it is empty.
    first: u64,
    /// The sequence that comes next.
    next: u64,
    events: VecDeque<Rendered>,
    bytes: usize,
    end: Option<End>,
}

/// Why nothing more comes.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The run has ended.
    Ended,
    /// The store was closed.
    Closed,
    /// The store failed.
    Failed(Arc<EventsError>),
}

/// What a channel has from some event on.
pub(super) enum Taken {
    /// These, and then what comes at `next`.
    Events { events: Vec<Rendered>, next: u64 },
    /// No more of it: it is in the store.
    Gone,
    /// Nothing yet.
    Nothing,
    /// Nothing, ever.
    End(End),
}

impl Channel {
    /// Begins to read at the event `next`.
    pub(super) fn open(events: RunEvents, view: View, next: u64, leave: Leave) -> Arc<Self> {
        Arc::new_cyclic(|channel: &Weak<Self>| {
            let window = Window { first: next, next, events: VecDeque::new(), bytes: 0, end: None };
            Self {
                window: Mutex::new(window),
                reach: watch::Sender::new(next),
                _reader: AbortOnDropHandle::new(tokio::spawn(read(events, view, next, channel.clone()))),
                _leave: leave,
            }
        })
    }

    /// Whether events may still come.
    pub(super) fn is_open(&self) -> bool {
        self.lock().end.is_none()
    }

    /// The sequence that comes next, and a way to hear of more.
    pub(super) fn join(&self) -> (u64, watch::Receiver<u64>) {
        // First to listen, then to look: what comes between is heard.
        let reach = self.reach.subscribe();
        (self.lock().next, reach)
    }

    /// Events from `from` on, as many as fit into `limit`.
    pub(super) fn take(&self, from: u64, limit: PageLimit) -> Taken {
        let window = self.lock();
        if from < window.first {
            return Taken::Gone;
        }
        let (mut events, mut bytes) = (Vec::new(), 0);
        let start = window.events.partition_point(|event| event.sequence < from);
        for event in window.events.range(start..) {
            if !events.is_empty() && (events.len() >= limit.events || bytes + event.bytes.len() > limit.bytes) {
                break;
            }
            bytes += event.bytes.len();
            events.push(event.clone());
        }
        match (events.last(), &window.end) {
            (Some(last), _) => {
                let next = last.sequence + 1;
                Taken::Events { events, next }
            }
            (None, Some(end)) => Taken::End(end.clone()),
            (None, None) => Taken::Nothing,
        }
    }

    fn add(&self, events: impl Iterator<Item = Rendered>, next: u64) {
        let mut window = self.lock();
        for event in events {
            window.bytes += event.bytes.len();
            window.events.push_back(event);
        }
        window.next = next;
        while window.events.len() > WINDOW.events || window.bytes > WINDOW.bytes {
            let Some(oldest) = window.events.pop_front() else { break };
            window.bytes -= oldest.bytes.len();
            window.first = oldest.sequence + 1;
        }
        drop(window);
        self.reach.send_replace(next);
    }

    fn close(&self, end: End) {
        self.lock().end = Some(end);
        self.reach.send_modify(|_| {});
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads until the run ends or nobody is left.
async fn read(mut events: RunEvents, view: View, mut next: u64, channel: Weak<Channel>) {
    let wanted = Wanted { filter: Filter::default(), view };
    let mut watch = events.watch();
    let mut closed = false;
    loop {
        let chunk = events.chunk(next, READ, &wanted).await;
        // Held only while there is something to say: a channel lives as long as its followers.
        let Some(channel) = channel.upgrade() else { return };
        match chunk {
            Ok(chunk) if chunk.next > next => {
                next = chunk.next;
                channel.add(chunk.sheet.into_rendered(), next);
                if chunk.ended {
                    return channel.close(End::Ended);
                }
            }
            Ok(_) if closed => return channel.close(End::Closed),
            Ok(_) => {
                drop(channel);
                closed = !RunEvents::wait(&mut watch, next).await;
            }
            Err(err) => return channel.close(End::Failed(Arc::new(err))),
        }
    }
}
