//! The first page that anyone asks for, anywhere in a long run.

use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::stage::{Stage, Writer, ask, drain};
use crate::table::{Table, Target, scaled, time};

const LIMIT_MS: f64 = 20.0;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let events = scaled(1_000_000, 20_000);
    let directory = TempDir::new().expect("a directory");
    let run = runtime.block_on(async {
        let stage = Stage::open(directory.path()).await;
        let mut writer = Writer::new(&stage.store, 1).await;
        writer.work(events).await;
        stage.store.close().await.expect("closed");
        writer.run
    });
    let mut buffer = vec![0; 1 << 20];
    let mut worst = Duration::ZERO;
    for (at, rounds) in [(0, 9), (events / 2, 9), (events - 500, 9)] {
        // A server that has just begun, and then has not: the best of several shows what the page costs.
        let stage = runtime.block_on(Stage::open(directory.path()));
        let path = format!("/hecate/v1/runs/{run}/events?from_sequence={at}");
        let best = (0..rounds).map(|_| {
            time(|| {
                runtime.block_on(async {
                    let mut answer = ask(&stage.address, &path, "application/json").await;
                    assert!(drain(&mut answer, &mut buffer).await > 50_000);
                });
            })
        });
        worst = worst.max(best.min().expect("a round"));
    }
    let worst = worst.as_secs_f64() * 1e3;
    table.row(
        &format!("a page of 500 anywhere in a run of {events}"),
        &format!("{worst:.1} ms"),
        &format!("{LIMIT_MS} ms"),
        worst / LIMIT_MS,
        Target::AtMost(1.0),
    );
}
