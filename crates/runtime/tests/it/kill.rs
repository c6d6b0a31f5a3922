//! Worker processes that are killed or stopped at any moment: every run still ends, nothing is done twice,
//! and nobody writes to a run that another one has. Nor does the log of receipts lose or repeat anything.

mod after;
mod child;
mod house;
mod instance_log;

use std::collections::BTreeSet;
use std::time::Duration;

use r1_event::RunId;
use r1_runtime::engine::{Claim, Outcome};
use r1_store::{FeedCursor, PageLimit, SharedStore};
use tokio_util::sync::CancellationToken;

use child::{Errand, Worker};
use house::House;

const RUNS: usize = 200;
const WORKERS: usize = 3;

/// Events between two kills, at most: a run has about 50.
const LIVES: u64 = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_17_two_hundred_runs_end_although_their_workers_are_killed_at_random() {
    let seed = seed();
    println!("R1_TEST_SEED={seed}");
    let mut random = Random(seed);
    let house = House::new().await;
    let mut runs = Vec::with_capacity(RUNS);
    for number in 0..RUNS {
        runs.push(house.create(&scenario(number)).await);
    }

    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| Worker::start(&house, Errand::WorkOnAll)).collect();
    let mut growth = Growth::of(&house.store);
    growth.until_ended(&runs, 0).await;
    let mut kills = 0;
    while growth.ended.len() < RUNS {
        growth.until_ended(&runs, 1 + random.below(LIVES)).await;
        let victim = usize::try_from(random.below(WORKERS as u64)).unwrap();
        workers[victim].kill();
        workers[victim] = Worker::start(&house, Errand::WorkOnAll);
        kills += 1;
    }
    drop(workers);
    let takeovers = after::check(&house, &runs).await;
    println!("{kills} workers were killed, and {takeovers} times a run went on with another one");
    assert!(takeovers > 0, "no kill hit a run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_17_the_run_of_a_worker_that_died_here_is_free_at_once() {
    let house = House::new().await;
    let run = house.create("turns: [{tool_calls: [{tool: hold, id: held}]}, {text: done}]").await;
    let mut worker = Worker::start(&house, Errand::WorkOnAll);
    house.until(&run, "tool.started").await;
    worker.kill();
    // Its lease is good for half a minute more.
    let lease = house.store.lease(&run).await.unwrap().unwrap();
    let _successor = Worker::start(&house, Errand::WorkOnAll);
    house.until_ended(&run).await;
    let completed_at = house.state(&run).await.last_at;
    assert!(completed_at < lease.until, "nobody waited until the lease had run out");
    after::check(&house, &[run]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ep_18_a_worker_that_slept_through_its_lease_can_write_no_more() {
    let house = House::new().await;
    let run = house
        .create(
            "turns: [{tool_calls: [{tool: hold, id: first}]}, {tool_calls: [{tool: hold, id: second}]}, {text: done}]",
        )
        .await;
    let mut sleeper = Worker::start(&house, Errand::WorkOnOne(run.clone(), Duration::from_millis(1_500)));
    house.until_noted("first").await;
    sleeper.stop();
    house.until_free(&run).await;

    // It did not die, so only the end of its lease lets another one in.
    let (engine, taken) = (house.engine("r1-00000002"), run.clone());
    let work = tokio::spawn(async move { engine.work(&taken, Claim::default(), CancellationToken::new()).await });
    house.until_noted("second").await;
    let before = house.records(&run).await;
    house.let_go("first");
    sleeper.wake();
    let said = sleeper.last_words();
    assert!(said.contains("Fenced") || said.contains("Lost"), "{said}");
    assert_eq!(house.records(&run).await, before, "it wrote nothing");

    house.let_go("second");
    assert!(matches!(work.await.unwrap().unwrap(), Outcome::Ended(r1_event::Kind::RunCompleted)));
    after::check(&house, &[run]).await;
}

/// Several turns, calls side by side that may and that may not be repeated, one that fails, and model calls
/// that have to be tried again.
fn scenario(number: usize) -> String {
    format!(
        "
turns:
  - {{text: I look around first., chunk_chars: 6, tool_calls: [
      {{tool: once, id: r{number}-a}}, {{tool: look, id: r{number}-b}}, {{tool: once, id: r{number}-c}}]}}
  - {{thinking: hm, failures: [{{kind: status, status: 529, retry_after_ms: 0}}], tool_calls: [
      {{tool: look, id: r{number}-d}}, {{tool: break, id: r{number}-e}}]}}
  - {{failures: [{{kind: status, status: 500, retry_after_ms: 0}}, {{kind: status, status: 503, retry_after_ms: 0}}],
      tool_calls: [{{tool: once, id: r{number}-f}}]}}
  - {{text: All is done.}}
"
    )
}

/// How far the logs have grown, all together.
struct Growth {
    store: SharedStore,
    cursor: FeedCursor,
    events: u64,
    ended: BTreeSet<RunId>,
}

impl Growth {
    fn of(store: &SharedStore) -> Self {
        Self { store: store.clone(), cursor: FeedCursor::START, events: 0, ended: BTreeSet::new() }
    }

    /// Waits until there are this many events more, or all runs have ended.
    async fn until_ended(&mut self, runs: &[RunId], more: u64) {
        let goal = self.events + more;
        let mut watch = self.store.watch_feed();
        loop {
            let page = self.store.read_feed(self.cursor, PageLimit::BULK).await.unwrap();
            self.cursor = page.next;
            self.events += page.items.len() as u64;
            for item in &page.items {
                if item.record.header().unwrap().kind.is_terminal() {
                    self.ended.insert(item.run.clone());
                }
            }
            if self.events >= goal || self.ended.len() == runs.len() {
                return;
            }
            if page.items.is_empty() {
                watch.grown().await;
            }
        }
    }
}

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Another one each time, unless `R1_TEST_SEED` asks for one again.
fn seed() -> u64 {
    match std::env::var("R1_TEST_SEED") {
        Ok(seed) => seed.parse().expect("a number in R1_TEST_SEED"),
        Err(_) => u64::from_le_bytes(r1_runtime::world::random().unwrap()),
    }
}
