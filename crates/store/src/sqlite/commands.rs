//! Commands: left, read, withdrawn, settled.
//!
//! A command says what will soon stand in an event, and an erased event must leave nothing behind. SQLite
//! may leave bytes of a row where it moved it from, and deleting is what makes it move rows (`erase.rs`).
//! So a command that is done is emptied in place; its empty row goes once no command is pending at all,
//! when there is nothing left that could be moved.

use r1_event::{Batch, RunId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::row::{self, RunRow, signed};
use super::writer::Session;
use crate::command::Command;
use crate::error::{AppendError, CommandError, StoreError};
use crate::rules::Mailbox;

/// Leaves a command, whose size was checked, and tells its position; `None` if it is pending already.
pub(super) fn leave(
    session: &mut Session<'_>,
    run: &RunId,
    command: &Command,
) -> rusqlite::Result<Result<Option<u64>, CommandError>> {
    let db = session.db;
    let Some(row) = RunRow::find(db, run)? else { return Ok(Err(CommandError::NoRun { run: run.clone() })) };
    let mut pending = db.prepare_cached("SELECT count(*) FROM commands WHERE run = ?1 AND body IS NOT NULL")?;
    let mailbox = Mailbox {
        has_ended: row.terminal.is_some(),
        is_known: is_pending(db, row.id, &command.id)?,
        pending: pending.query_one([row.id], |row| row::unsigned(row, 0))?,
    };
    match mailbox.admit(run) {
        Ok(true) => {
            let mut insert = db.prepare_cached("INSERT INTO commands (run, id, body) VALUES (?1, ?2, ?3)")?;
            let position = insert.insert(params![row.id, command.id, &command.body[..]])?;
            Ok(Ok(Some(position.cast_unsigned())))
        }
        Ok(false) => Ok(Ok(None)),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// The pending commands of a run in the order in which they were left.
pub(super) fn pending(db: &Connection, run: &RunId) -> Result<Vec<Command>, StoreError> {
    let mut commands = db.prepare_cached(
        "SELECT id, body FROM commands WHERE run = (SELECT id FROM runs WHERE run_id = ?1) AND body IS NOT NULL
         ORDER BY pos",
    )?;
    let read = |row: &rusqlite::Row<'_>| Ok(Command { id: row.get(0)?, body: row.get::<_, Vec<u8>>(1)?.into() });
    let commands = commands.query_map([run.as_str()], read)?;
    Ok(commands.collect::<Result<_, _>>()?)
}

/// The pending commands behind `position`: where they stand, and for which run each is.
pub(super) fn left_since(db: &Connection, position: u64) -> rusqlite::Result<Vec<(u64, RunId)>> {
    let mut left = db.prepare_cached(
        "SELECT c.pos, r.run_id FROM commands AS c JOIN runs AS r ON r.id = c.run
         WHERE c.pos > ?1 AND c.body IS NOT NULL ORDER BY c.pos",
    )?;
    let mut rows = left.query([signed(position)])?;
    let mut left = Vec::new();
    while let Some(row) = rows.next()? {
        // A command for a run that nobody can name is nobody's.
        if let Some(run) = row::run_id(row, 1) {
            left.push((row::unsigned(row, 0)?, run));
        }
    }
    Ok(left)
}

/// Takes a command back; false if it is not pending.
pub(super) fn withdraw(session: &mut Session<'_>, run: &RunId, id: &str) -> rusqlite::Result<Result<bool, StoreError>> {
    let Some(row) = RunRow::find(session.db, run)? else { return Ok(Ok(false)) };
    let is_gone = empty(session.db, row.id, id)?;
    sweep(session.db)?;
    Ok(Ok(is_gone))
}

/// Whether all commands that a batch settles are pending.
pub(super) fn check_settled(
    db: &Connection,
    row: Option<i64>,
    batch: &Batch,
) -> rusqlite::Result<Result<(), AppendError>> {
    for id in batch.settled() {
        let is_pending = row.map(|row| is_pending(db, row, id)).transpose()?;
        if is_pending != Some(true) {
            return Ok(Err(AppendError::CommandWithdrawn { run: batch.before().run().clone(), id: id.clone() }));
        }
    }
    Ok(Ok(()))
}

/// Removes what a batch settles, and everything else if it ends the run.
pub(super) fn settle(db: &Connection, row: i64, batch: &Batch) -> rusqlite::Result<()> {
    let mut is_changed = false;
    for id in batch.settled() {
        is_changed |= empty(db, row, id)?;
    }
    if batch.after().terminal().is_some() {
        let mut all = db.prepare_cached("UPDATE commands SET body = NULL WHERE run = ?1 AND body IS NOT NULL")?;
        is_changed |= all.execute([row])? > 0;
    }
    if is_changed { sweep(db) } else { Ok(()) }
}

/// Removes all empty rows: only before the file is rewritten, since what lies beside them may move.
pub(super) fn remove_done(db: &Connection) -> rusqlite::Result<()> {
    db.execute("DELETE FROM commands WHERE body IS NULL", []).map(drop)
}

fn is_pending(db: &Connection, row: i64, id: &str) -> rusqlite::Result<bool> {
    let mut found = db.prepare_cached("SELECT 1 FROM commands WHERE run = ?1 AND id = ?2 AND body IS NOT NULL")?;
    Ok(found.query_one(params![row, id], |_| Ok(())).optional()?.is_some())
}

fn empty(db: &Connection, row: i64, id: &str) -> rusqlite::Result<bool> {
    let mut update =
        db.prepare_cached("UPDATE commands SET body = NULL WHERE run = ?1 AND id = ?2 AND body IS NOT NULL")?;
    Ok(update.execute(params![row, id])? > 0)
}

/// Removes the empty rows if there are no others.
fn sweep(db: &Connection) -> rusqlite::Result<()> {
    let mut any =
        db.prepare_cached("SELECT EXISTS (SELECT 1 FROM commands INDEXED BY commands_pending WHERE body IS NOT NULL)")?;
    if !any.query_one([], |row| row.get::<_, bool>(0))? {
        db.prepare_cached("DELETE FROM commands")?.execute([])?;
    }
    Ok(())
}
