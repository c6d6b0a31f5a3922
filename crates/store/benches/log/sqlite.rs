//! The SQLite store against bare SQLite doing the same on the same disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use r1_store::{Pages, SharedStore, SqliteOptions, SqliteStore};
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::fixture;
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};
use crate::writers::{self, Writer};

pub(crate) fn append(table: &mut Table, runtime: &Runtime) {
    one_writer(table, runtime);
    many_writers(table, runtime, 64, scaled(200, 2));
    many_writers(table, runtime, 1024, scaled(40, 1));
}

pub(crate) fn growth(table: &mut Table, runtime: &Runtime) {
    long_run(table, runtime);
    many_runs(table, runtime);
}

pub(crate) fn open(runtime: &Runtime, directory: &Path) -> SharedStore {
    let store = runtime.block_on(SqliteStore::open(directory.join("r1.db"), SqliteOptions::default()));
    Arc::new(store.expect("a new store"))
}

/// Bare SQLite with the same table and the same promise: durable when it returns.
struct Bare {
    db: Connection,
    header: Vec<u8>,
    payload: Vec<u8>,
    /// The first of the runs that are being written.
    first: i64,
    /// The place of their next events.
    next: i64,
}

impl Bare {
    fn open(directory: &Path) -> Self {
        let db = Connection::open(directory.join("bare.db")).expect("a new file");
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE events (pos INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL,
                                  header BLOB NOT NULL, payload BLOB, UNIQUE (run, seq)) STRICT;",
        )
        .expect("a table");
        let record = fixture::log(fixture::run_id(1), 3, 1024).pop().expect("three events");
        Self {
            db,
            header: record.header.to_vec(),
            payload: record.payload.expect("a payload").to_vec(),
            first: 0,
            next: 1,
        }
    }

    /// Begins new runs from number `first` on, as our writers do: how far apart a group's places in the index are
    /// is most of what a commit costs.
    fn start(&mut self, first: usize, runs: i64) {
        self.first = i64::try_from(first).expect("few");
        self.next = 1;
        self.commit(runs);
    }

    /// Commits an event of each of `runs` runs in one transaction.
    fn commit(&mut self, runs: i64) {
        let transaction = self.db.transaction().expect("a transaction");
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO events (run, seq, header, payload) VALUES (?1, ?2, ?3, ?4)")
                .expect("a statement");
            for run in self.first..self.first + runs {
                insert.execute(params![run, self.next, &self.header[..], &self.payload[..]]).expect("inserted");
            }
        }
        transaction.commit().expect("committed");
        self.next += 1;
    }
}

fn one_writer(table: &mut Table, runtime: &Runtime) {
    let events = scaled(1_000, 20);
    let directory = TempDir::new().expect("a directory");
    let store = open(runtime, directory.path());
    let mut writer = runtime.block_on(Writer::start(&store, 1));
    let mut bare = Bare::open(directory.path());
    let payload = fixture::result(1024);
    let (ours, theirs) = best_of(
        15,
        || {
            time(|| {
                runtime.block_on(async {
                    for _ in 0..events {
                        writer.append(payload.clone(), 1).await;
                    }
                });
            })
        },
        || time(|| (0..events).for_each(|_| bare.commit(1))),
    );
    table.row(
        "SQLite, durable, one writer, 1 KiB",
        &rate(events, ours),
        &format!("{} bare SQLite", rate(events, theirs)),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        Target::AtMost(1.3),
    );
}

fn many_writers(table: &mut Table, runtime: &Runtime, writers: usize, events: usize) {
    let directory = TempDir::new().expect("a directory");
    let store = open(runtime, directory.path());
    let mut bare = Bare::open(directory.path());
    let group = i64::try_from(writers).expect("few");
    let (mut first, mut bare_first) = (0, 0);
    let (ours, theirs) = best_of(
        15,
        || {
            first += writers;
            runtime.block_on(writers::concurrently(&store, first, writers, events))
        },
        || {
            bare_first += writers;
            bare.start(bare_first, group);
            time(|| (0..events).for_each(|_| bare.commit(group)))
        },
    );
    table.row(
        &format!("SQLite, durable, {writers} writers, 1 KiB"),
        &rate(writers * events, ours),
        &format!("{} bare SQLite, {writers} per commit", rate(writers * events, theirs)),
        speed(ours, theirs),
        Target::AtLeast(0.8),
    );
}

pub(crate) fn read(table: &mut Table, runtime: &Runtime) {
    let events = scaled(200_000, 2_000);
    let directory = TempDir::new().expect("a directory");
    let store = open(runtime, directory.path());
    fill(runtime, &store, 1, events, 1024);
    let bare = Connection::open(directory.path().join("r1.db")).expect("the same file");
    let run = fixture::run_id(1);
    let (ours, theirs) = best_of(
        5,
        || {
            time(|| {
                runtime.block_on(async {
                    let mut pages = Pages::of_all(&*store, &run);
                    let mut read = 0;
                    while let Some(page) = pages.next().await.expect("a page") {
                        read += page.len();
                        std::hint::black_box(&page);
                    }
                    assert_eq!(read, events, "every event was read");
                });
            })
        },
        || {
            time(|| {
                let mut select = bare.prepare("SELECT header, payload FROM events").expect("a statement");
                let mut rows = select.query([]).expect("rows");
                let mut buffer = Vec::with_capacity(2 << 20);
                while let Some(row) = rows.next().expect("a row") {
                    if buffer.len() > 1 << 20 {
                        buffer.clear();
                    }
                    for column in 0..2 {
                        buffer.extend_from_slice(row.get_ref(column).expect("a value").as_blob().expect("bytes"));
                    }
                    std::hint::black_box(&buffer);
                }
            })
        },
    );
    table.row(
        "SQLite, read a run, 1 KiB",
        &rate(events, ours),
        &format!("{} bare table scan", rate(events, theirs)),
        speed(ours, theirs),
        Target::AtLeast(0.8),
    );
}

/// Writes a run of `events` events in large batches.
pub(crate) fn fill(runtime: &Runtime, store: &SharedStore, number: usize, events: usize, size: usize) -> Writer {
    let payload = fixture::result(size);
    runtime.block_on(async {
        let mut writer = Writer::start(store, number).await;
        let mut left = events - 1;
        while left > 0 {
            let batch = left.min(1000);
            writer.append(payload.clone(), batch).await;
            left -= batch;
        }
        writer
    })
}

fn long_run(table: &mut Table, runtime: &Runtime) {
    let (events, appends) = (scaled(1_000_000, 2_000), scaled(2_000, 5));
    let directory = TempDir::new().expect("a directory");
    let store = open(runtime, directory.path());
    let payload = fixture::result(100);
    let mut long = fill(runtime, &store, 1, events, 100);
    let mut short = fill(runtime, &store, 2, 1, 100);
    let (at_length, at_start) = best_of(
        5,
        || appending(runtime, &mut long, &payload, appends),
        || appending(runtime, &mut short, &payload, appends),
    );
    table.row(
        &format!("SQLite, append to a run of {events} events"),
        &rate(appends, at_length),
        &format!("{} to a new run", rate(appends, at_start)),
        at_length.as_secs_f64() / at_start.as_secs_f64(),
        Target::AtMost(1.15),
    );
}

fn appending(runtime: &Runtime, writer: &mut Writer, payload: &r1_event::Payload, appends: usize) -> Duration {
    time(|| {
        runtime.block_on(async {
            for _ in 0..appends {
                writer.append(payload.clone(), 1).await;
            }
        });
    })
}

fn many_runs(table: &mut Table, runtime: &Runtime) {
    let (runs, appends) = (scaled(100_000, 500), scaled(2_000, 5));
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("r1.db");
    let store = open(runtime, directory.path());
    let payload = fixture::result(100);
    let alone = TempDir::new().expect("a directory");
    let small = open(runtime, alone.path());
    for first in (0..runs).step_by(1000) {
        runtime.block_on(writers::concurrently(&store, first, runs.min(1000), 0));
    }
    let mut among_many = runtime.block_on(Writer::start(&store, runs));
    let mut among_none = runtime.block_on(Writer::start(&small, runs));
    let (ours, theirs) = best_of(
        5,
        || appending(runtime, &mut among_many, &payload, appends),
        || appending(runtime, &mut among_none, &payload, appends),
    );
    table.row(
        &format!("SQLite, append among {runs} runs"),
        &rate(appends, ours),
        &format!("{} alone", rate(appends, theirs)),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        Target::AtMost(1.15),
    );
    drop(among_many);
    runtime.block_on(store.close()).expect("closed");
    let mut opening = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let store = runtime.block_on(SqliteStore::open(&path, SqliteOptions::default())).expect("the store");
        opening = opening.min(start.elapsed());
        runtime.block_on(r1_store::Store::close(&store)).expect("closed");
    }
    table.row(
        &format!("SQLite, open a store with {runs} runs"),
        &format!("{:.1} ms", opening.as_secs_f64() * 1e3),
        "50 ms",
        opening.as_secs_f64() / 0.05,
        Target::AtMost(1.0),
    );
}
