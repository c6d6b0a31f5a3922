//! Columns as the types they stand for.

use bytes::Bytes;
use r1_event::{Digest, Record, RunId, Seq, UnixNanos, Version};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// A row of `runs` but for its snapshot.
#[derive(Clone, Debug)]
pub(super) struct RunRow {
    pub(super) id: i64,
    pub(super) run_id: RunId,
    pub(super) version: Version,
    pub(super) started_at: UnixNanos,
    pub(super) terminal: Option<u64>,
    pub(super) pruned_through: Option<Seq>,
}

impl RunRow {
    pub(super) fn find(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Self>> {
        let mut found = db.prepare_cached(
            "SELECT id, run_id, version, started_at, terminal, pruned_through FROM runs WHERE run_id = ?1",
        )?;
        found.query_one([run.as_str()], Self::read).optional()
    }

    /// Reads the columns id, run_id, version, started_at, terminal, pruned_through.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            run_id: run_id(row, 1)?,
            version: match row.get(2)? {
                1 => Version::V1,
                2 => Version::V2,
                other => return Err(rusqlite::Error::IntegralValueOutOfRange(2, other)),
            },
            started_at: UnixNanos(row.get(3)?),
            terminal: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
            pruned_through: row.get::<_, Option<i64>>(5)?.and_then(|n| Seq::new(n.cast_unsigned())),
        })
    }
}

/// A number of ours as SQLite keeps it: no position gets anywhere near the top.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A rank as SQLite keeps it: all of them, in the same order.
pub(super) fn ordered(rank: u64) -> i64 {
    (rank ^ 1 << 63).cast_signed()
}

/// The rank that [`ordered`] made this of.
pub(super) fn reordered(rank: i64) -> u64 {
    rank.cast_unsigned() ^ 1 << 63
}

pub(super) fn unsigned(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(i64::cast_unsigned)
}

pub(super) fn seq(row: &Row<'_>, index: usize) -> rusqlite::Result<Seq> {
    Seq::new(unsigned(row, index)?).ok_or(rusqlite::Error::IntegralValueOutOfRange(index, 0))
}

pub(super) fn run_id(row: &Row<'_>, index: usize) -> rusqlite::Result<RunId> {
    let text: String = row.get(index)?;
    text.parse().map_err(|err| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(err)))
}

pub(super) fn digest(row: &Row<'_>, index: usize) -> rusqlite::Result<Digest> {
    row.get(index).map(Digest::new)
}

/// The record whose header is at `index` and whose payload follows.
pub(super) fn record(row: &Row<'_>, index: usize) -> rusqlite::Result<Record> {
    let header: Vec<u8> = row.get(index)?;
    let payload: Option<Vec<u8>> = row.get(index + 1)?;
    Ok(Record { header: header.into(), payload: payload.map(Bytes::from) })
}
