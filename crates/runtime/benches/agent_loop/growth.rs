//! Whether turns cost more the more there were. In memory, where no disk hides what the loop itself does.

use std::sync::Arc;

use r1_event::Kind;
use r1_runtime::writer::LEASE;
use r1_store::{MemoryStore, Pages};
use tokio::runtime::Runtime;

use crate::stage::Stage;
use crate::table::{Table, Target, quick, scaled};

const MOST: f64 = 1.3;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let turns = scaled(2_000, 40);
    // A busy moment of the machine can hit either end. The best of each is taken by itself: the round with the
    // best ratio would be the one whose beginning was disturbed most.
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..if quick() { 1 } else { 5 } {
        let (first, last) = runtime.block_on(first_and_last(turns));
        best = (best.0.min(first), best.1.min(last));
    }
    let (first, last) = best;
    table.row(
        &format!("a turn at the end of a run of {turns}"),
        &format!("{last:.0} µs"),
        &format!("{first:.0} µs at its beginning"),
        last / first,
        Target::AtMost(MOST),
    );
}

/// Microseconds per turn in the first and the last tenth of a run.
async fn first_and_last(turns: usize) -> (f64, f64) {
    let stage = Stage::new(|_| Arc::new(MemoryStore::new()), LEASE);
    let run = stage.create(turns, &["look", "look"]).await;
    stage.play(&run).await;
    let mut starts = Vec::with_capacity(turns);
    let mut pages = Pages::of_all(&*stage.store, &run);
    while let Some(page) = pages.next().await.expect("readable") {
        let headers = page.iter().map(|record| record.header().expect("a header"));
        starts.extend(headers.filter(|header| header.kind == Kind::TurnStarted).map(|header| header.ts.0));
    }
    assert_eq!(starts.len(), turns);
    let tenth = turns / 10;
    #[expect(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
    let per_turn = |from: usize, to: usize| (starts[to] - starts[from]) as f64 / (to - from) as f64 / 1e3;
    (per_turn(0, tenth), per_turn(turns - 1 - tenth, turns - 1))
}
