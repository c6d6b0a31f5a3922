//! PostgreSQL: many runs at once against one transaction per event on the same server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use r1_store::{PostgresOptions, PostgresStore, SharedStore};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::pg_server::shared_url;
use crate::table::{Table, Target, best_of, rate, scaled, speed};
use crate::writers;

const WRITERS: usize = 64;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let bare = runtime.block_on(Bare::new());
    let store = runtime.block_on(open());
    let (each, bare_events) = (scaled(300, 5), scaled(2_000, 50));
    let mut first = 0;
    let (ours, peer) = best_of(
        3,
        || {
            first += WRITERS;
            runtime.block_on(writers::concurrently(&store, first, WRITERS, each))
        },
        || runtime.block_on(bare.append(bare_events)),
    );
    let ours_events = WRITERS * each;
    let per_event =
        peer.mul_f64(f64::from(u32::try_from(ours_events).expect("few"))) / u32::try_from(bare_events).expect("few");
    table.row(
        &format!("PostgreSQL, durable, {WRITERS} runs at once, 1 KiB"),
        &rate(ours_events, ours),
        &format!("{} one transaction per event", rate(bare_events, peer)),
        speed(ours, per_event),
        Target::AtLeast(15.0),
    );
}

async fn open() -> SharedStore {
    let url = format!("{}?schema=r1_bench_{}", shared_url(), std::process::id());
    Arc::new(PostgresStore::open(&url, PostgresOptions::default()).await.expect("a store"))
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
