//! Blobs of a SQLite store: files beside it, and a row for each.
//!
//! A file gets its name, and loses it, only inside a write transaction: no event can come to name a
//! blob while it is being collected, in this process or another.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use r1_event::Digest;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Shared;
use super::failure::backend;
use super::row::{self, signed};
use super::writer::Session;
use crate::blob::files::{BlobFiles, Draft};
use crate::blob::{BlobContent, BlobInfo, BlobStore};
use crate::clock;
use crate::error::{BlobError, StoreError};

#[derive(Debug)]
pub(super) struct SqliteBlobs {
    shared: Arc<Shared>,
}

impl SqliteBlobs {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl BlobStore for SqliteBlobs {
    fn put(&self, content: BlobContent) -> BoxFuture<'_, Result<BlobInfo, BlobError>> {
        async move {
            let writer = self.shared.writer()?;
            if writer.is_closed() {
                return Err(StoreError::Closed.into());
            }
            let files = self.shared.files.clone();
            let draft = files.draft(content).await.map_err(|err| err.into_blob_error("sqlite"))?;
            writer.inside(move |session| place(session, &files, &draft)).await?
        }
        .boxed()
    }

    fn stat(&self, hash: Digest) -> BoxFuture<'_, Result<Option<BlobInfo>, BlobError>> {
        async move {
            let found = self.shared.readers.read(move |db| Ok(find(db, hash)?)).await?;
            Ok(found.filter(|_| self.shared.files.contains(hash)))
        }
        .boxed()
    }

    fn get(&self, hash: Digest) -> BoxFuture<'_, Result<BlobContent, BlobError>> {
        async move {
            let found = self.shared.readers.read(move |db| Ok(find(db, hash)?)).await?;
            found.ok_or(BlobError::NotFound { hash })?;
            self.shared.files.read(hash).await.map_err(backend)?.ok_or(BlobError::NotFound { hash })
        }
        .boxed()
    }
}

fn find(db: &Connection, hash: Digest) -> rusqlite::Result<Option<BlobInfo>> {
    let mut size = db.prepare_cached("SELECT size FROM blobs WHERE hash = ?1")?;
    let info = |row: &rusqlite::Row<'_>| Ok(BlobInfo { hash, size: row::unsigned(row, 0)? });
    size.query_one([hash.as_bytes()], info).optional()
}

fn place(session: &mut Session<'_>, files: &BlobFiles, draft: &Draft) -> rusqlite::Result<Result<BlobInfo, BlobError>> {
    // The file first: a row must never promise what is not there.
    if let Err(err) = files.place(draft) {
        return Ok(Err(backend(err).into()));
    }
    let mut insert = session.db.prepare_cached(
        "INSERT INTO blobs (hash, size, stored_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET stored_at = excluded.stored_at",
    )?;
    let BlobInfo { hash, size } = draft.info;
    insert.execute(params![hash.as_bytes(), signed(size), clock::now().0])?;
    Ok(Ok(draft.info))
}

/// Removes blobs that no event names and that were last stored before `grace` ago.
pub(super) fn collect(
    session: &mut Session<'_>,
    files: &BlobFiles,
    grace: Duration,
) -> rusqlite::Result<Result<Vec<Digest>, StoreError>> {
    let db = session.db;
    let mut unused = db.prepare_cached(
        "SELECT hash FROM blobs WHERE stored_at < ?1
         AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)",
    )?;
    let unused = unused.query_map([clock::before(clock::now(), grace).0], |row| row::digest(row, 0))?;
    let unused: Vec<Digest> = unused.collect::<rusqlite::Result<_>>()?;
    let mut delete = db.prepare_cached("DELETE FROM blobs WHERE hash = ?1")?;
    for hash in &unused {
        // Before the commit, while nobody else can store it again. If the commit does not come, the
        // row stands for a file that is gone, and appends look for the file too.
        if let Err(err) = files.remove(*hash) {
            return Ok(Err(backend(err)));
        }
        delete.execute([hash.as_bytes()])?;
    }
    Ok(Ok(unused))
}
