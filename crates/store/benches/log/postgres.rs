//! PostgreSQL: many runs at once against one transaction per event on the same server.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use r1_store::{Lease, PostgresOptions, PostgresStore, SharedStore};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use crate::fixture;
use crate::pg_server::shared_url;
use crate::table::{Table, Target, best_of, rate, scaled, speed};
use crate::writers;

const WRITERS: usize = 64;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let store = runtime.block_on(open());
    let plain = RefCell::new(runtime.block_on(Plain::new(&store)));
    let (each, plain_events) = (scaled(300, 5), scaled(2_000, 50));
    let mut first = 0;
    let (ours, peer) = best_of(
        15,
        || {
            first += WRITERS;
            runtime.block_on(plain.borrow().settle());
            runtime.block_on(writers::concurrently(&store, first, WRITERS, each))
        },
        || runtime.block_on(plain.borrow_mut().append(plain_events)),
    );
    let ours_events = WRITERS * each;
    let per_event =
        peer.mul_f64(f64::from(u32::try_from(ours_events).expect("few"))) / u32::try_from(plain_events).expect("few");
    table.row(
        &format!("PostgreSQL, durable, {WRITERS} runs at once, 1 KiB"),
        &rate(ours_events, ours),
        &format!("{} one transaction per event", rate(plain_events, peer)),
        speed(ours, per_event),
        Target::AtLeast(15.0),
    );
}

fn url() -> String {
    format!("{}?schema={}", shared_url(), schema())
}

fn schema() -> String {
    format!("r1_bench_{}", std::process::id())
}

async fn open() -> SharedStore {
    Arc::new(PostgresStore::open(&url(), PostgresOptions::default()).await.expect("a store"))
}

/// What a plain client would do to the same tables with the same promises: one prepared statement per event that
/// locks the run's lease, checks its token and inserts the event, committed by itself.
struct Plain {
    client: Client,
    insert: Statement,
    lease: Lease,
    run: i64,
    last: i64,
}

impl Plain {
    async fn new(store: &SharedStore) -> Self {
        let (client, connection) = tokio_postgres::connect(&shared_url(), NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path = {}", schema())).await.expect("a schema");
        let run = fixture::run_id(0);
        let lease = store.acquire(&run, "plain", Duration::from_secs(3600)).await.expect("a lease").lease;
        let begin = "INSERT INTO runs (run_id, version, started_at) VALUES ($1, 2, 0) RETURNING id";
        let run = client.query_one(begin, &[&run.as_str().as_bytes()]).await.expect("a run").get(0);
        let insert = "WITH held AS (SELECT FROM leases WHERE run_id = $1 AND token = $2 FOR UPDATE)
             INSERT INTO events (run, seq, xid, pos, ts, header, payload)
             SELECT $3, $4, pg_current_xact_id()::text::bigint, 1, $5, $6, $7 FROM held";
        let insert = client.prepare(insert).await.expect("a statement");
        Self { client, insert, lease, run, last: 0 }
    }

    /// A server that has run for a while writes into files that it has used before. Without this each round would
    /// begin with making new ones, and the faster writer would pay for more of them.
    async fn settle(&self) {
        self.client.batch_execute("CHECKPOINT").await.expect("a checkpoint");
    }

    async fn append(&mut self, events: usize) -> Duration {
        let (header, payload) = (vec![7_u8; 190], vec![7_u8; 1024]);
        let (key, token) = (self.lease.run.as_str().as_bytes(), self.lease.token.0.cast_signed());
        let start = Instant::now();
        for _ in 0..events {
            self.last += 1;
            let params: [&(dyn ToSql + Sync); 7] = [&key, &token, &self.run, &self.last, &0_i64, &header, &payload];
            let inserted = self.client.execute(&self.insert, &params).await.expect("inserted");
            assert_eq!(inserted, 1, "the lease is held");
        }
        start.elapsed()
    }
}
