//! Blobs, in chunks: a gigabyte takes no more memory than a megabyte.
//!
//! Each chunk is committed for itself, for a transaction as long as a slow upload would hold back the
//! feed of all runs. Until its hash is known an upload has none and cannot be found; one that was
//! abandoned is collected with the rest.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use r1_event::Digest;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::database::{Database, Param};
use super::failure::{backend, failed};
use super::leases::{NOW, nanos};
use super::read::digest_at;
use crate::blob::{BlobContent, BlobInfo, BlobStore};
use crate::error::{BlobError, StoreError};

/// How much of a blob one row holds.
const CHUNK: usize = 1 << 20;

/// An upload that has not grown for this long was abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// How many blobs one transaction collects.
const COLLECT: i64 = 256;

/// The blobs of a database.
pub(super) struct Blobs {
    pub(super) db: Arc<Database>,
}

impl BlobStore for Blobs {
    fn put(&self, content: BlobContent) -> BoxFuture<'_, Result<BlobInfo, BlobError>> {
        Box::pin(async move {
            let upload = Upload::begin(&self.db).await?;
            match upload.store(content).await {
                Ok(info) => Ok(info),
                Err(err) => {
                    // If this fails too, what is left is collected later.
                    drop(upload.discard().await);
                    Err(err)
                }
            }
        })
    }

    fn stat(&self, hash: Digest) -> BoxFuture<'_, Result<Option<BlobInfo>, BlobError>> {
        Box::pin(async move { Ok(find(&self.db, hash).await?.map(|(_, size)| BlobInfo { hash, size })) })
    }

    fn get(&self, hash: Digest) -> BoxFuture<'_, Result<BlobContent, BlobError>> {
        Box::pin(async move {
            let (id, size) = find(&self.db, hash).await?.ok_or(BlobError::NotFound { hash })?;
            let download =
                Download { db: Arc::clone(&self.db), id, hash, left: size, next: 0, hasher: blake3::Hasher::new() };
            let chunks = stream::unfold(Some(download), |download| async {
                let mut download = download?;
                match download.chunk().await {
                    Ok(Some(chunk)) => Some((Ok(chunk), Some(download))),
                    Ok(None) => None,
                    Err(err) => Some((Err(err), None)),
                }
            });
            Ok(chunks.boxed())
        })
    }
}

async fn find(db: &Database, hash: Digest) -> Result<Option<(i64, u64)>, StoreError> {
    let name = &hash.as_bytes()[..];
    let rows = db.query("SELECT id, size FROM @blobs WHERE hash = $1", &[(&name, Type::BYTEA)]).await?;
    let found = |row: &Row| Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.cast_unsigned()));
    rows.first().map(found).transpose().map_err(failed)
}

/// A blob on its way in.
struct Upload<'a> {
    db: &'a Database,
    id: i64,
}

impl<'a> Upload<'a> {
    async fn begin(db: &'a Database) -> Result<Self, StoreError> {
        let sql = format!("INSERT INTO @blobs (touched_at) VALUES ({NOW}) RETURNING id");
        let rows = db.execute(&sql, &[]).await?;
        let id = rows.first().map(|row| row.try_get(0)).transpose().map_err(failed)?;
        let id = id.ok_or_else(|| backend("no row was inserted"))?;
        Ok(Self { db, id })
    }

    async fn store(&self, mut content: BlobContent) -> Result<BlobInfo, BlobError> {
        let mut hasher = blake3::Hasher::new();
        let (mut size, mut chunks) = (0, 0);
        let mut pending = BytesMut::new();
        while let Some(mut piece) = content.next().await.transpose().map_err(BlobError::Input)? {
            hasher.update(&piece);
            size += piece.len() as u64;
            while !piece.is_empty() {
                let room = CHUNK - pending.len();
                pending.extend_from_slice(&piece.split_to(room.min(piece.len())));
                if pending.len() == CHUNK {
                    self.put_chunk(chunks, &pending).await?;
                    chunks += 1;
                    pending.clear();
                }
            }
        }
        if !pending.is_empty() {
            self.put_chunk(chunks, &pending).await?;
        }
        let hash = Digest::new(*hasher.finalize().as_bytes());
        self.publish(hash, size).await?;
        Ok(BlobInfo { hash, size })
    }

    async fn put_chunk(&self, n: i64, bytes: &[u8]) -> Result<(), StoreError> {
        let sql = format!(
            "WITH upload AS (UPDATE @blobs SET touched_at = {NOW} WHERE id = $1 RETURNING id)
             INSERT INTO @blob_chunks (blob, n, bytes) SELECT id, $2, $3 FROM upload RETURNING n"
        );
        let params: [Param<'_>; 3] = [(&self.id, Type::INT8), (&n, Type::INT8), (&bytes, Type::BYTEA)];
        if self.db.execute(&sql, &params).await?.is_empty() {
            return Err(abandoned());
        }
        Ok(())
    }

    /// Gives the upload its name, or drops it if the same bytes are there already.
    async fn publish(&self, hash: Digest, size: u64) -> Result<(), StoreError> {
        let (name, size) = (&hash.as_bytes()[..], size.cast_signed());
        loop {
            if let Some((older, _)) = find(self.db, hash).await? {
                if self.is_same(older).await? && self.touch(older).await? {
                    return self.discard().await;
                }
                // Damaged: it gives its name up to the sound one and is collected.
                let sql = "UPDATE @blobs SET hash = NULL WHERE id = $1";
                self.db.execute(sql, &[(&older, Type::INT8)]).await?;
            }
            let sql = format!("UPDATE @blobs SET hash = $2, size = $3, touched_at = {NOW} WHERE id = $1 RETURNING id");
            let params: [Param<'_>; 3] = [(&self.id, Type::INT8), (&name, Type::BYTEA), (&size, Type::INT8)];
            match self.db.execute(&sql, &params).await {
                Ok(rows) if rows.is_empty() => return Err(abandoned()),
                Ok(_) => return Ok(()),
                // Another upload of the same bytes was quicker.
                Err(err) if is_duplicate(&err) => {}
                Err(err) => return Err(err),
            }
        }
    }

    /// Whether a stored blob has the bytes of this upload.
    async fn is_same(&self, other: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM (SELECT n, bytes FROM @blob_chunks WHERE blob = $1) a
             FULL JOIN (SELECT n, bytes FROM @blob_chunks WHERE blob = $2) b USING (n)
             WHERE a.bytes IS DISTINCT FROM b.bytes LIMIT 1";
        Ok(self.db.query(sql, &[(&self.id, Type::INT8), (&other, Type::INT8)]).await?.is_empty())
    }

    /// Makes a blob young, so that the next collection does not take what its owner is about to name;
    /// false if it was collected just now.
    async fn touch(&self, blob: i64) -> Result<bool, StoreError> {
        let sql = format!("UPDATE @blobs SET touched_at = {NOW} WHERE id = $1 AND hash IS NOT NULL RETURNING id");
        Ok(!self.db.execute(&sql, &[(&blob, Type::INT8)]).await?.is_empty())
    }

    async fn discard(&self) -> Result<(), StoreError> {
        let sql = "WITH upload AS (DELETE FROM @blobs WHERE id = $1 AND hash IS NULL RETURNING id)
             DELETE FROM @blob_chunks WHERE blob IN (SELECT id FROM upload)";
        self.db.execute(sql, &[(&self.id, Type::INT8)]).await.map(drop)
    }
}

fn abandoned() -> StoreError {
    backend("the upload stood still for so long that it was collected; start it again")
}

fn is_duplicate(err: &StoreError) -> bool {
    let StoreError::Backend { source, .. } = err else { return false };
    let code = source.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
    code == Some(&tokio_postgres::error::SqlState::UNIQUE_VIOLATION)
}

/// A blob on its way out.
struct Download {
    db: Arc<Database>,
    id: i64,
    hash: Digest,
    left: u64,
    next: i64,
    hasher: blake3::Hasher,
}

impl Download {
    /// The next chunk; `None` after the last, if the bytes were those of the name.
    async fn chunk(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        if self.left == 0 {
            let found = Digest::new(*self.hasher.finalize().as_bytes());
            return if found == self.hash { Ok(None) } else { Err(self.damaged(found)) };
        }
        let params: [Param<'_>; 2] = [(&self.id, Type::INT8), (&self.next, Type::INT8)];
        let rows = self.db.query("SELECT bytes FROM @blob_chunks WHERE blob = $1 AND n = $2", &params).await;
        let rows = rows.map_err(std::io::Error::other)?;
        let chunk = rows.first().map(|row| row.try_get::<_, &[u8]>(0)).transpose().map_err(std::io::Error::other)?;
        let chunk = chunk.unwrap_or_default();
        self.hasher.update(chunk);
        self.next += 1;
        match self.left.checked_sub(chunk.len() as u64).filter(|_| !chunk.is_empty()) {
            Some(left) => self.left = left,
            None => return Err(self.damaged(Digest::new(*self.hasher.finalize().as_bytes()))),
        }
        Ok(Some(Bytes::copy_from_slice(chunk)))
    }

    fn damaged(&self, found: Digest) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidData, BlobError::Damaged { hash: self.hash, found })
    }
}

impl Database {
    /// Removes blobs that nothing names, a few per transaction.
    pub(super) async fn collect_blobs(&self, grace: Duration) -> Result<Vec<Digest>, StoreError> {
        let mut collected = Vec::new();
        loop {
            let (removed, last) = self.collect_some(grace).await?;
            collected.extend(removed);
            if last {
                return Ok(collected);
            }
        }
    }

    async fn collect_some(&self, grace: Duration) -> Result<(Vec<Digest>, bool), StoreError> {
        let (grace, abandoned) = (nanos(grace), nanos(grace.max(ABANDONED)));
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        // An append that names a blob holds its row until it commits: such rows are passed over. What
        // is locked here nobody can begin to name.
        let sql = format!(
            "SELECT id FROM @blobs b
             WHERE touched_at <= {NOW} - CASE WHEN hash IS NULL THEN $2 ELSE $1 END
                 AND NOT EXISTS (SELECT 1 FROM @blob_refs r WHERE r.hash = b.hash)
             ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED"
        );
        let params: [Param<'_>; 3] = [(&grace, Type::INT8), (&abandoned, Type::INT8), (&COLLECT, Type::INT8)];
        let rows = transaction.query(&sql, &params).await?;
        let numbers =
            |rows: &[Row]| rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>().map_err(failed);
        let ids = numbers(&rows)?;
        // Asked again: a reference committed just before the lock was not seen by the first look.
        let sql = "DELETE FROM @blobs b WHERE id = ANY ($1)
                 AND NOT EXISTS (SELECT 1 FROM @blob_refs r WHERE r.hash = b.hash) RETURNING id, hash";
        let rows = transaction.query(sql, &[(&ids, Type::INT8_ARRAY)]).await?;
        let removed = numbers(&rows)?;
        let sql = "DELETE FROM @blob_chunks WHERE blob = ANY ($1)";
        transaction.execute(sql, &[(&removed, Type::INT8_ARRAY)]).await?;
        transaction.commit().await?;
        let hashes =
            rows.iter().filter_map(|row| digest_at(row, 1).transpose()).collect::<Result<_, _>>().map_err(failed)?;
        Ok((hashes, removed.len() < usize::try_from(COLLECT).unwrap_or(usize::MAX)))
    }
}
