//! From an event to its being durable, as whoever emits it sees it: the queue, redaction, what the loop says
//! to it, hashing, SQLite and the disk.

use std::time::Duration;

use r1_runtime::writer::LEASE;
use tokio::runtime::Runtime;

use crate::stage::{self, Stage};
use crate::table::{Table, Target, scaled};

const LIMIT: Duration = Duration::from_millis(2);

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let stage = Stage::new(|directory| runtime.block_on(stage::sqlite(directory)), LEASE);
    runtime.block_on(async {
        let run = stage.create(scaled(300, 5), &["report"]).await;
        stage.play(&run).await;
    });
    let mut waits = std::mem::take(&mut *stage.waits.lock().expect("unharmed"));
    waits.sort();
    let (median, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    table.row(
        &format!("from an event to its being durable, SQLite, p99 of {}", waits.len()),
        &format!("{:.2} ms (median {:.2} ms)", milliseconds(p99), milliseconds(median)),
        &format!("{} ms", LIMIT.as_millis()),
        p99.as_secs_f64() / LIMIT.as_secs_f64(),
        Target::AtMost(1.0),
    );
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
