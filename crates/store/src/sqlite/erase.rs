//! Content that must go, and how to be sure that it has gone.
//!
//! SQLite overwrites what it deletes (`secure_delete`), with one gap: when it rebuilds a page while it
//! moves rows between pages, the unused middle of that page may keep bytes of rows that moved away.
//! Appending and shrinking a row in place never move one; deleting may. So payloads are erased in
//! place, and after rows were deleted (by pruning, noted in `facts`) an erasure also rewrites the file
//! with `VACUUM`, which leaves no such bytes. Bodies of documents are dropped all the time and lie apart, so
//! they are rewritten apart. Either way the write-ahead log is emptied at the end.

use std::time::Duration;

use r1_event::side_record::{Erase, Prune};
use r1_event::{RunId, SideRecord};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::failure;
use super::row::{self, RunRow, signed};
use super::standing;
use super::writer::Session;
use super::{commands, documents};
use crate::error::StoreError;
use crate::rules;

/// How many events one transaction of a prune removes: others write in between.
const CHUNK: i64 = 512;
/// How long the log's readers may take to let go of it.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a change left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// Old pages in the write-ahead log.
    Log,
    /// Perhaps bytes in unused parts of pages.
    Pages,
}

/// Erases payloads in place and keeps the records.
pub(super) fn erase(session: &mut Session<'_>, erasures: &[Erase]) -> rusqlite::Result<Result<Left, StoreError>> {
    let db = session.db;
    let run = match rules::erased_run(erasures) {
        Ok(Some(run)) => run,
        Ok(None) => return Ok(Ok(Left::Nothing)),
        Err(refusal) => return Ok(Err(refusal)),
    };
    let Some(row) = RunRow::find(db, run)? else { return Ok(Err(StoreError::NoRun { run: run.clone() })) };
    if let Err(refusal) = rules::check_erasable(run, row.version) {
        return Ok(Err(refusal));
    }
    let mut exists = db.prepare_cached("SELECT 1 FROM events WHERE run = ?1 AND seq = ?2")?;
    for erase in erasures {
        let is_pruned = row.pruned_through.is_some_and(|gone| erase.seq <= gone);
        if is_pruned || !exists.exists(params![row.id, signed(erase.seq.get())])? {
            return Ok(Err(StoreError::NoEvent { run: run.clone(), seq: erase.seq }));
        }
    }
    let mut update = db.prepare_cached("UPDATE events SET payload = NULL WHERE run = ?1 AND seq = ?2")?;
    for erase in erasures {
        update.execute(params![row.id, signed(erase.seq.get())])?;
        keep(db, row.id, &SideRecord::Erase(erase.clone()))?;
    }
    documents::remove_traces(db)?;
    Ok(Ok(if moved(db)? > 0 { Left::Pages } else { Left::Log }))
}

/// Keeps a prune record, from which on nobody reads the events it names.
pub(super) fn prune(session: &mut Session<'_>, prune: &Prune) -> rusqlite::Result<Result<(), StoreError>> {
    let (db, run) = (session.db, &prune.run_id);
    let Some(row) = RunRow::find(db, run)? else { return Ok(Err(StoreError::NoRun { run: run.clone() })) };
    let record = SideRecord::Prune(Box::new(prune.clone()));
    if is_kept(db, row.id, &record)? {
        return Ok(Ok(()));
    }
    if let Err(refusal) = rules::check_prune(prune, row.version, &standing::head(db, &row)?, row.pruned_through) {
        return Ok(Err(refusal));
    }
    let mut last = db.prepare_cached("SELECT header, payload FROM events WHERE run = ?1 AND seq = ?2")?;
    let through = signed(prune.through().get());
    let Some(last) = last.query_one(params![row.id, through], |row| row::record(row, 0)).optional()? else {
        return Ok(Err(StoreError::NoEvent { run: run.clone(), seq: prune.through() }));
    };
    if let Err(refusal) = rules::check_pruned_hash(prune, last.hash()) {
        return Ok(Err(refusal));
    }
    let mut update = db.prepare_cached("UPDATE runs SET pruned_through = ?2, pruning = 1 WHERE id = ?1")?;
    update.execute(params![row.id, through])?;
    db.prepare_cached("DELETE FROM blob_refs WHERE run = ?1 AND seq <= ?2")?.execute(params![row.id, through])?;
    keep(db, row.id, &record)?;
    Ok(Ok(()))
}

/// Removes some of the events that a prune named; true once none are left.
pub(super) fn remove_pruned(db: &Connection, run: &RunId) -> rusqlite::Result<bool> {
    let Some(RunRow { id, pruned_through: Some(through), .. }) = RunRow::find(db, run)? else { return Ok(true) };
    let through = signed(through.get());
    let mut last = db.prepare_cached(
        "SELECT max(seq) FROM (SELECT seq FROM events WHERE run = ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3)",
    )?;
    let last: Option<i64> = last.query_one(params![id, through, CHUNK], |row| row.get(0))?;
    let Some(last) = last else {
        db.prepare_cached("UPDATE runs SET pruning = 0 WHERE id = ?1")?.execute([id])?;
        return Ok(true);
    };
    // Emptied first, in place: rows that SQLite moves while it deletes others carry nothing any more.
    let mut empty = db.prepare_cached("UPDATE events SET header = x'', payload = NULL WHERE run = ?1 AND seq <= ?2")?;
    empty.execute(params![id, last])?;
    db.prepare_cached("DELETE FROM events WHERE run = ?1 AND seq <= ?2")?.execute(params![id, last])?;
    let mut note = db.prepare_cached(
        "INSERT INTO facts (name, value) VALUES ('moved', 1) ON CONFLICT DO UPDATE SET value = value + 1",
    )?;
    note.execute([])?;
    Ok(false)
}

/// Runs whose pruned events are not all removed yet, because a process ended half way.
pub(super) fn unfinished_prunes(db: &Connection) -> rusqlite::Result<Vec<RunId>> {
    let mut runs = db.prepare("SELECT run_id FROM runs WHERE pruning = 1")?;
    // A run whose row is damaged stays as it is: it must not keep the store from being opened.
    let runs = runs.query_map([], |row| Ok(row::run_id(row, 0)))?;
    runs.filter_map(Result::transpose).collect()
}

/// Rewrites the file without gaps and gives what is free back to the system.
pub(super) fn compact(db: &Connection) -> rusqlite::Result<()> {
    let seen = moved(db)?;
    commands::remove_done(db)?;
    db.execute_batch("VACUUM")?;
    // Unless another process has pruned in the meantime.
    db.execute("DELETE FROM facts WHERE name = 'moved' AND value = ?1", [seen])?;
    Ok(())
}

/// Copies everything out of the write-ahead log and empties it; false while readers are in the way.
pub(super) fn empty_log(db: &Connection) -> rusqlite::Result<bool> {
    // Appends wait meanwhile, so the readers get little time; whoever calls tries again.
    let usual: u64 = db.query_one("PRAGMA busy_timeout", [], |row| row::unsigned(row, 0))?;
    db.busy_timeout(PATIENCE)?;
    let emptied = db.query_one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    db.busy_timeout(Duration::from_millis(usual))?;
    match emptied {
        Err(err) if failure::is_busy(&err) => Ok(false),
        emptied => emptied.map(|busy| busy == 0),
    }
}

/// How often rows were deleted since the file was last rewritten.
fn moved(db: &Connection) -> rusqlite::Result<i64> {
    let mut moved = db.prepare_cached("SELECT value FROM facts WHERE name = 'moved'")?;
    Ok(moved.query_one([], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Keeps a side record unless one with its key is there.
pub(super) fn keep(db: &Connection, run: i64, record: &SideRecord) -> rusqlite::Result<()> {
    let encoded = record.encode();
    let mut insert = db.prepare_cached("INSERT OR IGNORE INTO side_records (run, key, record) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![run, rules::side_record_key(record, &encoded), encoded])?;
    Ok(())
}

fn is_kept(db: &Connection, run: i64, record: &SideRecord) -> rusqlite::Result<bool> {
    let key = rules::side_record_key(record, &record.encode());
    db.prepare_cached("SELECT 1 FROM side_records WHERE run = ?1 AND key = ?2")?.exists(params![run, key])
}
