//! The listing of runs.

use r1_event::{RunId, UnixNanos, Version};

use super::Fixture;
use super::sample::{Writer, messages, read_all, run};
use crate::run::{Head, Listed, RunFilter};
use crate::store::SharedStore;

async fn list(store: &SharedStore, filter: RunFilter) -> Vec<RunId> {
    let mut filter = filter;
    let mut runs = Vec::new();
    loop {
        let page = store.list(filter.clone()).await.unwrap();
        runs.extend(page.entries.into_iter().filter_map(Listed::sound).map(|summary| summary.run_id));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return runs,
        }
    }
}

pub async fn runs_are_listed_newest_first_page_by_page(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(list(&store, RunFilter::default()).await, [] as [RunId; 0]);
    for n in 0..25 {
        Writer::started(&store, &run(n)).await;
    }
    // A lease makes no run.
    store.acquire(&run(99), "writer", super::sample::LONG).await.unwrap();
    let newest_first: Vec<RunId> = (0..25).rev().map(run).collect();
    for limit in [0, 1, 7, 25, 100] {
        assert_eq!(list(&store, RunFilter { limit, ..RunFilter::default() }).await, newest_first, "pages of {limit}");
    }
    // A page stays where it is while runs are added.
    let first = store.list(RunFilter { limit: 10, ..RunFilter::default() }).await.unwrap();
    assert_eq!(first.entries.len(), 10);
    Writer::started(&store, &run(25)).await;
    let rest = list(&store, RunFilter { limit: 10, after: first.next, ..RunFilter::default() }).await;
    assert_eq!(rest, newest_first[10..]);
}

pub async fn runs_are_filtered_by_prefix_state_and_age(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let odd: Vec<RunId> =
        ["demo/one", "demo/two", "demo_", "d%mo/three", "Demo/four"].map(|id| id.parse().unwrap()).into();
    for run in &odd {
        Writer::started(&store, run).await;
    }
    for n in 0..4 {
        Writer::finished(&store, &run(n), 10).await;
    }
    let open = Writer::started(&store, &run(4)).await;
    let filter = |id_prefix: &str| RunFilter { id_prefix: Some(id_prefix.into()), ..RunFilter::default() };
    assert_eq!(list(&store, filter("demo/")).await, [odd[1].clone(), odd[0].clone()]);
    assert_eq!(list(&store, filter("demo_")).await, odd[2..3]);
    assert_eq!(list(&store, filter("d%")).await, odd[3..4]);
    assert_eq!(list(&store, filter("run_01K")).await.len(), 5);
    assert_eq!(list(&store, filter(run(3).as_str())).await, [run(3)]);
    assert_eq!(list(&store, filter("nothing")).await, [] as [RunId; 0]);

    let finished = list(&store, RunFilter { finished: Some(true), limit: 3, ..RunFilter::default() }).await;
    assert_eq!(finished, [run(3), run(2), run(1), run(0)]);
    let unfinished = list(&store, RunFilter { finished: Some(false), ..filter("run_") }).await;
    assert_eq!(unfinished, [open.chain.run().clone()]);

    let summary = store.run(&run(0)).await.unwrap().unwrap();
    let older_than = |moment| RunFilter { updated_before: Some(moment), ..filter("run_") };
    assert_eq!(list(&store, older_than(summary.updated_at)).await, [run(4)], "finished runs are as old as one another");
    assert_eq!(list(&store, older_than(UnixNanos(summary.updated_at.0 + 1))).await.len(), 5);
}

pub async fn a_runs_summary_follows_its_log(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    for payloads in [messages(1).collect(), messages(4).collect(), vec![super::sample::completed()]] {
        writer.write(payloads).await;
        let log = read_all(&store, &run(1)).await;
        let time = |record: Option<&r1_event::Record>| record.unwrap().header().unwrap().ts;
        let summary = store.run(&run(1)).await.unwrap().unwrap();
        assert_eq!((summary.run_id.clone(), summary.version), (run(1), Version::V2));
        assert_eq!(summary.head, Head::from(&writer.chain));
        assert_eq!((summary.started_at, summary.updated_at), (time(log.first()), time(log.last())));
        assert_eq!(summary.pruned_through, None);
        assert_eq!(store.list(RunFilter::default()).await.unwrap().entries, [Listed::Run(summary)]);
    }
}
