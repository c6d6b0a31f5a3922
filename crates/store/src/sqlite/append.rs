//! One batch: look at fence, head, blobs, commands and note, then insert.

use r1_event::{Batch, Origin, UnixNanos};
use rusqlite::{OptionalExtension as _, params};

use super::row::signed;
use super::writer::Session;
use super::{commands, documents, erase};
use crate::blob::files::BlobFiles;
use crate::clock;
use crate::error::AppendError;
use crate::lease::Lease;
use crate::run::Head;

/// A run's chain is kept beside it each time it grows past a multiple of this, so that going on with
/// it never reads more events.
const SNAPSHOT_EVERY: u64 = 1024;

/// Appends `batch`, or refuses it with nothing changed.
pub(super) fn append(
    session: &mut Session<'_>,
    blobs: &BlobFiles,
    lease: &Lease,
    batch: &Batch,
) -> rusqlite::Result<Result<Head, AppendError>> {
    let db = session.db;
    let run = batch.before().run();
    let known = session.standings.get(db, run)?;
    if let Err(refusal) = known.standing.admit(lease, batch) {
        return Ok(Err(refusal));
    }
    for (_, blob) in batch.blobs() {
        let mut row = db.prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?;
        // A row can outlive its file if a collection was cut short.
        if row.query_one([blob.as_bytes()], |_| Ok(())).optional()?.is_none() || !blobs.contains(*blob) {
            return Ok(Err(AppendError::BlobMissing { run: run.clone(), blob: *blob }));
        }
    }
    if let Err(refusal) = commands::check_settled(db, known.row, batch)? {
        return Ok(Err(refusal));
    }
    if let Some(note) = batch.noted() {
        match documents::noted(db, note, clock::now())? {
            Some(noted) => noted.take(db, note)?,
            None => return Ok(Err(AppendError::NoteMoved { run: run.clone() })),
        }
    }
    let head = Head::from(batch.after());
    let Some(first) = batch.records().first() else {
        if let Some(row) = known.row {
            commands::settle(db, row, batch)?;
        }
        return Ok(Ok(head));
    };

    let snapshot = is_snapshot_due(batch).then(|| batch.after().snapshot());
    let terminal = head.terminal.map(|kind| signed(kind.number()));
    let row = match known.row {
        Some(row) => {
            if snapshot.is_some() {
                let mut update = db.prepare_cached("UPDATE runs SET terminal = ?2, snapshot = ?3 WHERE id = ?1")?;
                update.execute(params![row, terminal, snapshot])?;
            }
            row
        }
        None => {
            let mut insert = db.prepare_cached(
                "INSERT INTO runs (run_id, version, started_at, terminal, snapshot, pruned_through)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let started_at = crate::place(first).map_or(UnixNanos(0), |place| place.ts);
            let version = batch.after().version().number();
            let pruned_through = batch.origin().map(|origin| signed(origin.through().get()));
            insert.insert(params![run.as_str(), version, started_at.0, terminal, snapshot, pruned_through])?
        }
    };
    for record in batch.origin().map_or(&[][..], Origin::beside) {
        erase::keep(db, row, record)?;
    }
    known.row = Some(row);
    known.standing.head = head.clone();
    let insert = session.insert_event()?;
    for (seq, record) in (batch.before().next_seq().get()..).zip(batch.records()) {
        insert.execute(params![row, signed(seq), &record.header[..], record.payload.as_deref()])?;
    }
    if !batch.blobs().is_empty() {
        let mut insert = db.prepare_cached("INSERT OR IGNORE INTO blob_refs (hash, run, seq) VALUES (?1, ?2, ?3)")?;
        for (seq, blob) in batch.blobs() {
            insert.execute(params![blob.as_bytes(), row, signed(seq.get())])?;
        }
    }
    commands::settle(db, row, batch)?;
    session.grown.push((run.clone(), head.next));
    Ok(Ok(head))
}

fn is_snapshot_due(batch: &Batch) -> bool {
    let (before, after) = (batch.before().size(), batch.after().size());
    // Without a snapshot a chain is followed from event 1.
    batch.after().terminal().is_some() || batch.origin().is_some() || before / SNAPSHOT_EVERY != after / SNAPSHOT_EVERY
}
