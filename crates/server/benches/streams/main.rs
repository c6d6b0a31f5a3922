//! What it costs to watch: `cargo bench -p r1-server --bench streams` prints one table; with `-- export` (or
//! another part) only those rows.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

mod crowd;
mod export;
mod idle;
mod pages;
mod stage;
#[allow(dead_code, reason = "the table of all benchmarks, of which each uses a part")]
#[path = "../../../store/benches/log/table.rs"]
mod table;
#[allow(dead_code, clippy::new_ret_no_self, reason = "the world of the tests, of which a benchmark needs a part")]
#[path = "../../tests/it/support/world.rs"]
mod world;

/// A part of the table.
type Part = fn(&mut table::Table, &tokio::runtime::Runtime);

const PARTS: &[(&str, Part)] =
    &[("export", export::measure), ("pages", pages::measure), ("crowd", crowd::measure), ("idle", idle::measure)];

fn main() {
    if idle::is_measured_process() {
        return;
    }
    // Cargo adds options of its own; a word names a part.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut table = table::Table::default();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|part| part == name) {
            measure(&mut table, &runtime);
        }
    }
    table.finish();
}
