//! A whole run at once: while one part is written, the next is read.

use std::ops::Range;

use futures_util::Stream;
use futures_util::stream;
use r1_event::{Record, RunId};
use r1_store::{PageLimit, SharedStore, StoreError};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{EventsError, RunEvents, Sheet, Wanted, seq};
use crate::control::view::place;

/// How much is read at a time: enough that the way to the reader and back does not count.
const PART: PageLimit = PageLimit { events: 1024, bytes: 512 << 10 };

impl RunEvents {
    /// The wanted ones of the events in `range`, one envelope per line, in parts.
    pub fn export(self, range: Range<u64>, wanted: Wanted) -> impl Stream<Item = Result<Vec<u8>, EventsError>> + Send {
        let (parts, received) = mpsc::channel(1);
        let reader = tokio::spawn(read(self.store.clone(), self.run.clone(), range.clone(), parts));
        let reader = AbortOnDropHandle::new(reader);
        let export = Export { events: self, wanted, range, parts: received, _reader: reader };
        stream::unfold(export, |mut export| async move { export.next().await.map(|part| (part, export)) })
    }
}

struct Export {
    events: RunEvents,
    wanted: Wanted,
    range: Range<u64>,
    parts: mpsc::Receiver<Result<Vec<Record>, StoreError>>,
    _reader: AbortOnDropHandle<()>,
}

impl Export {
    async fn next(&mut self) -> Option<Result<Vec<u8>, EventsError>> {
        loop {
            let written = match self.parts.recv().await? {
                Ok(records) => self.write(&records).await,
                Err(err) => Err(err.into()),
            };
            match written {
                // Nothing of it was wanted.
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Some(Ok(lines)),
                Err(err) => {
                    self.parts.close();
                    return Some(Err(err));
                }
            }
        }
    }

    async fn write(&mut self, records: &[Record]) -> Result<Vec<u8>, EventsError> {
        let mut sheet = Sheet::for_all(records);
        self.range.start = self.events.render(&mut sheet, self.range.start, records, &self.wanted).await?.next;
        Ok(sheet.into_lines())
    }
}

/// Reads the events in `range` in parts, at most one part ahead of whoever takes them.
async fn read(
    store: SharedStore,
    run: RunId,
    mut range: Range<u64>,
    parts: mpsc::Sender<Result<Vec<Record>, StoreError>>,
) {
    while !range.is_empty() {
        let part = match store.read(&run, seq(range.start), PART).await {
            Ok(page) => {
                // Sequences count from 0. Nothing may be left of a log that was pruned meanwhile.
                range.start = if page.records.is_empty() { range.end } else { page.next().get() - 1 };
                let mut records = page.records;
                records.retain(|record| place(record).is_none_or(|place| place.seq <= range.end));
                Ok(records)
            }
            Err(err) => {
                range.start = range.end;
                Err(err)
            }
        };
        if parts.send(part).await.is_err() {
            return;
        }
    }
}
