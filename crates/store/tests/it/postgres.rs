//! The PostgreSQL store keeps every promise, on a real server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use r1_event::Digest;
use r1_store::conformance::{Fixture, twin};
use r1_store::{PostgresOptions, PostgresStore, SharedStore};
use tokio_postgres::NoTls;

use crate::pg_server;

/// A schema of its own.
pub(crate) struct Schema {
    pub(crate) server: String,
    pub(crate) name: String,
}

impl Schema {
    pub(crate) fn new() -> Self {
        Self::on(pg_server::shared_url())
    }

    pub(crate) fn on(server: String) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { server, name: format!("r1_test_{now}_{}_{count}", std::process::id()) }
    }

    pub(crate) fn url(&self) -> String {
        with_schema(&self.server, &self.name)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        self.open_with(options()).await
    }

    pub(crate) async fn open_with(&self, options: PostgresOptions) -> PostgresStore {
        PostgresStore::open(&self.url(), options).await.unwrap()
    }

    /// A connection that knows nothing of stores; `@` in `sql` stands for the schema.
    pub(crate) async fn execute(&self, sql: &str) {
        self.connect().await.batch_execute(&self.sql(sql)).await.unwrap();
    }

    /// A connection on which `sql` was done, for whatever it leaves open.
    pub(crate) async fn hold(&self, sql: &str) -> tokio_postgres::Client {
        let client = self.connect().await;
        client.batch_execute(&self.sql(sql)).await.unwrap();
        client
    }

    fn sql(&self, sql: &str) -> String {
        sql.replace('@', &format!("\"{}\".", self.name))
    }

    pub(crate) async fn connect(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

impl Drop for Schema {
    /// Someone's own server is left as it was; a throw-away one goes as a whole.
    fn drop(&mut self) {
        if std::env::var_os("R1_TEST_POSTGRES").is_none() {
            return;
        }
        let (server, name) = (self.server.clone(), self.name.clone());
        let clean = async move {
            let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&format!("DROP SCHEMA IF EXISTS \"{name}\" CASCADE")).await.unwrap();
        };
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        drop(std::thread::spawn(move || runtime().block_on(clean)).join());
    }
}

pub(crate) fn with_schema(server: &str, schema: &str) -> String {
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}schema={schema}")
}

pub(crate) fn options() -> PostgresOptions {
    let (patience, lock_wait) = (Duration::from_secs(60), Duration::from_secs(60));
    PostgresOptions { connections: 4, patience, lock_wait, ..PostgresOptions::default() }
}

impl Fixture for Schema {
    fn open(&self) -> BoxFuture<'_, SharedStore> {
        async { Arc::new(Schema::open(self).await) as SharedStore }.boxed()
    }

    fn damage_blob(&self, hash: Digest) -> BoxFuture<'_, bool> {
        async move {
            let sql = format!(
                "UPDATE @blob_chunks SET bytes = set_byte(bytes, 100, 77)
                 WHERE blob = (SELECT id FROM @blobs WHERE hash = '\\x{hash}')"
            );
            self.execute(&sql).await;
            true
        }
        .boxed()
    }

    fn damage<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, bool> {
        async move {
            self.execute(statement).await;
            true
        }
        .boxed()
    }
}

r1_store::store_conformance!(Schema::new());

/// The whole suite again, each call on the other of two stores in turn.
mod log_14_two_stores_at_once {
    use super::*;

    struct Twins(Schema);

    impl Fixture for Twins {
        fn open(&self) -> BoxFuture<'_, SharedStore> {
            async { twin(Fixture::open(&self.0).await, Fixture::open(&self.0).await) }.boxed()
        }

        fn damage_blob(&self, hash: Digest) -> BoxFuture<'_, bool> {
            self.0.damage_blob(hash)
        }

        fn damage<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, bool> {
            self.0.damage(statement)
        }
    }

    r1_store::store_conformance!(Twins(Schema::new()));
}
