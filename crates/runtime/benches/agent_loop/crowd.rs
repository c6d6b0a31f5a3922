//! Many runs at once on one store, with leases a tenth as long as usual, so that each is renewed many times.

use std::time::{Duration, Instant};

use r1_event::{Kind, RunId};
use r1_runtime::workers::Workers;
use r1_runtime::writer::LEASE;
use r1_store::SharedStore;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::stage::{self, Stage};
use crate::table::{Table, Target, rate, scaled};

const RUNS: usize = 200;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let stage = Stage::new(|directory| runtime.block_on(stage::sqlite(directory)), LEASE / 10);
    let (took, events, failed) = runtime.block_on(async {
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            runs.push(stage.create(scaled(100, 3), &["look", "look"]).await);
        }
        let started = Instant::now();
        Workers::new(stage.engine.clone(), RUNS).run(CancellationToken::new(), true).await;
        let took = started.elapsed();
        let (events, failed) = look_at(&stage.store, &runs).await;
        (took, events, failed)
    });
    #[expect(clippy::cast_precision_loss, reason = "at most 200")]
    table.row(
        &format!("{RUNS} runs at once, SQLite: leases that failed"),
        &format!("{failed} ({:.1} s, {} events)", seconds(took), rate(events, took)),
        "none",
        failed as f64,
        Target::AtMost(0.0),
    );
}

/// How many events there are, and how many runs did not end as they should or changed hands before.
async fn look_at(store: &SharedStore, runs: &[RunId]) -> (usize, usize) {
    let (mut events, mut failed) = (0, 0);
    for run in runs {
        let head = store.head(run).await.expect("readable").expect("a run");
        // Every lease that is taken has a token of its own: one to create the run, one to work on it.
        let again = store.acquire(run, "bench", Duration::ZERO).await.expect("free").lease.token.0 > 3;
        events += usize::try_from(head.next.get() - 1).expect("few");
        failed += usize::from(again || head.terminal != Some(Kind::RunCompleted));
    }
    (events, failed)
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
