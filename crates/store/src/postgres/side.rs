//! What is kept beside a log: side records, erasures, prunes.
//!
//! **What erasing reaches.** The payload is set to null and the dead row vacuumed away. Where the table
//! has up to [`REWRITE_BYTES`] it is also written anew, for PostgreSQL does not wipe free space inside a
//! page; a larger one would be locked for too long, there `compact` does it when it suits.
//!
//! What PostgreSQL keeps for itself is out of a client's reach: the write-ahead log holds the row until
//! its segments are recycled; archives, replicas and backups have histories of their own. A transaction
//! elsewhere that began before the erasure keeps the dead row alive until it ends and the table is
//! vacuumed again.

use deadpool_postgres::Transaction;
use r1_event::side_record::{Erase, Prune};
use r1_event::{RunId, Seq, SideRecord, Version};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::database::{Database, Param, failed};
use super::read::{SUMMARY, read_summary, record_at, version_of};
use crate::error::StoreError;
use crate::rules;

/// A table of this size is written anew within seconds.
const REWRITE_BYTES: i64 = 1 << 30;

impl Database {
    pub(super) async fn side_records(&self, run: &RunId) -> Result<Vec<SideRecord>, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = "SELECT s.record FROM @side_records s JOIN @runs r ON r.id = s.run WHERE r.run_id = $1 ORDER BY s.n";
        let rows = self.query(sql, &[(&key, Type::BYTEA)]).await?;
        Ok(rows.iter().map(|row| SideRecord::restore(row.get(0))).collect())
    }

    pub(super) async fn add_side_record(&self, run: &RunId, record: &SideRecord) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, run).await?;
        rules::check_side_record(run, record)?;
        locked.keep(record).await?;
        transaction.commit().await.map_err(failed)
    }

    pub(super) async fn erase(&self, erasures: &[Erase]) -> Result<(), StoreError> {
        let Some(run) = rules::erased_run(erasures)? else { return Ok(()) };
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, run).await?;
        rules::check_erasable(run, locked.version)?;
        for erase in erasures {
            locked.erase(erase).await?;
        }
        transaction.commit().await.map_err(failed)?;
        drop(client);
        // What an event says may have been in a document that was computed from it.
        for name in ["events", "documents"] {
            let sql = "SELECT pg_total_relation_size($1::text::regclass) <= $2";
            let table = self.sql(&format!("@{name}"));
            let rows = self.query(sql, &[(&table, Type::TEXT), (&REWRITE_BYTES, Type::INT8)]).await?;
            let is_small = rows.first().is_some_and(|row| row.get(0));
            self.vacuum(if is_small { "FULL" } else { "" }, &[name]).await?;
        }
        // Or in a command first.
        self.vacuum("FULL", &["commands"]).await
    }

    pub(super) async fn prune(&self, prune: &Prune) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let transaction = self.transaction(&mut client).await?;
        let locked = LockedRun::lock(self, &transaction, &prune.run_id).await?;
        locked.prune(prune).await?;
        transaction.commit().await.map_err(failed)?;
        drop(client);
        self.vacuum("", &["events", "blob_refs"]).await
    }
}

/// A run whose row is locked, so that what is kept beside its log changes one step at a time.
struct LockedRun<'a> {
    db: &'a Database,
    transaction: &'a Transaction<'a>,
    run: &'a RunId,
    id: i64,
    version: Version,
}

impl<'a> LockedRun<'a> {
    async fn lock(db: &'a Database, transaction: &'a Transaction<'a>, run: &'a RunId) -> Result<Self, StoreError> {
        let key = run.as_str().as_bytes();
        let sql = db.sql("SELECT id, version FROM @runs WHERE run_id = $1 FOR UPDATE");
        let rows = transaction.query_typed(&sql, &[(&key, Type::BYTEA)]).await.map_err(failed)?;
        let row = rows.first().ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
        let version = version_of(row, 1).map_err(|why| why.of(run))?;
        Ok(Self { db, transaction, run, id: row.get(0), version })
    }

    async fn query(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        self.transaction.query_typed(&self.db.sql(template), params).await.map_err(failed)
    }

    async fn execute(&self, template: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.transaction.execute_typed(&self.db.sql(template), params).await.map_err(failed)
    }

    async fn keeps(&self, record: &SideRecord) -> Result<bool, StoreError> {
        let key = rules::side_record_key(record, &record.encode()).into_bytes();
        let sql = "SELECT 1 FROM @side_records WHERE run = $1 AND key = $2";
        Ok(!self.query(sql, &[(&self.id, Type::INT8), (&key, Type::BYTEA)]).await?.is_empty())
    }

    async fn keep(&self, record: &SideRecord) -> Result<(), StoreError> {
        let bytes = record.encode();
        let key = rules::side_record_key(record, &bytes).into_bytes();
        let params: [Param<'_>; 3] = [(&self.id, Type::INT8), (&key, Type::BYTEA), (&bytes, Type::BYTEA)];
        let sql = "INSERT INTO @side_records (run, key, record) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.execute(sql, &params).await.map(drop)
    }

    async fn erase(&self, erase: &Erase) -> Result<(), StoreError> {
        let seq = seq_param(erase.seq);
        let params: [Param<'_>; 2] = [(&self.id, Type::INT8), (&seq, Type::INT8)];
        let erased = self.execute("UPDATE @events SET payload = NULL WHERE run = $1 AND seq = $2", &params).await?;
        if erased == 0 {
            return Err(StoreError::NoEvent { run: self.run.clone(), seq: erase.seq });
        }
        self.keep(&SideRecord::Erase(erase.clone())).await
    }

    async fn prune(&self, prune: &Prune) -> Result<(), StoreError> {
        let record = SideRecord::Prune(Box::new(prune.clone()));
        if self.keeps(&record).await? {
            return Ok(());
        }
        let summary = self.query(&format!("{SUMMARY} WHERE r.id = $1"), &[(&self.id, Type::INT8)]).await?;
        let summary = summary.first().map(read_summary).transpose().map_err(|why| why.of(self.run))?;
        let summary = summary.ok_or_else(|| StoreError::NoRun { run: self.run.clone() })?;
        rules::check_prune(prune, self.version, &summary.head, summary.pruned_through)?;
        let through = seq_param(prune.through());
        let params: [Param<'_>; 2] = [(&self.id, Type::INT8), (&through, Type::INT8)];
        let rows = self.query("SELECT header, payload FROM @events WHERE run = $1 AND seq = $2", &params).await?;
        let missing = || StoreError::NoEvent { run: self.run.clone(), seq: prune.through() };
        rules::check_pruned_hash(prune, record_at(rows.first().ok_or_else(missing)?, 0).hash())?;
        self.execute("DELETE FROM @events WHERE run = $1 AND seq <= $2", &params).await?;
        self.execute("DELETE FROM @blob_refs WHERE run = $1 AND seq <= $2", &params).await?;
        self.execute("UPDATE @runs SET pruned_through = $2 WHERE id = $1", &params).await?;
        self.keep(&record).await
    }
}

fn seq_param(seq: Seq) -> i64 {
    i64::try_from(seq.get()).unwrap_or(i64::MAX)
}
