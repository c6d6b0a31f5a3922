//! The same on PostgreSQL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use r1_store::{PostgresOptions, PostgresStore};

use crate::pg_server;
use crate::streams::places::Place;
use crate::streams::{every_reader_gets_every_event, the_bytes_are_the_same_everywhere};

/// A schema of its own on the shared server.
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let server = pg_server::shared_url();
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let name = format!("r1_test_{now}_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let sign = if server.contains('?') { '&' } else { '?' };
        Self(format!("{server}{sign}schema={name}"))
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        let options =
            PostgresOptions { connections: 4, patience: Duration::from_secs(60), ..PostgresOptions::default() };
        PostgresStore::open(&self.0, options).await.unwrap()
    }
}

#[tokio::test]
async fn ep_04_the_bytes_are_the_same_everywhere() {
    the_bytes_are_the_same_everywhere(Place::Postgres(Schema::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_12_every_reader_gets_every_event() {
    every_reader_gets_every_event(Place::Postgres(Schema::new())).await;
}
