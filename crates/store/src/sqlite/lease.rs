//! Leases, in the same transactions as the appends they guard.

use std::time::Duration;

use r1_event::{RunId, UnixNanos};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::row::{self, signed};
use super::writer::Session;
use crate::clock;
use crate::error::{LeaseError, StoreError};
use crate::lease::{Acquired, FencingToken, Lease};
use crate::store::Renewals;

/// The lease on `run` as it stands, also one that was given back.
pub(super) fn find(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Lease>> {
    let mut lease = db.prepare_cached("SELECT token, owner, until FROM leases WHERE run_id = ?1")?;
    lease.query_one([run.as_str()], |row| read(run, row, 0)).optional()
}

/// The leases on `runs`, but for those that were given back.
pub(super) fn find_all(db: &Connection, runs: &[RunId]) -> Result<Vec<Option<Lease>>, StoreError> {
    runs.iter().map(|run| Ok(find(db, run)?.and_then(Lease::unless_given_back))).collect()
}

/// The lease whose token is in column `index`, with owner and time behind it.
pub(super) fn read(run: &RunId, row: &Row<'_>, index: usize) -> rusqlite::Result<Lease> {
    let token = FencingToken(row::unsigned(row, index)?);
    Ok(Lease { run: run.clone(), token, owner: row.get(index + 1)?, until: UnixNanos(row.get(index + 2)?) })
}

pub(super) fn acquire(
    session: &mut Session<'_>,
    run: &RunId,
    owner: &str,
    ttl: Duration,
) -> rusqlite::Result<Result<Acquired, LeaseError>> {
    let current = find(session.db, run)?;
    let acquired = Lease::take(current, run, owner, ttl, clock::now());
    if let Ok(Acquired { lease, .. }) = &acquired {
        keep(session.db, lease)?;
        // Only this makes another token the good one.
        session.standings.forget(run);
    }
    Ok(acquired)
}

pub(super) fn renew(
    session: &mut Session<'_>,
    lease: &Lease,
    ttl: Duration,
) -> rusqlite::Result<Result<Lease, LeaseError>> {
    let current = find(session.db, &lease.run)?;
    let renewed = lease.extend(current.as_ref(), ttl, clock::now());
    if let Ok(lease) = &renewed {
        keep(session.db, lease)?;
    }
    Ok(renewed)
}

pub(super) fn renew_all(
    session: &mut Session<'_>,
    leases: &[Lease],
    ttl: Duration,
) -> rusqlite::Result<Result<Renewals, StoreError>> {
    leases.iter().map(|lease| renew(session, lease, ttl)).collect::<rusqlite::Result<_>>().map(Ok)
}

pub(super) fn release(session: &mut Session<'_>, lease: &Lease) -> rusqlite::Result<Result<(), LeaseError>> {
    if let Some(mut held) = find(session.db, &lease.run)?.filter(|held| held.token == lease.token) {
        held.give_back();
        keep(session.db, &held)?;
    }
    Ok(Ok(()))
}

fn keep(db: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    let Lease { run, owner, token, until } = lease;
    let mut insert = db.prepare_cached(
        "INSERT INTO leases (run_id, token, owner, until) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET token = excluded.token, owner = excluded.owner, until = excluded.until",
    )?;
    insert.execute(params![run.as_str(), signed(token.0), owner, until.0])?;
    Ok(())
}
