//! How fast the log is: `cargo bench -p r1-store --bench log` prints one table; with `-- sqlite` (or the
//! beginning of another part's name) only those rows.
//!
//! Machines differ and are noisy, so every figure stands beside a limit measured in the same run.

#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "a benchmark that cannot run has nothing to say")]

mod check;
mod fixture;
mod footprint;
mod memory;
#[allow(dead_code, reason = "a benchmark restarts no servers")]
#[path = "../../tests/it/pg_server.rs"]
mod pg_server;
mod postgres;
mod sqlite;
mod table;
mod writers;

/// A part of the table.
type Part = fn(&mut table::Table, &tokio::runtime::Runtime);

const PARTS: &[(&str, Part)] = &[
    ("check", |table, _| check::measure(table)),
    ("memory", |table, _| memory::measure(table)),
    ("sqlite-append", sqlite::append),
    ("sqlite-read", sqlite::read),
    ("sqlite-growth", sqlite::growth),
    ("footprint", footprint::measure),
    ("postgres", postgres::measure),
];

fn main() {
    if footprint::is_measured_process() {
        return;
    }
    // Cargo adds options of its own; a word names a part.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut table = table::Table::default();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|part| name.starts_with(part.as_str())) {
            measure(&mut table, &runtime);
        }
    }
    table.finish();
}
