//! Leases, in the same transactions as the appends they guard.

use std::time::Duration;

use r1_event::{RunId, UnixNanos};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::row::{self, signed};
use super::writer::Session;
use crate::clock;
use crate::error::LeaseError;
use crate::lease::{FencingToken, Lease};

/// The lease on `run` as it stands.
pub(super) fn find(db: &Connection, run: &RunId) -> rusqlite::Result<Option<Lease>> {
    let mut lease = db.prepare_cached("SELECT token, owner, until FROM leases WHERE run_id = ?1")?;
    let read = |row: &rusqlite::Row<'_>| {
        let token = FencingToken(row::unsigned(row, 0)?);
        Ok(Lease { run: run.clone(), token, owner: row.get(1)?, until: UnixNanos(row.get(2)?) })
    };
    lease.query_one([run.as_str()], read).optional()
}

pub(super) fn acquire(
    session: &mut Session<'_>,
    run: &RunId,
    owner: &str,
    ttl: Duration,
) -> rusqlite::Result<Result<Lease, LeaseError>> {
    let current = find(session.db, run)?;
    keep(session, Lease::take(current.as_ref(), run, owner, ttl, clock::now()))
}

pub(super) fn renew(
    session: &mut Session<'_>,
    lease: &Lease,
    ttl: Duration,
) -> rusqlite::Result<Result<Lease, LeaseError>> {
    let current = find(session.db, &lease.run)?;
    keep(session, lease.extend(current.as_ref(), ttl, clock::now()))
}

pub(super) fn release(session: &mut Session<'_>, lease: &Lease) -> rusqlite::Result<Result<(), LeaseError>> {
    let mut update = session.db.prepare_cached("UPDATE leases SET until = ?3 WHERE run_id = ?1 AND token = ?2")?;
    update.execute(params![lease.run.as_str(), signed(lease.token.0), clock::now().0])?;
    Ok(Ok(()))
}

fn keep(session: &mut Session<'_>, lease: Result<Lease, LeaseError>) -> rusqlite::Result<Result<Lease, LeaseError>> {
    if let Ok(Lease { run, owner, token, until }) = &lease {
        let mut insert = session.db.prepare_cached(
            "INSERT INTO leases (run_id, token, owner, until) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET token = excluded.token, owner = excluded.owner, until = excluded.until",
        )?;
        insert.execute(params![run.as_str(), signed(token.0), owner, until.0])?;
        session.standings.forget(run);
    }
    Ok(lease)
}
