//! Everything that is read, each within one snapshot of the file.

use std::collections::HashMap;

use bytes::Bytes;
use r1_event::{Chain, Record, RunId, Seq, SideRecord};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::row::{self, RunRow, signed};
use super::standing;
use crate::error::StoreError;
use crate::feed::{FeedCursor, FeedItem, FeedPage};
use crate::page::LogPage;
use crate::run::{Head, Listed, RunFilter, RunPage, RunPosition, RunSummary, Unreadable};
use crate::store::PageLimit;

pub(super) fn head(db: &Connection, run: &RunId) -> Result<Option<Head>, StoreError> {
    Ok(summary(db, run)?.map(|summary| summary.head))
}

/// The chain at the last snapshot, followed through the events after it.
pub(super) fn chain(db: &Connection, run: &RunId) -> Result<Option<Chain>, StoreError> {
    let Some(row) = RunRow::look_up(db, run)? else { return Ok(None) };
    let damaged = |reason: String| StoreError::Damaged { run: run.clone(), reason };
    let mut snapshot = db.prepare_cached("SELECT snapshot FROM runs WHERE id = ?1")?;
    let snapshot: Option<Vec<u8>> = snapshot.query_one([row.id], |row| row.get(0))?;
    let mut chain = match snapshot {
        Some(bytes) => Chain::from_snapshot(run.clone(), &bytes).map_err(|err| damaged(err.to_string()))?,
        None => Chain::empty(run.clone(), row.version),
    };
    let mut events = db.prepare_cached(
        "SELECT header, CASE ?2 WHEN 1 THEN payload END FROM events WHERE run = ?1 AND seq > ?3 ORDER BY seq",
    )?;
    let mut events = events.query(params![row.id, row.version.number(), signed(chain.size())])?;
    while let Some(event) = events.next()? {
        chain.follow(&row::record(event, 0)?).map_err(|err| damaged(err.to_string()))?;
    }
    Ok(Some(chain))
}

pub(super) fn page(db: &Connection, run: &RunId, from: Seq, limit: PageLimit) -> Result<LogPage, StoreError> {
    let asked = from;
    let Some(run) = Shelved::of(db, run)?.filter(|_| from.get() < Seq::MAX) else { return Ok(LogPage::empty(asked)) };
    let from = signed(run.pruned_through.map_or(Seq::FIRST, Seq::next).max(from).get());
    let lying = match neighbours(db, run.id, from, sql_limit(limit))? {
        Some(ends) => as_it_lies(db, run.id, from, ends, limit)?,
        None => None,
    };
    let (sheet, last) = match lying {
        Some(page) => page,
        None => by_index(db, run.id, from, limit)?,
    };
    Ok(LogPage::new(asked, sheet.records().collect(), last))
}

/// All that reading a log takes of its run's row: a log can be read whatever became of the rest.
struct Shelved {
    id: i64,
    pruned_through: Option<Seq>,
}

impl Shelved {
    fn of(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Self>> {
        let mut found = db.prepare_cached("SELECT id, pruned_through FROM runs WHERE run_id = ?1")?;
        found.query_one([run.as_str()], |row| Ok(Self { id: row.get(0)?, pruned_through: pruned(row, 1) })).optional()
    }
}

/// The last event that was pruned, as far as that can be told.
fn pruned(row: &Row<'_>, index: usize) -> Option<Seq> {
    row::seq(row, index).ok()
}

fn by_index(db: &Connection, run: i64, from: i64, limit: PageLimit) -> rusqlite::Result<(Sheet, Option<Seq>)> {
    let mut events = db
        .prepare_cached("SELECT seq, header, payload FROM events WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3")?;
    let mut events = events.query([run, from, sql_limit(limit)])?;
    let (mut room, mut sheet, mut last) = (limit.room(), Sheet::within(limit), None);
    while let Some(event) = events.next()?
        && sheet.take(event, 1, &mut room)?
    {
        last = Some(row::seq(event, 0)?);
    }
    Ok((sheet, last))
}

/// The events from one position to another; `None` if they are not the run's next ones, one after the other. Then
/// someone changed the rows, and only the index tells what is read.
fn as_it_lies(
    db: &Connection,
    run: i64,
    from: i64,
    (first, last): (i64, i64),
    limit: PageLimit,
) -> rusqlite::Result<Option<(Sheet, Option<Seq>)>> {
    // The database compares while it reads, for a fraction of what it costs to ask for the values. Without the `+` it
    // would go by the index after all.
    let mut events = db.prepare_cached(
        "SELECT header, payload, pos FROM events
         WHERE pos BETWEEN ?1 AND ?2 AND +run = ?3 AND seq - pos = ?4 ORDER BY pos",
    )?;
    let mut events = events.query([first, last, run, from.wrapping_sub(first)])?;
    let (mut room, mut sheet, mut pos) = (limit.room(), Sheet::within(limit), first);
    while let Some(event) = events.next()? {
        if !sheet.take(event, 0, &mut room)? {
            let is_next = event.get::<_, i64>(2)? == pos;
            return Ok(is_next.then(|| (sheet, row_seq(from, pos - first))));
        }
        pos += 1;
    }
    // Each that was left out is missed here.
    Ok((pos - 1 == last).then(|| (sheet, row_seq(from, pos - first))))
}

/// The place of the last of `count` events from `from` on.
fn row_seq(from: i64, count: i64) -> Option<Seq> {
    Seq::new((from + count).cast_unsigned().saturating_sub(1))
}

/// The first and the last position of up to `count` events from seq `from` on, if nothing else lies
/// between them: a run that was written alone is read as it lies, which is faster than by its index.
///
/// Positions grow with seqs, so where both span equally many numbers there is no room for other events.
fn neighbours(db: &Connection, run: i64, from: i64, count: i64) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut ends = db.prepare_cached(
        "SELECT first.pos, last.pos FROM events AS first JOIN events AS last ON last.run = first.run
         WHERE first.run = ?1 AND first.seq = ?2
           AND last.seq = (SELECT max(seq) FROM events WHERE run = ?1 AND seq < ?3)
           AND last.pos - first.pos = last.seq - first.seq",
    )?;
    ends.query_one([run, from, from.saturating_add(count)], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

pub(super) fn feed(db: &Connection, after: FeedCursor, limit: PageLimit) -> Result<FeedPage, StoreError> {
    let mut events =
        db.prepare_cached("SELECT pos, run, seq, header, payload FROM events WHERE pos > ?1 ORDER BY pos LIMIT ?2")?;
    let mut events = events.query(params![signed(after.position), sql_limit(limit)])?;
    let (mut room, mut sheet) = (limit.room(), Sheet::within(limit));
    let mut runs: HashMap<i64, Option<Feeding>> = HashMap::new();
    let (mut places, mut next) = (Vec::new(), after);
    while let Some(event) = events.next()? {
        let id = event.get(1)?;
        let run = match runs.entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(Feeding::of(db, id)?),
        };
        let cursor = FeedCursor { epoch: 0, position: row::unsigned(event, 0)? };
        // Events that are being pruned may still be there for a moment.
        let is_there = |run: &&mut Feeding| {
            run.pruned_through.is_none_or(|gone| gone.get().cast_signed() < event.get(2).unwrap_or(i64::MAX))
        };
        if let Some(run) = run.as_mut().filter(is_there) {
            if !sheet.take(event, 3, &mut room)? {
                break;
            }
            places.push((cursor, run.run_id.clone()));
        }
        next = cursor;
    }
    let items = places.into_iter().zip(sheet.records());
    Ok(FeedPage { items: items.map(|((cursor, run), record)| FeedItem { cursor, run, record }).collect(), next })
}

/// The place of the newest event.
pub(super) fn feed_end(db: &Connection) -> Result<FeedCursor, StoreError> {
    let mut last = db.prepare_cached("SELECT coalesce(max(pos), 0) FROM events")?;
    Ok(FeedCursor { epoch: 0, position: last.query_one([], |row| row::unsigned(row, 0))? })
}

/// What the feed needs of a run's row.
struct Feeding {
    run_id: RunId,
    pruned_through: Option<Seq>,
}

impl Feeding {
    /// `None` if the row is gone or does not tell which run it is.
    fn of(db: &Connection, id: i64) -> rusqlite::Result<Option<Self>> {
        let mut run = db.prepare_cached("SELECT run_id, pruned_through FROM runs WHERE id = ?1")?;
        let found = run.query_one([id], |row| {
            let run_id = row::run_id(row, 0);
            Ok(run_id.map(|run_id| Self { run_id, pruned_through: pruned(row, 1) }))
        });
        Ok(found.optional()?.flatten())
    }
}

pub(super) fn summary(db: &Connection, run: &RunId) -> Result<Option<RunSummary>, StoreError> {
    let Some(row) = RunRow::look_up(db, run)? else { return Ok(None) };
    summarise(db, row)?.map(Some).map_err(|why| why.of(run))
}

pub(super) fn list(db: &Connection, filter: &RunFilter) -> Result<RunPage, StoreError> {
    let RunFilter { id_prefix, finished, updated_before, after, limit } = filter;
    let limit = if *limit == 0 { 100 } else { *limit };
    let mut page = RunPage::default();
    // Keys of any sign go on behind themselves, whoever wrote them.
    let Some(last) = after.map_or(Some(i64::MAX), |RunPosition(id)| id.cast_signed().checked_sub(1)) else {
        return Ok(page);
    };
    let mut runs = db.prepare_cached(
        "SELECT id, run_id, version, started_at, terminal, pruned_through FROM runs
         WHERE id <= ?1 AND (?2 IS NULL OR (terminal IS NOT NULL) = ?2)
           AND (?3 IS NULL OR substr(run_id, 1, length(?3)) = ?3)
         ORDER BY id DESC",
    )?;
    let mut runs = runs.query(params![last, finished, id_prefix])?;
    while let Some(row) = runs.next()? {
        let found = match RunRow::read(row) {
            Ok(run) => summarise(db, run)?,
            Err(why) => Err(why),
        };
        let entry = match found {
            Ok(summary) if updated_before.is_some_and(|moment| summary.updated_at >= moment) => continue,
            Ok(summary) => Listed::Run(summary),
            Err(why) => Listed::Damaged(RunRow::damaged(row, &why)?),
        };
        page.entries.push(entry);
        if page.entries.len() == limit {
            page.next = Some(RunPosition(row.get::<_, i64>(0)?.cast_unsigned()));
            break;
        }
    }
    Ok(page)
}

/// A run's row in a listing, with its head.
pub(super) fn summarise(db: &Connection, row: RunRow) -> rusqlite::Result<Result<RunSummary, Unreadable>> {
    let last = match standing::last_event(db, &row) {
        Ok(last) => last,
        Err(err) if row::is_damage(&err) => return Ok(Err(Unreadable::LastEvent { reason: err.to_string() })),
        Err(err) => return Err(err),
    };
    let updated_at = last.as_ref().and_then(|(_, record)| crate::place(record)).map(|place| place.ts);
    Ok(Ok(RunSummary {
        version: row.version,
        head: standing::head_at(&row, last.as_ref()),
        started_at: row.started_at,
        updated_at: updated_at.unwrap_or(row.started_at),
        pruned_through: row.pruned_through,
        run_id: row.run_id,
    }))
}

pub(super) fn side_records(db: &Connection, run: &RunId) -> Result<Vec<SideRecord>, StoreError> {
    let mut records = db.prepare_cached(
        "SELECT record FROM side_records WHERE run = (SELECT id FROM runs WHERE run_id = ?1) ORDER BY id",
    )?;
    let mut records = records.query([run.as_str()])?;
    let mut decoded = Vec::new();
    while let Some(row) = records.next()? {
        decoded.push(SideRecord::restore(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?));
    }
    Ok(decoded)
}

/// Where the log of `run` goes on, from its index alone; `None` if it has no events.
pub(super) fn next_seq(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Seq>> {
    let mut last = db.prepare_cached(
        "SELECT seq FROM events WHERE run = (SELECT id FROM runs WHERE run_id = ?1) ORDER BY seq DESC LIMIT 1",
    )?;
    Ok(last.query_one([run.as_str()], |row| row::seq(row, 0)).optional()?.map(Seq::next))
}

/// One row more than may be returned is never needed, so the rows are limited in SQL already.
fn sql_limit(limit: PageLimit) -> i64 {
    signed(limit.events.max(1) as u64)
}

/// A page up to this size grows as it needs to: a reader at the end of a log holds no more than it reads.
const SMALL: usize = 16 << 10;
/// Whatever a caller allows, no more than this is set aside before it is needed.
const MOST: usize = 8 << 20;

/// A page in the making: the bytes of all its events in one buffer.
struct Sheet {
    /// The size of a full page, with its last event.
    full: usize,
    bytes: Vec<u8>,
    /// Lengths of header and payload.
    lengths: Vec<(usize, Option<usize>)>,
}

impl Sheet {
    fn within(limit: PageLimit) -> Self {
        Self { full: limit.bytes.saturating_add(SMALL), bytes: Vec::new(), lengths: Vec::new() }
    }

    /// Takes the event whose header is in column `index` if there is room for it.
    fn take(&mut self, row: &Row<'_>, index: usize, room: &mut crate::store::Room) -> rusqlite::Result<bool> {
        let header = row.get_ref(index)?.as_blob()?;
        let payload = match row.get_ref(index + 1)? {
            ValueRef::Null => None,
            value => Some(value.as_blob()?),
        };
        if !room.takes(header.len() + payload.map_or(0, <[u8]>::len)) {
            return Ok(false);
        }
        if self.bytes.len() >= SMALL {
            // Once, instead of by doubling: most pages that get this far are full ones.
            self.bytes.reserve(self.full.min(MOST).saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(header);
        self.bytes.extend_from_slice(payload.unwrap_or_default());
        self.lengths.push((header.len(), payload.map(<[u8]>::len)));
        Ok(true)
    }

    /// The events, as slices of the one buffer.
    fn records(self) -> impl Iterator<Item = Record> {
        let mut rest = Bytes::from(self.bytes);
        self.lengths.into_iter().map(move |(header, payload)| Record {
            header: rest.split_to(header),
            payload: payload.map(|length| rest.split_to(length)),
        })
    }
}
