//! Runs that have not ended and that nobody holds.

use r1_event::UnixNanos;
use rusqlite::{Connection, params};

use super::row::{RunRow, signed};
use super::{lease, read};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::run::{OpenRun, RunPosition};

/// The index is named because SQLite would rather go through all runs in the order of their keys.
const SQL: &str = "
    SELECT r.id, r.run_id, r.version, r.started_at, r.terminal, r.pruned_through, l.token, l.owner, l.until
    FROM runs AS r INDEXED BY runs_open LEFT JOIN leases AS l ON l.run_id = r.run_id
    WHERE r.terminal IS NULL AND r.id > ?1 AND (l.until IS NULL OR l.until <= ?2)
    ORDER BY r.id LIMIT ?3";

/// Up to `limit` open runs behind `after` whose lease is not good `now`, oldest first.
pub(super) fn open_runs(
    db: &Connection,
    after: Option<RunPosition>,
    limit: usize,
    now: UnixNanos,
) -> Result<Vec<OpenRun>, StoreError> {
    let mut runs = db.prepare_cached(SQL)?;
    let after = after.map_or(0, |RunPosition(id)| signed(id));
    let runs = runs.query_map(params![after, now.0, signed(limit as u64)], |row| {
        let run = RunRow::read(row)?;
        let lease = match row.get::<_, Option<i64>>(6)? {
            Some(_) => lease::read(&run.run_id, row, 6)?.unless_given_back(),
            None => None,
        };
        Ok((run, lease))
    })?;
    let open = |row: rusqlite::Result<(RunRow, Option<Lease>)>| {
        let (run, lease) = row?;
        let position = RunPosition(run.id.cast_unsigned());
        Ok(OpenRun { position, summary: read::summarise(db, run)?, lease })
    };
    runs.map(open).collect()
}
