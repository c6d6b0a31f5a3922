//! Heads, logs, the feed and listings.

use bytes::Bytes;
use r1_event::{Chain, Digest, Kind, Record, RunId, Seq, UnixNanos, Version};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::database::{Database, Param, failed};
use crate::error::StoreError;
use crate::feed::{FeedCursor, FeedItem, FeedPage};
use crate::page::LogPage;
use crate::run::{Head, Listed, RunFilter, RunPage, RunPosition, RunSummary, Unreadable, stored_id, stored_version};
use crate::store::PageLimit;

/// A run with its last event. Every run has one, and one that has lost all of them is shown all the same: who
/// checks it must find it. The payload is part of the hash in v1 only.
pub(super) const SUMMARY: &str = "
    SELECT r.id, r.run_id, r.version, r.terminal, r.started_at, r.pruned_through,
           e.seq, coalesce(e.ts, r.started_at) AS ts, e.header, CASE WHEN r.version = 1 THEN e.payload END AS payload
    FROM @runs r
    LEFT JOIN LATERAL (SELECT * FROM @events WHERE run = r.id ORDER BY seq DESC LIMIT 1) e ON true ";

impl Database {
    pub(super) async fn summary(&self, run: &RunId) -> Result<Option<RunSummary>, StoreError> {
        let key = run.as_str().as_bytes();
        let rows = self.query(&format!("{SUMMARY} WHERE r.run_id = $1"), &[(&key, Type::BYTEA)]).await?;
        rows.first().map(|row| read_summary(row).map_err(|why| why.of(run))).transpose()
    }

    pub(super) async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        let RunFilter { id_prefix, finished, updated_before, after, limit } = filter;
        let limit = if *limit == 0 { 100 } else { *limit };
        let after = after.map(|position| position.0.cast_signed());
        let prefix = id_prefix.as_deref().map(str::as_bytes);
        // No byte of UTF-8 is 0xff, so this is behind everything that begins so.
        let prefix_end = prefix.map(|prefix| [prefix, &[0xff]].concat());
        let before = updated_before.map(|ts| ts.0);
        let take = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let sql = format!(
            "{SUMMARY} WHERE ($1::bigint IS NULL OR r.id < $1)
                 AND ($2::bytea IS NULL OR (r.run_id >= $2 AND r.run_id < $3))
                 AND ($4::boolean IS NULL OR (r.terminal IS NOT NULL) = $4)
                 AND ($5::bigint IS NULL OR coalesce(e.ts, r.started_at) < $5)
             ORDER BY r.id DESC LIMIT $6"
        );
        let params: [Param<'_>; 6] = [
            (&after, Type::INT8),
            (&prefix, Type::BYTEA),
            (&prefix_end, Type::BYTEA),
            (finished, Type::BOOL),
            (&before, Type::INT8),
            (&take, Type::INT8),
        ];
        let rows = self.query(&sql, &params).await?;
        let page = &rows[..rows.len().min(limit)];
        let next = page.last().filter(|_| rows.len() > limit);
        Ok(RunPage {
            entries: page.iter().map(read_entry).collect::<Result<_, _>>()?,
            next: next.map(position_of).transpose()?,
        })
    }

    pub(super) async fn chain(&self, run: &RunId) -> Result<Option<Chain>, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { run: run.clone(), reason };
        let key = run.as_str().as_bytes();
        // One statement, so the snapshot and the events behind it are of one moment.
        let rows = self
            .query(
                "SELECT r.version, r.snapshot, e.header, CASE WHEN r.version = 1 THEN e.payload END
                 FROM @runs r LEFT JOIN @events e ON e.run = r.id AND e.seq > r.snapshot_size
                 WHERE r.run_id = $1 ORDER BY e.seq",
                &[(&key, Type::BYTEA)],
            )
            .await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut chain = match first.get::<_, Option<&[u8]>>(1) {
            Some(snapshot) => Chain::from_snapshot(run.clone(), snapshot).map_err(|err| damaged(err.to_string()))?,
            None => Chain::empty(run.clone(), version_of(first, 0).map_err(|why| why.of(run))?),
        };
        for row in rows.iter().filter(|row| row.get::<_, Option<&[u8]>>(2).is_some()) {
            let seq = chain.next_seq();
            chain.follow(&record_at(row, 2)).map_err(|err| damaged(format!("event {seq}: {err}")))?;
        }
        Ok(Some(chain))
    }

    pub(super) async fn read(&self, run: &RunId, from: Seq, limit: PageLimit) -> Result<LogPage, StoreError> {
        let asked = from;
        if from.get() == Seq::MAX {
            return Ok(LogPage::empty(asked));
        }
        let key = run.as_str().as_bytes();
        let from = from.get().cast_signed();
        let (events, bytes) = page_size(limit);
        // Sizes are known without fetching the payloads, so nothing is sent that does not fit.
        let rows = self
            .query(
                "SELECT seq, header, payload FROM (
                     SELECT seq, header, payload, sum(size) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) - size AS before FROM (
                         SELECT e.seq, e.header, e.payload,
                                octet_length(e.header) + coalesce(octet_length(e.payload), 0) AS size
                         FROM @events e WHERE e.run = (SELECT id FROM @runs WHERE run_id = $1) AND e.seq >= $2
                         ORDER BY e.seq LIMIT $3) page) sized
                 WHERE before < $4 ORDER BY seq",
                &[(&key, Type::BYTEA), (&from, Type::INT8), (&events, Type::INT8), (&bytes, Type::INT8)],
            )
            .await?;
        let last = rows.last().and_then(|row| seq_at(row, 0));
        Ok(LogPage::new(asked, rows.iter().map(|row| record_at(row, 1)).collect(), last))
    }

    /// A part of the feed as far as it is settled.
    ///
    /// Only what was written by transactions older than every one still running is shown: nothing can
    /// appear before it any more.
    pub(super) async fn feed(&self, after: FeedCursor, limit: PageLimit) -> Result<Settled, StoreError> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (xid, pos) = (signed(after.epoch), signed(after.position));
        let (events, bytes) = page_size(limit);
        let rows = self
            .query(
                "WITH settled AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS below)
                 SELECT s.below, s.newest, p.xid, p.pos, p.run_id, p.header, p.payload
                 FROM (SELECT below, (SELECT max(xid) FROM @events) AS newest FROM settled) s
                 LEFT JOIN (
                     SELECT *, sum(size) OVER (ORDER BY xid, pos ROWS UNBOUNDED PRECEDING) - size AS before FROM (
                         SELECT e.xid, e.pos, r.run_id, e.header, e.payload,
                                octet_length(e.header) + coalesce(octet_length(e.payload), 0) AS size
                         FROM @events e JOIN @runs r ON r.id = e.run
                         WHERE (e.xid, e.pos) > ($1, $2) AND e.xid < (SELECT below FROM settled)
                         ORDER BY e.xid, e.pos LIMIT $3) page) p ON p.before < $4
                 ORDER BY p.xid, p.pos",
                &[(&xid, Type::INT8), (&pos, Type::INT8), (&events, Type::INT8), (&bytes, Type::INT8)],
            )
            .await?;
        let mut page = FeedPage { items: Vec::with_capacity(rows.len()), next: after };
        let (mut count, mut size) = (0, 0);
        for row in rows.iter().filter(|row| row.get::<_, Option<i64>>(2).is_some()) {
            let number = |column| row.get::<_, i64>(column).cast_unsigned();
            page.next = FeedCursor { epoch: number(2), position: number(3) };
            let record = record_at(row, 5);
            (count, size) = (count + 1, size + record.size());
            page.items.extend(run_id_at(row, 4).ok().map(|run| FeedItem { cursor: page.next, run, record }));
        }
        Ok(Settled {
            below: rows.first().map_or(0, |row| row.get(0)),
            newest: rows.first().and_then(|row| row.get(1)),
            is_full: count >= limit.events || size >= limit.bytes,
            page,
        })
    }

    /// Where the feed ends as far as it is settled.
    pub(super) async fn feed_end(&self) -> Result<End, StoreError> {
        let rows = self
            .query(
                "WITH settled AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS below)
                 SELECT s.below, (SELECT max(xid) FROM @events), e.xid, e.pos
                 FROM settled s LEFT JOIN LATERAL
                     (SELECT xid, pos FROM @events WHERE xid < s.below ORDER BY xid DESC, pos DESC LIMIT 1) e ON true",
                &[],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(End { settled: FeedCursor::START, below: 0, newest: None }) };
        let number = |column| row.get::<_, Option<i64>>(column).unwrap_or_default().cast_unsigned();
        let settled = FeedCursor { epoch: number(2), position: number(3) };
        Ok(End { settled, below: row.get(0), newest: row.get(1) })
    }
}

/// The end of the feed.
pub(super) struct End {
    /// The last place before which nothing can appear any more.
    pub(super) settled: FeedCursor,
    /// Every transaction with a lower id has ended.
    pub(super) below: i64,
    /// The transaction of the newest event that is committed.
    pub(super) newest: Option<i64>,
}

/// A part of the feed, and how far it is settled.
pub(super) struct Settled {
    pub(super) page: FeedPage,
    /// Whether the page's limit was reached.
    pub(super) is_full: bool,
    /// Every transaction with a lower id has ended.
    pub(super) below: i64,
    /// The transaction of the newest event that is committed.
    pub(super) newest: Option<i64>,
}

fn page_size(limit: PageLimit) -> (i64, i64) {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX).max(1);
    (number(limit.events), number(limit.bytes))
}

pub(super) fn read_summary(row: &Row) -> Result<RunSummary, Unreadable> {
    Ok(RunSummary {
        run_id: run_id_at(row, 1)?,
        version: version_of(row, 2)?,
        head: head_of(
            column(row, 3, "terminal")?,
            column::<Option<i64>>(row, 6, "seq")?.and_then(seq_of),
            column(row, 8, "header")?,
            column(row, 9, "payload")?,
        ),
        started_at: UnixNanos(column(row, 4, "started_at")?),
        updated_at: UnixNanos(column(row, 7, "ts")?),
        pruned_through: column::<Option<i64>>(row, 5, "pruned_through")?.and_then(seq_of),
    })
}

fn read_entry(row: &Row) -> Result<Listed, StoreError> {
    Ok(match read_summary(row) {
        Ok(summary) => Listed::Run(summary),
        Err(why) => {
            let id = row.try_get::<_, &[u8]>(1).unwrap_or_default();
            Listed::Damaged(why.listed(position_of(row)?, id))
        }
    })
}

/// Where the run of a row of [`SUMMARY`] stands in the listing.
pub(super) fn position_of(row: &Row) -> Result<RunPosition, StoreError> {
    row.try_get::<_, i64>(0).map(|id| RunPosition(id.cast_unsigned())).map_err(failed)
}

/// A value of a table that may have been altered since it was looked at.
fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize, column: &'static str) -> Result<T, Unreadable> {
    row.try_get(index).map_err(|_| Unreadable::Column { column })
}

/// A head from a run's row and its last event.
pub(super) fn head_of(terminal: Option<i64>, last: Option<Seq>, header: Option<&[u8]>, payload: Option<&[u8]>) -> Head {
    Head {
        next: last.map_or(Seq::FIRST, Seq::next),
        hash: header.map(|header| record(header, payload).hash()),
        terminal: terminal.map(|kind| Kind::from_number(kind.cast_unsigned())),
    }
}

pub(super) fn seq_at(row: &Row, column: usize) -> Option<Seq> {
    row.get::<_, Option<i64>>(column).and_then(seq_of)
}

fn seq_of(stored: i64) -> Option<Seq> {
    Seq::new(stored.cast_unsigned())
}

pub(super) fn digest_at(row: &Row, column: usize) -> Option<Digest> {
    row.get::<_, Option<&[u8]>>(column).and_then(Digest::from_slice)
}

/// The record in two neighbouring columns.
pub(super) fn record_at(row: &Row, column: usize) -> Record {
    record(row.get(column), row.get(column + 1))
}

fn record(header: &[u8], payload: Option<&[u8]>) -> Record {
    Record { header: Bytes::copy_from_slice(header), payload: payload.map(Bytes::copy_from_slice) }
}

pub(super) fn run_id_at(row: &Row, index: usize) -> Result<RunId, Unreadable> {
    stored_id(column(row, index, "run_id")?)
}

pub(super) fn version_of(row: &Row, index: usize) -> Result<Version, Unreadable> {
    stored_version(column::<i16>(row, index, "version")?.into())
}
