//! How fast a run is replayed, with reading it from SQLite.

use std::time::Duration;

use r1_runtime::replay::replay;
use r1_runtime::writer::LEASE;
use tokio::runtime::Runtime;

use crate::stage::{self, Stage};
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};

/// Events per second.
const WANTED: u32 = 100_000;

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let stage = Stage::new(|directory| runtime.block_on(stage::sqlite(directory)), LEASE);
    let run = runtime.block_on(async {
        let run = stage.create(scaled(2_000, 20), &["look", "look"]).await;
        stage.play(&run).await;
        run
    });
    let mut events = 0;
    let (took, _) = best_of(
        5,
        || {
            time(|| {
                let report = runtime.block_on(replay(&stage.store, &run, |_| stage.toolset())).expect("replayed");
                assert_eq!(report.divergence, None);
                events = report.events;
            })
        },
        || Duration::ZERO,
    );
    let wanted = Duration::from_secs(1) * u32::try_from(events).expect("few") / WANTED;
    table.row(
        &format!("replay a run of {events} events"),
        &rate(usize::try_from(events).expect("few"), took),
        &format!("{} k/s", WANTED / 1000),
        speed(took, wanted),
        Target::AtLeast(1.0),
    );
}
