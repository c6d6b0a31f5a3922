//! Memory while checking a run that does not fit in it, measured in a process of its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use r1_event::finding::Integrity;
use r1_event::validate::{Options, Validator};
use r1_store::{Pages, SharedStore, SqliteStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::table::{Table, Target, scaled};
use crate::{fixture, sqlite};

/// Names the store to the process that is measured.
const STORE: &str = "R1_BENCH_FOOTPRINT";
const LIMIT_MB: f64 = 100.0;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let events = scaled(870_000, 2_000);
    let directory = TempDir::new().expect("a directory");
    let store = sqlite::open(runtime, directory.path());
    sqlite::fill(runtime, &store, 1, events, 1024);
    runtime.block_on(store.close()).expect("closed");
    let this = std::env::current_exe().expect("this program");
    let output = Command::new(this).env(STORE, directory.path().join("r1.db")).output().expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let peak_kb: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    let peak = peak_kb / 1000.0;
    table.row(
        &format!("memory while validating a run of {:.2} GB", (events * 1200) as f64 / 1e9),
        &format!("{peak:.0} MB"),
        &format!("{LIMIT_MB} MB"),
        peak / LIMIT_MB,
        Target::AtMost(1.0),
    );
}

/// In the process that is measured: checks the run and prints its own peak memory. False elsewhere.
pub(crate) fn is_measured_process() -> bool {
    let Some(path) = std::env::var_os(STORE) else { return false };
    check(Path::new(&path));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    println!("{}", peak.trim().trim_end_matches(" kB"));
    true
}

fn check(path: &Path) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let store: SharedStore = Arc::new(runtime.block_on(SqliteStore::open_read_only(path)).expect("the store"));
    let run = fixture::run_id(1);
    let mut pages = Pages::of_all(&*store, &run);
    let pages = std::iter::from_fn(|| runtime.block_on(pages.next()).transpose());
    let verdict = Validator::new(Options::default()).run(pages, 2).expect("a verdict");
    assert_eq!(verdict.integrity, Integrity::Ok);
}
