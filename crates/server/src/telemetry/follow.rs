//! Reading what this node's workers write, behind them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use r1_event::{Kind, Payload, Record, RunId, Seq, Version};
use r1_protocol::data::{self, EventData as _};
use r1_store::{FeedCursor, FeedItem, PageLimit, Pages, SharedStore, StoreError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::meter::Meter;
use super::spans::{Event, RunSpans};

/// So many runs are followed at a time; the one that has been silent the longest is let go.
const MAX_RUNS: usize = 10_000;
/// How long a store that fails is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows the runs that this node works on.
pub(super) struct Follower {
    store: SharedStore,
    instance: String,
    content: bool,
    queue: mpsc::Sender<Span>,
    meter: Arc<Mutex<Meter>>,
    runs: HashMap<RunId, Followed>,
    /// Counts events, to know which run has been silent the longest.
    clock: u64,
    dropped: u64,
}

struct Followed {
    spans: RunSpans,
    heard: u64,
}

impl Follower {
    pub(super) fn new(
        store: SharedStore,
        instance: &str,
        content: bool,
        queue: mpsc::Sender<Span>,
        meter: Arc<Mutex<Meter>>,
    ) -> Self {
        let (instance, runs) = (instance.to_owned(), HashMap::new());
        Self { store, instance, content, queue, meter, runs, clock: 0, dropped: 0 }
    }

    /// Follows from a place in the feed until `stop`, and then to the end of what is stored.
    pub(super) async fn run(mut self, from: FeedCursor, stop: CancellationToken) {
        let mut watch = self.store.watch_feed();
        let mut cursor = Some(from);
        while let Some(at) = cursor {
            let stopping = stop.is_cancelled();
            cursor = match self.step(at).await {
                Ok(next) if next > at => Some(next),
                Ok(_) if stopping => None,
                Ok(next) => {
                    let more = tokio::select! {
                        grown = watch.grown() => grown,
                        () = stop.cancelled() => true,
                    };
                    more.then_some(next)
                }
                Err(_) if stopping => None,
                Err(err) => {
                    tracing::warn!(error = %err, "telemetry cannot read the store; it will try again");
                    tokio::time::sleep(PAUSE).await;
                    Some(at)
                }
            };
        }
    }

    async fn step(&mut self, cursor: FeedCursor) -> Result<FeedCursor, StoreError> {
        let page = self.store.read_feed(cursor, PageLimit::default()).await?;
        for FeedItem { run, record, cursor: _ } in page.items {
            self.hear(&run, &record).await?;
        }
        Ok(page.next)
    }

    async fn hear(&mut self, run: &RunId, record: &Record) -> Result<(), StoreError> {
        let Some((seq, kind, payload)) = read(record) else { return Ok(()) };
        match worker(&payload) {
            // Also if we had it before: somebody else may have worked on it in between.
            Some(worker) if worker == self.instance => self.follow(run, seq).await?,
            Some(_) => {
                self.runs.remove(run);
            }
            None => {}
        }
        self.clock += 1;
        let Some(followed) = self.runs.get_mut(run) else { return Ok(()) };
        followed.heard = self.clock;
        let sampled = followed.spans.sampled();
        for ended in followed.spans.take(event(record, &payload)) {
            self.meter.lock().unwrap_or_else(PoisonError::into_inner).count(&ended);
            if sampled && self.queue.try_send(ended.span).is_err() {
                self.count_dropped();
            }
        }
        if kind.is_terminal() {
            self.runs.remove(run);
        }
        Ok(())
    }

    fn count_dropped(&mut self) {
        self.dropped += 1;
        // The first one, and then ever more rarely.
        if self.dropped.is_power_of_two() {
            tracing::warn!(dropped = self.dropped, "the collector is too slow: spans are dropped");
        }
    }

    /// Learns what there is to know of a run before event `until`, without telling it.
    async fn follow(&mut self, run: &RunId, until: Seq) -> Result<(), StoreError> {
        let mut spans: Option<RunSpans> = None;
        let mut pages = Pages::new(&*self.store, run, Seq::FIRST, PageLimit::default());
        'before: while let Some(page) = pages.next().await? {
            for record in &page {
                let Some((seq, _, payload)) = read(record) else { return Ok(()) };
                if seq >= until {
                    break 'before;
                }
                let event = event(record, &payload);
                match (&mut spans, &payload) {
                    (Some(spans), _) => drop(spans.take(event)),
                    (None, Payload::RunStarted(started)) => {
                        spans = Some(RunSpans::new(run, event, started, self.content));
                    }
                    // Its beginning is gone, and with it what its spans would be called.
                    (None, _) => return Ok(()),
                }
            }
        }
        // Pages that are still being read ahead hold on to the store, and so to all of this.
        drop(pages);
        if let Some(spans) = spans {
            self.make_room();
            self.runs.insert(run.clone(), Followed { spans, heard: self.clock });
        }
        Ok(())
    }

    fn make_room(&mut self) {
        if self.runs.len() < MAX_RUNS {
            return;
        }
        let silent = self.runs.iter().min_by_key(|(_, followed)| followed.heard).map(|(run, _)| run.clone());
        silent.map(|run| self.runs.remove(&run));
    }
}

fn event<'a>(record: &Record, payload: &'a Payload) -> Event<'a> {
    let at = record.header().map_or(r1_event::UnixNanos(0), |header| header.ts);
    Event { hash: record.hash(), at, payload }
}

/// A record of our own format that says something; `None` for others, and for erased ones.
fn read(record: &Record) -> Option<(Seq, Kind, Payload)> {
    if record.version() != Some(Version::V2) {
        return None;
    }
    let header = record.header().ok()?;
    let payload = match &record.payload {
        Some(bytes) => Payload::decode(header.kind, bytes).ok()?,
        None => Payload::Other(header.kind.number(), bytes::Bytes::new()),
    };
    Some((header.seq, header.kind, payload))
}

/// Whose run it is from this event on.
fn worker(payload: &Payload) -> Option<String> {
    match payload {
        Payload::Typed(typed) => data::RunStarted::read(typed).map(|started| started.worker_id),
        Payload::RunResumed(resumed) => resumed.worker_id.clone(),
        _ => None,
    }
}
