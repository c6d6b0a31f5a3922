//! What recording costs the agent loop: `cargo bench -p r1-runtime --bench agent_loop` prints one table; with
//! `-- replay` (or another part) only those rows.

#![allow(clippy::expect_used, reason = "a benchmark that cannot run has nothing to say")]

mod crowd;
mod growth;
mod idle;
mod overhead;
mod replay;
mod stage;
#[allow(dead_code, reason = "the table of all benchmarks, of which each uses a part")]
#[path = "../../../store/benches/log/table.rs"]
mod table;

/// A part of the table.
type Part = fn(&mut table::Table, &tokio::runtime::Runtime);

const PARTS: &[(&str, Part)] = &[
    ("overhead", overhead::measure),
    ("growth", growth::measure),
    ("replay", replay::measure),
    ("crowd", crowd::measure),
    ("idle", idle::measure),
];

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
