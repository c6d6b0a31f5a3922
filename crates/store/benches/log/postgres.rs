//! PostgreSQL: many runs at once against one transaction per event on the same server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use r1_event::{Batch, Chain, Payload, UnixNanos};
use r1_store::{PostgresOptions, PostgresStore, SharedStore};
use tokio_postgres::{Client, NoTls};

use crate::fixture;
use crate::pg_server::shared_url;
use crate::table::{Table, Target, best_of, rate, scaled, speed};

const WRITERS: usize = 64;

pub(crate) fn measure(table: &mut Table) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let bare = runtime.block_on(Bare::new());
    let store = runtime.block_on(open());
    let payload = fixture::result(1024);
    let (ours_events, bare_events) = (scaled(WRITERS * 300, WRITERS * 5), scaled(2_000, 50));
    let mut round = 0;
    let (ours, peer) = best_of(
        3,
        || {
            round += 1;
            runtime.block_on(append(&store, round * WRITERS, ours_events / WRITERS, &payload))
        },
        || runtime.block_on(bare.append(bare_events)),
    );
    table.row(
        &format!("PostgreSQL, {WRITERS} runs at once, 1 KiB, durable"),
        &rate(ours_events, ours),
        &format!("one transaction per event: {}", rate(bare_events, peer)),
        speed(ours, peer) * ours_events as f64 / bare_events as f64,
        Target::AtLeast(15.0),
    );
}

async fn open() -> SharedStore {
    let url = format!("{}?schema=r1_bench_{}", shared_url(), std::process::id());
    Arc::new(PostgresStore::open(&url, PostgresOptions::default()).await.expect("a store"))
}

/// How long the writers take to append `events` events each, one per append.
async fn append(store: &SharedStore, first: usize, events: usize, payload: &Payload) -> Duration {
    let writers = (first..first + WRITERS).map(|number| async move {
        let run = fixture::run_id(number);
        let lease = store.acquire(&run, "bench", Duration::from_secs(600)).await.expect("a lease");
        let mut batch = Batch::new(&Chain::new(run));
        batch.push(UnixNanos(1), fixture::started()).expect("a first event");
        let chain = batch.after().clone();
        store.append(&lease, batch).await.expect("appended");
        (lease, chain)
    });
    let writers = join_all(writers).await;
    let start = Instant::now();
    let writing = writers.into_iter().map(|(lease, mut chain)| {
        let (store, payload) = (Arc::clone(store), payload.clone());
        tokio::spawn(async move {
            for _ in 0..events {
                let mut batch = Batch::new(&chain);
                batch.push(UnixNanos(2), payload.clone()).expect("a sound event");
                chain = batch.after().clone();
                store.append(&lease, batch).await.expect("appended");
            }
        })
    });
    for writer in join_all(writing).await {
        writer.expect("no writer fails");
    }
    start.elapsed()
}

/// The least that a client can do: a prepared insert into a table with a key, committed by itself.
struct Bare {
    client: Client,
}

impl Bare {
    async fn new() -> Self {
        let (client, connection) = tokio_postgres::connect(&shared_url(), NoTls).await.expect("a connection");
        tokio::spawn(connection);
        let table = "CREATE TABLE IF NOT EXISTS bare (run BIGINT, seq BIGSERIAL, header BYTEA, payload BYTEA, \
                     PRIMARY KEY (run, seq))";
        client.batch_execute(table).await.expect("a table");
        Self { client }
    }

    async fn append(&self, events: usize) -> Duration {
        let insert = "INSERT INTO bare (run, header, payload) VALUES (1, $1, $2)";
        let insert = self.client.prepare(insert).await.expect("a statement");
        let (header, payload) = (vec![7_u8; 190], vec![7_u8; 1024]);
        let start = Instant::now();
        for _ in 0..events {
            self.client.execute(&insert, &[&header, &payload]).await.expect("inserted");
        }
        start.elapsed()
    }
}
