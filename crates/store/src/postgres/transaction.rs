//! A transaction of several statements on a shared connection.

use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::{Error, IsolationLevel, Row};

use super::database::{Database, Param};
use crate::error::StoreError;

/// Rolled back unless committed.
pub(super) struct Transaction<'a> {
    db: &'a Database,
    inner: deadpool_postgres::Transaction<'a>,
    /// Whether the server was told how long to wait for locks and how durable the commit is to be.
    is_set: AtomicBool,
}

impl Database {
    /// Begins a transaction on a shared connection.
    pub(super) async fn transaction<'a>(&'a self, client: &'a mut Object) -> Result<Transaction<'a>, StoreError> {
        match Transaction::begin(self, client).await {
            Ok(transaction) => Ok(transaction),
            Err(err) => Err(self.failed(err).await),
        }
    }
}

impl<'a> Transaction<'a> {
    /// Begins one, with the driver's word for what went wrong.
    pub(super) async fn begin(db: &'a Database, client: &'a mut Object) -> Result<Self, Error> {
        let level = IsolationLevel::ReadCommitted;
        let inner = client.build_transaction().isolation_level(level).read_only(false).start().await?;
        Ok(Self { db, inner, is_set: AtomicBool::new(false) })
    }

    /// Asks something; `@` stands for the schema.
    pub(super) async fn query(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        match self.try_query(template, params).await {
            Ok(rows) => Ok(rows),
            Err(err) => Err(self.db.failed(err).await),
        }
    }

    /// The same, with the driver's word for what went wrong.
    pub(super) async fn try_query(&self, template: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        let sql = self.db.sql(template);
        let (set, rows) = tokio::join!(self.set(), self.inner.query_typed(&sql, params));
        set.and(rows)
    }

    /// Changes something, and tells how many rows.
    pub(super) async fn execute(&self, template: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let sql = self.db.sql(template);
        let (set, changed) = tokio::join!(self.set(), self.inner.execute_typed(&sql, params));
        match set.and(changed) {
            Ok(changed) => Ok(changed),
            Err(err) => Err(self.db.failed(err).await),
        }
    }

    /// Makes it durable.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        let db = self.db;
        match self.try_commit().await {
            Ok(()) => Ok(()),
            Err(err) => Err(db.failed(err).await),
        }
    }

    /// The same, with the driver's word for what went wrong.
    pub(super) async fn try_commit(self) -> Result<(), Error> {
        self.inner.commit().await
    }

    /// Goes along with the first statement, so that it costs no round trip.
    async fn set(&self) -> Result<(), Error> {
        if self.is_set.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.inner.batch_execute(self.db.settings()).await
    }
}
