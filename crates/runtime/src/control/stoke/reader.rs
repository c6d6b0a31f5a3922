//! The lines of a run in a store.

use r1_event::side_record::Prune;
use r1_event::{Record, RunId, Seq};
use r1_protocol::stoke::{Line, Options};
use r1_receipt::Graph;
use r1_receipt::graph::Notes;
use r1_store::watch::HeadWatch;
use r1_store::{PageLimit, Pages, SharedStore};

use super::{RunLines, notes};
use crate::control::events::{Beside, EventsError, unreadable};
use crate::control::view::place;
use crate::source::{Log, SourceError, StoredRun};

/// So many events are read at once: few enough that a reader who stops holds little in memory.
const PAGE: PageLimit = PageLimit { events: 256, bytes: 1 << 20 };

/// Reads the lines of one run, a look at a time.
pub struct Reader {
    store: SharedStore,
    run: RunId,
    watch: HeadWatch,
    lines: RunLines,
    next: Seq,
}

/// What one look into the log gave.
#[derive(Debug, Default)]
pub struct Look {
    /// The events that were looked at, each with its lines.
    pub events: Vec<(Record, Vec<Line>)>,
    /// Where the log ended then: the place of the event that comes next.
    pub head: u64,
    /// Whether the run has ended, and all of it was read.
    pub ended: bool,
}

impl Reader {
    /// Opens a run's lines from its beginning.
    pub async fn open(store: SharedStore, run: RunId, options: Options) -> Result<Self, EventsError> {
        // Watching begins before the first read: what is appended between the two is not missed.
        let watch = store.watch(&run);
        let facts = Beside::default().facts(&store, &run).await?;
        let (log, notes) = beside(&store, &run).await?;
        let lines = RunLines::new(facts, options, log.side_records(), notes);
        Ok(Self { store, run, watch, lines, next: Seq::FIRST })
    }

    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.run
    }

    /// The session that its lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.lines.session_id()
    }

    /// The place of the event that it reads next.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.next
    }

    /// Reads what is there, up to a limit. Nothing if nothing new is.
    pub async fn look(&mut self) -> Result<Look, EventsError> {
        let page = self.store.read(&self.run, self.next, PAGE).await?;
        let next = page.next();
        let mut events = Vec::with_capacity(page.records.len());
        for record in page.records {
            let Some(place) = place(&record) else { return Err(unreadable(&self.run)) };
            let gap = if place.seq > self.next.get() { self.gap().await? } else { None };
            if record.payload.is_none() && !self.lines.knows_erasure(place.seq) {
                self.relearn(place.seq).await?;
            }
            let lines = gap.into_iter().chain(self.lines.push(&record)).collect();
            events.push((record, lines));
        }
        self.next = next;
        // Asked after the events: what came between the two is found by the next look.
        let head = self.store.head(&self.run).await?;
        let ended = head.as_ref().is_some_and(|head| head.terminal.is_some() && head.next <= self.next);
        Ok(Look { events, head: head.map_or(self.next, |head| head.next).get(), ended })
    }

    /// Waits until there may be something new; false if the store was closed. Cancel-safe.
    pub async fn wait(&mut self) -> bool {
        self.watch.grown(self.next).await
    }

    /// Content went while the run was read: its graph is made anew, up to `seq`, from what was kept of that.
    async fn relearn(&mut self, seq: u64) -> Result<(), EventsError> {
        let (log, notes) = beside(&self.store, &self.run).await?;
        let mut graph = Graph::new(notes);
        let mut pages = Pages::new(&*self.store, &self.run, Seq::FIRST, PAGE);
        'before: while let Some(page) = pages.next().await? {
            for record in &page {
                if place(record).is_none_or(|place| place.seq >= seq) {
                    break 'before;
                }
                graph.push(record);
            }
        }
        self.lines.relearn(graph, log.side_records());
        Ok(())
    }

    /// The line in place of events that were pruned.
    async fn gap(&self) -> Result<Option<Line>, EventsError> {
        let side_records = self.store.side_records(&self.run).await?;
        Ok(Prune::furthest(&side_records).map(|prune| self.lines.pruned(prune)))
    }
}

/// What is kept beside a run, and what its graph needs of that.
async fn beside(store: &SharedStore, run: &RunId) -> Result<(Log, Notes), EventsError> {
    let log = Log::Stored(StoredRun::open(store.clone(), run.clone()).await?);
    match notes(&log).await {
        Ok(notes) => Ok((log, notes)),
        Err(SourceError::Store(err)) => Err(err.into()),
        // What is in a store is not in a file.
        Err(_) => Err(unreadable(run)),
    }
}
