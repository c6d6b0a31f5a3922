//! How fast the log is: `cargo bench -p r1-store` prints one table.
//!
//! Machines differ and are noisy, so every figure stands beside a limit measured in the same run.

#![allow(clippy::expect_used, reason = "a benchmark that cannot run has nothing to say")]

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

fn main() {
    if footprint::is_measured_process() {
        return;
    }
    let mut table = table::Table::default();
    check::measure(&mut table);
    memory::measure(&mut table);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    sqlite::measure(&mut table, &runtime);
    footprint::measure(&mut table, &runtime);
    postgres::measure(&mut table, &runtime);
    table.finish();
}
