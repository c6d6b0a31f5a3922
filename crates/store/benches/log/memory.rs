//! Appending to memory: the cost of making, checking and keeping an event, without a disk.

use std::time::Duration;

use futures_util::FutureExt as _;
use r1_event::{Batch, Chain, UnixNanos};
use r1_store::{MemoryStore, Store as _};

use crate::fixture;
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};

pub(crate) fn measure(table: &mut Table) {
    for group in [64, 1] {
        append(table, "100 B", 100, group, 700_000);
        append(table, "1 KiB", 1024, group, 400_000);
    }
}

fn append(table: &mut Table, name: &str, size: usize, group: usize, target: u32) {
    let events = scaled(300_000, 1_000);
    let payload = fixture::result(size);
    let (took, _) = best_of(
        5,
        || {
            let store = MemoryStore::new();
            let run = fixture::run_id(1);
            let now = "a store in memory answers at once";
            let lease = store
                .acquire(&run, "bench", Duration::from_secs(60))
                .now_or_never()
                .expect(now)
                .expect("a lease")
                .lease;
            let mut chain = Chain::new(run);
            time(|| {
                for first in (0..events).step_by(group) {
                    let mut batch = Batch::new(&chain);
                    let events = (first..first + group).map(|index| {
                        let payload = if index == 0 { fixture::started() } else { payload.clone() };
                        (UnixNanos(1_777_000_000_000_000_000 + index as i64), payload)
                    });
                    batch.extend(events).expect("sound events");
                    chain = batch.after().clone();
                    store.append(&lease, batch).now_or_never().expect(now).expect("appended");
                }
            })
        },
        || Duration::ZERO,
    );
    table.row(
        &format!("memory, {name}, made and appended {group} at a time"),
        &rate(events, took),
        &format!("{} k/s", target / 1000),
        speed(took, Duration::from_secs(1) * u32::try_from(events).expect("few") / target),
        Target::AtLeast(1.0),
    );
}
