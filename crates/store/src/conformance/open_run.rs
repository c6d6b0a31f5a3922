//! Runs that have not ended and that nobody holds.

use std::time::Duration;

use r1_event::RunId;

use super::Fixture;
use super::sample::{LONG, Writer, completed, message, run};
use crate::run::OpenRun;
use crate::store::SharedStore;

async fn all(store: &SharedStore, limit: usize) -> Vec<OpenRun> {
    let mut runs: Vec<OpenRun> = Vec::new();
    loop {
        let page = store.open_runs(runs.last().map(|run| run.position), limit).await.unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return runs;
        }
        runs.extend(page);
    }
}

fn ids(runs: &[OpenRun]) -> Vec<RunId> {
    runs.iter().map(|open| open.summary.run_id.clone()).collect()
}

pub async fn open_runs_without_a_good_lease_are_found_oldest_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.open_runs(None, 10).await.unwrap(), []);
    // By number: 0 finished, 1 held, 2 given back, 3 run out; and so on.
    let mut expired = Vec::new();
    for n in 0..16 {
        let mut writer = Writer::started(&store, &run(n)).await;
        match n % 4 {
            0 => drop(writer.write([completed()]).await),
            1 => {}
            2 => store.release(&writer.lease).await.unwrap(),
            _ => {
                writer.write([message("still at work")]).await;
                expired.push(store.renew(&writer.lease, Duration::ZERO).await.unwrap());
            }
        }
    }
    // Neither a lease without a run nor a finished run whose lease has run out is open.
    store.acquire(&run(98), "writer", Duration::ZERO).await.unwrap();
    let ended = Writer::finished(&store, &run(99), 3).await;
    store.renew(&ended.lease, Duration::ZERO).await.unwrap();

    let free: Vec<RunId> = [2, 3, 6, 7, 10, 11, 14, 15].map(run).into();
    for limit in [1, 3, 8, 100] {
        let found = all(&store, limit).await;
        assert_eq!(ids(&found), free, "pages of {limit}");
        let leases: Vec<_> = found.iter().filter_map(|open| open.lease.clone()).collect();
        assert_eq!(leases, expired, "who held those that were not given back, and until when");
        for open in &found {
            assert_eq!(store.run(&open.summary.run_id).await.unwrap().as_ref(), Some(&open.summary));
        }
    }
    assert_eq!(store.open_runs(None, 0).await.unwrap(), []);
    // Taking one, ending one and going on with one that ran out: none of them is free any more.
    store.acquire(&run(2), "another", LONG).await.unwrap();
    store.renew(&expired[1], LONG).await.unwrap();
    let lease = store.acquire(&run(15), "another", LONG).await.unwrap().lease;
    let chain = store.chain(&run(15)).await.unwrap().unwrap();
    let mut last = Writer { store: store.clone(), lease, chain };
    last.write([completed()]).await;
    store.release(&last.lease).await.unwrap();
    assert_eq!(ids(&all(&fixture.open().await, 3).await), [3, 6, 10, 11, 14].map(run));
}
