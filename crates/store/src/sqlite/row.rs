//! Columns as the types they stand for.

use bytes::Bytes;
use r1_event::{Digest, Record, RunId, Seq, UnixNanos, Version};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row};

use crate::error::StoreError;
use crate::run::{DamagedRun, RunPosition, Unreadable, stored_id, stored_version};

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
    /// The row of `run`. One that is damaged is a failure of the backend; who reads for others asks
    /// [`look_up`](Self::look_up).
    pub(super) fn find(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Self>> {
        let damaged = |why: Unreadable| rusqlite::Error::FromSqlConversionFailure(0, Type::Null, Box::new(why));
        Self::select(db, run)?.transpose().map_err(damaged)
    }

    /// The row of `run`, or what is wrong with it.
    pub(super) fn look_up(db: &Connection, run: &RunId) -> Result<Option<Self>, StoreError> {
        Self::select(db, run)?.transpose().map_err(|why| why.of(run))
    }

    fn select(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Result<Self, Unreadable>>> {
        let mut found = db.prepare_cached(
            "SELECT id, run_id, version, started_at, terminal, pruned_through FROM runs WHERE run_id = ?1",
        )?;
        found.query_one([run.as_str()], |row| Ok(Self::read(row))).optional()
    }

    /// Reads the columns id, run_id, version, started_at, terminal, pruned_through.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Unreadable> {
        Ok(Self {
            id: number(row, 0, "id")?,
            run_id: stored_id(raw(row, 1).ok_or(Unreadable::Column { column: "run_id" })?)?,
            version: stored_version(number(row, 2, "version")?)?,
            started_at: UnixNanos(number(row, 3, "started_at")?),
            terminal: optional(row, 4, "terminal")?.map(i64::cast_unsigned),
            pruned_through: optional(row, 5, "pruned_through")?.and_then(|n| Seq::new(n.cast_unsigned())),
        })
    }

    /// The entry of a row that [`read`](Self::read) refuses.
    pub(super) fn damaged(row: &Row<'_>, why: &Unreadable) -> rusqlite::Result<DamagedRun> {
        let position = RunPosition(row.get::<_, i64>(0)?.cast_unsigned());
        Ok(why.listed(position, raw(row, 1).unwrap_or_default()))
    }
}

/// The bytes of a text, also where they are none or stand there as something else.
fn raw<'a>(row: &'a Row<'_>, index: usize) -> Option<&'a [u8]> {
    match row.get_ref(index) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => Some(bytes),
        Ok(ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_)) | Err(_) => None,
    }
}

fn number(row: &Row<'_>, index: usize, column: &'static str) -> Result<i64, Unreadable> {
    row.get(index).map_err(|_| Unreadable::Column { column })
}

fn optional(row: &Row<'_>, index: usize, column: &'static str) -> Result<Option<i64>, Unreadable> {
    row.get(index).map_err(|_| Unreadable::Column { column })
}

/// Whether it is what is stored that is wrong, and not the way to it.
pub(super) fn is_damage(err: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        err,
        E::FromSqlConversionFailure(..) | E::IntegralValueOutOfRange(..) | E::InvalidColumnType(..) | E::Utf8Error(..)
    ) || err.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
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

/// A run's id, if it is one.
pub(super) fn run_id(row: &Row<'_>, index: usize) -> Option<RunId> {
    raw(row, index).and_then(|bytes| stored_id(bytes).ok())
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
