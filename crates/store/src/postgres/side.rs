//! What is kept beside a log: side records, erasures, prunes.
//!
//! **What erasing reaches.** The payload is gone from the table, its dead row is vacuumed away and its
//! space is free to be overwritten. What PostgreSQL keeps for itself is out of reach of a client: free
//! space inside a page is not wiped until it is used again (`VACUUM FULL` of the table does it at
//! once, and locks the table meanwhile), the write-ahead log still holds the row until its segments
//! are recycled, and archives, replicas and backups have histories of their own. A transaction
//! elsewhere that began before the erasure keeps the dead row until it ends.

use deadpool_postgres::Transaction;
use r1_event::side_record::{Erase, Prune};
use r1_event::{Digest, RunId, Seq, SideRecord};
use tokio_postgres::types::Type;

use super::database::{Database, Param, failed};
use super::read::record_at;
use crate::error::StoreError;

impl Database {
    pub(super) async fn side_records(&self, run: &RunId) -> Result<Vec<SideRecord>, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = "SELECT s.record FROM @side_records s JOIN @runs r ON r.id = s.run WHERE r.run_id = $1 ORDER BY s.n";
        let rows = self.query(sql, &[(&key, Type::BYTEA)]).await?;
        let decode = |bytes: &[u8]| {
            SideRecord::decode(bytes)
                .map_err(|err| StoreError::Damaged { run: run.clone(), reason: format!("a side record: {err}") })
        };
        rows.iter().map(|row| decode(row.get(0))).collect()
    }

    pub(super) async fn add_side_record(&self, run: &RunId, record: &SideRecord) -> Result<(), StoreError> {
        if let SideRecord::Erase(_) | SideRecord::Prune(_) = record {
            let reason = format!("a record of the kind `{}` is made by doing what it tells", record.name());
            return Err(StoreError::Refused { run: run.clone(), reason });
        }
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, run).await?;
        locked.keep(record).await?;
        transaction.commit().await.map_err(failed)
    }

    pub(super) async fn erase(&self, erasures: &[Erase]) -> Result<(), StoreError> {
        let Some(run) = erasures.first().map(|erase| &erase.run_id) else { return Ok(()) };
        if let Some(other) = erasures.iter().find(|erase| erase.run_id != *run) {
            let reason = format!("an erasure in the same call is for run {}", other.run_id);
            return Err(StoreError::Refused { run: run.clone(), reason });
        }
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, run).await?;
        for erase in erasures {
            locked.erase(erase).await?;
        }
        transaction.commit().await.map_err(failed)?;
        drop(client);
        self.vacuum(&["events"]).await
    }

    pub(super) async fn prune(&self, prune: &Prune) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, &prune.run_id).await?;
        locked.prune(prune).await?;
        transaction.commit().await.map_err(failed)?;
        drop(client);
        self.vacuum(&["events", "blob_refs"]).await
    }
}

/// A run whose row is locked, so that what is kept beside its log changes one step at a time.
struct LockedRun<'a> {
    db: &'a Database,
    transaction: &'a Transaction<'a>,
    run: &'a RunId,
    id: i64,
    version: i16,
    finished: bool,
}

impl<'a> LockedRun<'a> {
    async fn lock(db: &'a Database, transaction: &'a Transaction<'a>, run: &'a RunId) -> Result<Self, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = db.sql("SELECT id, version, terminal IS NOT NULL FROM @runs WHERE run_id = $1 FOR UPDATE");
        let rows = transaction.query_typed(&sql, &[(&key, Type::BYTEA)]).await.map_err(failed)?;
        let row = rows.first().ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
        Ok(Self { db, transaction, run, id: row.get(0), version: row.get(1), finished: row.get(2) })
    }

    fn refused(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Refused { run: self.run.clone(), reason: reason.into() }
    }

    async fn execute(&self, template: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.transaction.execute_typed(&self.db.sql(template), params).await.map_err(failed)
    }

    async fn keep(&self, record: &SideRecord) -> Result<(), StoreError> {
        let bytes = record.encode();
        let digest = Digest::blake3(&bytes);
        let params: [Param<'_>; 3] =
            [(&self.id, Type::INT8), (&&digest.as_bytes()[..], Type::BYTEA), (&bytes, Type::BYTEA)];
        let sql = "INSERT INTO @side_records (run, digest, record) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.execute(sql, &params).await.map(drop)
    }

    async fn erase(&self, erase: &Erase) -> Result<(), StoreError> {
        if self.version == 1 {
            return Err(self.refused("hashes of a v1 log cover the payloads: none can be erased"));
        }
        let seq = seq_param(erase.seq);
        let params: [Param<'_>; 2] = [(&self.id, Type::INT8), (&seq, Type::INT8)];
        let erased = self.execute("UPDATE @events SET payload = NULL WHERE run = $1 AND seq = $2", &params).await?;
        if erased == 0 {
            return Err(StoreError::NoEvent { run: self.run.clone(), seq: erase.seq });
        }
        self.execute("DELETE FROM @blob_refs WHERE run = $1 AND seq = $2", &params).await?;
        self.keep(&SideRecord::Erase(erase.clone())).await
    }

    async fn prune(&self, prune: &Prune) -> Result<(), StoreError> {
        if !self.finished {
            return Err(self.refused("it has not ended"));
        }
        let through = seq_param(prune.through);
        let params: [Param<'_>; 2] = [(&self.id, Type::INT8), (&through, Type::INT8)];
        let sql = self.db.sql(
            "SELECT header, payload, seq = (SELECT max(seq) FROM @events WHERE run = $1)
             FROM @events WHERE run = $1 AND seq = $2",
        );
        let rows = self.transaction.query_typed(&sql, &params).await.map_err(failed)?;
        let Some(row) = rows.first() else {
            return Err(StoreError::NoEvent { run: self.run.clone(), seq: prune.through });
        };
        if row.get(2) {
            return Err(self.refused("its last event has to stay"));
        }
        if record_at(row, 0).hash() != prune.last_hash {
            return Err(self.refused(format!("the record names another hash for event {}", prune.through)));
        }
        self.execute("DELETE FROM @events WHERE run = $1 AND seq <= $2", &params).await?;
        self.execute("DELETE FROM @blob_refs WHERE run = $1 AND seq <= $2", &params).await?;
        self.execute("UPDATE @runs SET pruned_through = $2 WHERE id = $1", &params).await?;
        self.keep(&SideRecord::Prune(Box::new(prune.clone()))).await
    }
}

fn seq_param(seq: Seq) -> i64 {
    i64::try_from(seq.get()).unwrap_or(i64::MAX)
}
