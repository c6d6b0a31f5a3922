//! Runs that have not ended and that nobody holds.

use r1_event::UnixNanos;
use rusqlite::{Connection, params};

use super::row::RunRow;
use super::{lease, read};
use crate::error::StoreError;
use crate::run::{OpenRun, RunPosition};

/// The index is named because SQLite would rather go through all runs in the order of their keys.
const SQL: &str = "
    SELECT r.id, r.run_id, r.version, r.started_at, r.terminal, r.pruned_through, l.token, l.owner, l.until
    FROM runs AS r INDEXED BY runs_open LEFT JOIN leases AS l ON l.run_id = r.run_id
    WHERE r.terminal IS NULL AND r.id > ?1 AND (l.until IS NULL OR l.until <= ?2)
    ORDER BY r.id";

/// Up to `limit` open runs behind `after` whose lease is not good `now`, oldest first.
pub(super) fn open_runs(
    db: &Connection,
    after: Option<RunPosition>,
    limit: usize,
    now: UnixNanos,
) -> Result<Vec<OpenRun>, StoreError> {
    let mut runs = db.prepare_cached(SQL)?;
    let after = after.map_or(i64::MIN, |RunPosition(id)| id.cast_signed());
    let mut runs = runs.query(params![after, now.0])?;
    let mut open = Vec::new();
    while open.len() < limit
        && let Some(row) = runs.next()?
    {
        let Ok(run) = RunRow::read(row) else { continue };
        let lease = match row.get::<_, Option<i64>>(6)? {
            Some(_) => lease::read(&run.run_id, row, 6)?.unless_given_back(),
            None => None,
        };
        let position = RunPosition(run.id.cast_unsigned());
        if let Ok(summary) = read::summarise(db, run)? {
            open.push(OpenRun { position, summary, lease });
        }
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::layout;
    use super::*;

    /// How many steps SQLite takes to find the open runs, and how many it finds.
    fn search(db: &Connection) -> (i32, usize) {
        let mut runs = db.prepare(SQL).unwrap();
        let found = runs.query_map(params![0, 1], |_| Ok(())).unwrap().count();
        (runs.get_status(StatementStatus::VmStep), found)
    }

    #[test]
    fn ten_thousand_finished_runs_cost_nothing() {
        let mut db = Connection::open_in_memory().unwrap();
        layout::migrate(&mut db).unwrap();
        let add = |name: &str, count: u32, terminal: Option<i64>| {
            let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
                       INSERT INTO runs (run_id, version, started_at, terminal) SELECT ?1 || i, 2, 0, ?3 FROM n";
            db.execute(sql, params![name, count, terminal]).unwrap();
        };
        add("first ", 3, None);
        add("last ", 2, None);
        let alone = search(&db);
        db.execute("DELETE FROM runs WHERE run_id LIKE 'last %'", []).unwrap();
        add("finished ", 10_000, Some(12));
        add("last ", 2, None);
        assert_eq!((search(&db), alone.1), (alone, 5));
    }
}
