//! Events of all runs, in the order in which they became visible, as they are served.
//!
//! A place in the feed is a [`FeedCursor`]; as text it is what clients give back to go on. Nothing is skipped
//! because something before it was committed late: that is the store's promise.

mod known;

use std::collections::HashMap;
use std::sync::Arc;

use r1_event::RunId;
use r1_protocol::{EnvelopeWriter, RunFacts, View};
use r1_store::watch::FeedWatch;
use r1_store::{FeedCursor, FeedItem, PageLimit, SharedStore};

use self::known::Known;
use super::events::{Beside, EventsError, Filter, MAX_LIMIT, MAX_PAGE_BYTES, Rendered, Sheet};
use super::view::place;

/// How many events one question looks at before it answers with what it has.
const MAX_SCAN: usize = 100_000;

/// The feed of a store, for all who read it.
#[derive(Clone)]
pub struct Feed {
    store: SharedStore,
    known: Arc<Known>,
}

/// Which events of the feed are wanted, and how.
#[derive(Clone, Debug, Default)]
pub struct FeedWanted {
    /// Of these types.
    pub types: Filter,
    /// Of this run, by its id in the store.
    pub run: Option<RunId>,
    /// Of runs of this task.
    pub task_id: Option<String>,
    /// Of runs of this session.
    pub session_id: Option<String>,
    /// Of runs of this kind.
    pub kind: Option<String>,
    /// How they are shown.
    pub view: View,
}

/// One event of the feed as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEvent {
    /// Go on after this to get the next one.
    pub cursor: FeedCursor,
    /// The event.
    pub event: Rendered,
}

/// A part of the feed.
#[derive(Clone, Debug)]
pub struct FeedChunk {
    /// The events that are wanted.
    pub events: Vec<FeedEvent>,
    /// Where to go on.
    pub next: FeedCursor,
    /// Whether more was stored when this was read.
    pub has_more: bool,
}

impl Feed {
    /// The feed of this store. `remembered` is of how many runs the facts are kept at hand.
    #[must_use]
    pub fn new(store: SharedStore, remembered: usize) -> Self {
        Self { store, known: Arc::new(Known::new(remembered)) }
    }

    /// Where the feed ends now.
    pub async fn end(&self) -> Result<FeedCursor, EventsError> {
        Ok(self.store.feed_end().await?)
    }

    /// Wakes when any log grows; made before the first look, so that nothing falls between the two.
    #[must_use]
    pub fn watch(&self) -> FeedWatch {
        self.store.watch_feed()
    }

    /// Up to `limit` events after `cursor`, of those that are wanted.
    pub async fn page(&self, cursor: FeedCursor, limit: usize, wanted: &FeedWanted) -> Result<FeedChunk, EventsError> {
        let limit = PageLimit { events: limit.clamp(1, MAX_LIMIT), bytes: MAX_PAGE_BYTES };
        let (mut page, mut scanned) = (Part::new(limit), 0);
        let mut next = cursor;
        loop {
            let (looked_at, after) = self.fill(&mut page, next, limit, wanted).await?;
            scanned += looked_at;
            let advanced = after > next;
            next = after;
            if page.sheet.is_full() || scanned >= MAX_SCAN || !advanced {
                // A full page need not be the end.
                let has_more = advanced && !self.store.read_feed(next, PageLimit::ONE).await?.items.is_empty();
                return Ok(page.finish(next, has_more));
            }
        }
    }

    /// One look into the feed after `cursor`: what a stream is made of.
    pub async fn chunk(
        &self,
        cursor: FeedCursor,
        limit: PageLimit,
        wanted: &FeedWanted,
    ) -> Result<FeedChunk, EventsError> {
        let mut part = Part::new(limit);
        let (_, next) = self.fill(&mut part, cursor, limit, wanted).await?;
        Ok(part.finish(next, next > cursor))
    }

    /// Reads once and puts into the part what is wanted and has room. Tells how many events it looked at, and
    /// where it stopped.
    async fn fill(
        &self,
        part: &mut Part,
        cursor: FeedCursor,
        limit: PageLimit,
        wanted: &FeedWanted,
    ) -> Result<(usize, FeedCursor), EventsError> {
        let limit = if wanted.is_all() { limit } else { PageLimit::BULK };
        let page = self.store.read_feed(cursor, limit).await?;
        let (mut gone, mut last) = (HashMap::new(), cursor);
        for (at, item) in page.items.iter().enumerate() {
            if !self.put(part, item, wanted, &mut gone).await? {
                return Ok((at, last));
            }
            last = item.cursor;
        }
        Ok((page.items.len(), page.next))
    }

    /// Puts an event into the part if it is wanted; false if it has no room.
    async fn put(
        &self,
        part: &mut Part,
        item: &FeedItem,
        wanted: &FeedWanted,
        gone: &mut HashMap<RunId, Beside>,
    ) -> Result<bool, EventsError> {
        let FeedItem { cursor, run, record } = item;
        if wanted.run.as_ref().is_some_and(|wanted| wanted != run) {
            return Ok(true);
        }
        let sequence = place(record).and_then(|place| place.seq.checked_sub(1));
        let sequence = sequence.ok_or_else(|| super::events::unreadable(run))?;
        if record.payload.is_none() {
            let beside = gone.entry(run.clone()).or_default();
            beside.know_erasure(&self.store, run, record, sequence).await?;
        }
        let erased = gone.get(run).and_then(|beside| beside.erasure(sequence));
        if !wanted.types.is_all() {
            let type_name = EnvelopeWriter::type_of(record, erased);
            if !type_name.is_some_and(|type_name| wanted.types.takes(&type_name)) {
                return Ok(true);
            }
        }
        let writer = self.writer(item, sequence).await?;
        if !wanted.takes_runs_with(writer.facts()) {
            return Ok(true);
        }
        let put = part.sheet.put(|out| writer.write(out, record, erased, wanted.view));
        let put = put.ok_or_else(|| super::events::unreadable(run))?;
        if put {
            part.cursors.push(*cursor);
        }
        Ok(put)
    }

    /// The writer of the run that an event belongs to.
    async fn writer(&self, item: &FeedItem, sequence: u64) -> Result<Arc<EnvelopeWriter>, EventsError> {
        if let Some(writer) = self.known.get(&item.run) {
            return Ok(writer);
        }
        let told = (sequence == 0 && item.record.payload.is_some()).then(|| RunFacts::of_first(&item.record, None));
        let facts = match told.flatten() {
            Some(facts) => facts,
            None => Beside::default().facts(&self.store, &item.run).await?,
        };
        let writer = Arc::new(EnvelopeWriter::new(facts));
        self.known.keep(item.run.clone(), writer.clone());
        Ok(writer)
    }
}

impl FeedWanted {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        let Self { types, run, task_id, session_id, kind, view: _ } = self;
        types.is_all() && run.is_none() && task_id.is_none() && session_id.is_none() && kind.is_none()
    }

    fn takes_runs_with(&self, facts: &RunFacts) -> bool {
        let fits = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        fits(&self.task_id, &facts.task_id)
            && fits(&self.session_id, &facts.session_id)
            && fits(&self.kind, &facts.run_kind)
    }
}

/// A part of the feed in the making.
struct Part {
    sheet: Sheet,
    cursors: Vec<FeedCursor>,
}

impl Part {
    const fn new(limit: PageLimit) -> Self {
        Self { sheet: Sheet::new(limit.events, limit.bytes), cursors: Vec::new() }
    }

    fn finish(self, next: FeedCursor, has_more: bool) -> FeedChunk {
        let events = self.cursors.into_iter().zip(self.sheet.into_rendered());
        FeedChunk { events: events.map(|(cursor, event)| FeedEvent { cursor, event }).collect(), next, has_more }
    }
}
