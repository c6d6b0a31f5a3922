//! Memory of a process that has nothing to do, measured in a process of its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use r1_runtime::workers::Workers;
use r1_runtime::writer::LEASE;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::stage::{self, Stage};
use crate::table::{Table, Target, scaled};

/// Names the directory to the process that is measured.
const DIRECTORY: &str = "R1_BENCH_IDLE";
const LIMIT_MB: f64 = 40.0;

/// Long enough for everything that is done at the start.
const SETTLED: Duration = Duration::from_secs(2);

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let runs = scaled(500, 3);
    let stage = Stage::new(|directory| runtime.block_on(stage::sqlite(directory)), LEASE);
    runtime.block_on(async {
        for _ in 0..runs {
            stage.create(5, &["look"]).await;
        }
        Workers::new(stage.engine.clone(), 8).run(CancellationToken::new(), true).await;
    });
    let this = std::env::current_exe().expect("this program");
    let output = Command::new(this).env(DIRECTORY, stage.path()).output().expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kilobytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    let resident = kilobytes / 1000.0;
    table.row(
        &format!("memory of idle workers on a store with {runs} runs"),
        &format!("{resident:.0} MB"),
        &format!("{LIMIT_MB} MB"),
        resident / LIMIT_MB,
        Target::AtMost(1.0),
    );
}

/// In the process that is measured: waits for work that does not come and prints its memory. False elsewhere.
pub(crate) fn is_measured_process() -> bool {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return false };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(be_idle(Path::new(&directory)));
    true
}

async fn be_idle(directory: &Path) {
    let engine = stage::engine(stage::sqlite(directory).await, directory, Arc::default());
    let stop = CancellationToken::new();
    let work = tokio::spawn(Workers::new(Arc::new(engine), 8).run(stop.clone(), false));
    tokio::time::sleep(SETTLED).await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    println!("{}", resident.trim().trim_end_matches(" kB"));
    stop.cancel();
    work.await.expect("idle workers end");
}
