//! Appending to memory: the cost of making, checking and keeping an event, without a disk.

use std::time::Duration;

use futures_util::FutureExt as _;
use r1_event::{Batch, Chain, UnixNanos};
use r1_store::{MemoryStore, Store as _};

use crate::fixture;
use crate::table::{Table, Target, best_of, rate, scaled, speed, time};

/// How many events are made ready at a time, with the clock stopped.
const PREPARED: usize = 1024;

pub(crate) fn measure(table: &mut Table) {
    for group in [64, 1] {
        append(table, "100 B", 100, group, 700_000);
        append(table, "1 KiB", 1024, group, 400_000);
    }
}

fn append(table: &mut Table, name: &str, size: usize, group: usize, target: u32) {
    let events = scaled(16 * PREPARED, PREPARED);
    let payload = fixture::result(size);
    let (took, hashing) = best_of(
        100,
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
            let mut took = Duration::ZERO;
            for first in (0..events).step_by(PREPARED) {
                // What there is to say is the caller's; the log's work begins with it.
                let payloads = (first..first + PREPARED).map(|index| {
                    let payload = if index == 0 { fixture::started() } else { payload.clone() };
                    (UnixNanos(1_777_000_000_000_000_000 + index as i64), payload)
                });
                let mut payloads = payloads.collect::<Vec<_>>().into_iter();
                took += time(|| {
                    while payloads.len() > 0 {
                        let mut batch = Batch::new(&chain);
                        if group == 1 {
                            let (ts, payload) = payloads.next().expect("one more");
                            batch.push(ts, payload).expect("a sound event");
                        } else {
                            batch.extend(payloads.by_ref().take(group)).expect("sound events");
                        }
                        chain = batch.after().clone();
                        store.append(&lease, batch).now_or_never().expect(now).expect("appended");
                    }
                });
            }
            took
        },
        || time(|| (0..events).for_each(|_| hash_one_by_one(size))),
    );
    table.row(
        &format!("memory, {name}, made and appended {group} at a time"),
        &rate(events, took),
        &format!("{} k/s (plain BLAKE3 of the same bytes {})", target / 1000, rate(events, hashing)),
        speed(took, Duration::from_secs(1) * u32::try_from(events).expect("few") / target),
        Target::AtLeast(1.0),
    );
}

/// What an event's hashes cost by themselves: its payload, its header, its leaf and one node of the tree.
fn hash_one_by_one(payload: usize) {
    const HEADER: usize = 173;
    let bytes = [7; 1024];
    for size in [payload, HEADER, 1 + HEADER, 65] {
        std::hint::black_box(blake3::hash(std::hint::black_box(&bytes[..size])));
    }
}
