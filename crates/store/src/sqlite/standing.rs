//! How runs stand, remembered between appends.
//!
//! Reading it from the tables costs three lookups per append; remembered, an append is nothing but its
//! inserts. What is remembered holds only while no other process writes to the file.

use std::collections::HashMap;

use r1_event::{Kind, Record, RunId, Seq};
use rusqlite::{Connection, OptionalExtension as _};

use super::row::{self, RunRow};
use crate::lease::FencingToken;
use crate::rules::Standing;
use crate::run::Head;

/// How many runs each of the two generations remembers.
const GENERATION: usize = 65_536;

/// A run as it is known to stand.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Its row, once it has events.
    pub(super) row: Option<i64>,
    pub(super) standing: Standing,
}

/// What is remembered: the runs used lately, and those used before them.
#[derive(Debug, Default)]
pub(super) struct Standings {
    recent: HashMap<RunId, Known>,
    former: HashMap<RunId, Known>,
    data_version: i64,
}

impl Standings {
    /// Forgets everything if another connection has written; call first in each transaction.
    pub(super) fn forget_if_written_elsewhere(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let found = db.prepare_cached("PRAGMA data_version")?.query_one([], |row| row.get(0))?;
        if found != self.data_version {
            self.clear();
            self.data_version = found;
        }
        Ok(())
    }

    /// How `run` stands.
    pub(super) fn get(&mut self, db: &Connection, run: &RunId) -> rusqlite::Result<&mut Known> {
        if !self.recent.contains_key(run) {
            let known = match self.former.remove(run) {
                Some(known) => known,
                None => load(db, run)?,
            };
            if self.recent.len() >= GENERATION {
                self.former = std::mem::take(&mut self.recent);
            }
            self.recent.insert(run.clone(), known);
        }
        self.recent.get_mut(run).ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Looks at the tables again before the next append to `run`.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.recent.remove(run);
        self.former.remove(run);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.recent.clear();
        self.former.clear();
    }
}

impl Known {
    const fn nowhere() -> Self {
        Self { row: None, standing: Standing { head: Head::EMPTY, token: FencingToken::NONE } }
    }
}

fn load(db: &Connection, run: &RunId) -> rusqlite::Result<Known> {
    let mut lease = db.prepare_cached("SELECT token FROM leases WHERE run_id = ?1")?;
    let token = lease.query_one([run.as_str()], |row| row::unsigned(row, 0)).optional()?;
    let mut known = Known::nowhere();
    known.standing.token = FencingToken(token.unwrap_or_default());
    if let Some(found) = RunRow::find(db, run)? {
        known.row = Some(found.id);
        known.standing.head = head(db, &found)?;
    }
    Ok(known)
}

/// The head of a run's log.
pub(super) fn head(db: &Connection, run: &RunRow) -> rusqlite::Result<Head> {
    Ok(head_at(run, last_event(db, run)?.as_ref()))
}

/// The head of a run whose last event is given.
pub(super) fn head_at(run: &RunRow, last: Option<&(Seq, Record)>) -> Head {
    last.map_or(Head::EMPTY, |(seq, record)| Head {
        next: seq.next(),
        hash: Some(record.hash()),
        terminal: run.terminal.map(Kind::from_number),
    })
}

/// The last event, with its payload only where its hash needs it.
pub(super) fn last_event(db: &Connection, run: &RunRow) -> rusqlite::Result<Option<(Seq, Record)>> {
    let mut last = db.prepare_cached(
        "SELECT seq, header, CASE ?2 WHEN 1 THEN payload END FROM events WHERE run = ?1 ORDER BY seq DESC LIMIT 1",
    )?;
    let last = last.query_one((run.id, run.version.number()), |row| Ok((row::seq(row, 0)?, row::record(row, 1)?)));
    last.optional()
}
