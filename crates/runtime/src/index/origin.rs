//! What a forked session knows from the run that it goes on from.

use futures_util::future::BoxFuture;
use r1_event::{Payload, RunId, Seq};
use r1_store::{Pages, SharedStore, StoreError};

use super::event::{Event, Place};
use super::fold::erasures;
use super::progress::Progress;
use super::run::RunEntry;

/// How many runs may stand behind each other: a fork of a fork of a fork.
const MAX_DEPTH: usize = 64;

/// How far `run` had come after the event `last`. Reads that much of its log: once for each fork of a
/// session, whose status depends on it.
pub(super) async fn progress(store: &SharedStore, run: &RunId, last: Seq) -> Result<Progress, StoreError> {
    until(store, run, last, MAX_DEPTH).await
}

fn until<'a>(
    store: &'a SharedStore,
    run: &'a RunId,
    last: Seq,
    depth: usize,
) -> BoxFuture<'a, Result<Progress, StoreError>> {
    Box::pin(async move {
        let mut progress = Progress::default();
        let erasures = erasures(store, run).await?;
        let mut pages = Pages::of_all(&**store, run);
        while let Some(page) = pages.next().await? {
            for record in &page {
                let Some(place) = Place::of(record) else { continue };
                if place.seq > last {
                    return Ok(progress);
                }
                let event = match &record.payload {
                    Some(_) => Event::read(place, record),
                    None => Event::erased(place, record, erasures.get(&place.seq)),
                };
                if let (Some(Payload::RunStarted(started)), Some(depth)) = (event.payload(), depth.checked_sub(1))
                    && event.seq == Seq::FIRST
                {
                    let (mut entry, opening) = RunEntry::begin(run, &event, started);
                    if let Some((source, seq)) = &opening.origin {
                        entry.continue_from(until(store, source, *seq, depth).await?);
                    }
                    progress = entry.into_progress();
                }
                progress.apply(&event);
            }
        }
        Ok(progress)
    })
}
