//! Rows that someone changed behind the store's back.

use futures_util::StreamExt as _;
use r1_event::{Record, RunId, Seq, SideRecord};

use super::Fixture;
use super::sample::{Writer, read_all, run, seq};
use super::side_record::unchecked_seal;
use crate::error::StoreError;
use crate::feed::FeedCursor;
use crate::page::Pages;
use crate::run::{Listed, RunFilter};
use crate::store::{PageLimit, SharedStore};
use crate::tail::tail;

/// More pages and events than any log here has: a reader that gets this far would read for ever.
const TOO_MANY: usize = 100;

/// All that reading in pages of three gives.
async fn read_in_pages(store: &SharedStore) -> Vec<Record> {
    let (id, mut records) = (run(1), Vec::new());
    let mut pages = Pages::new(&**store, &id, Seq::FIRST, PageLimit { events: 3, ..PageLimit::default() });
    for _ in 0..TOO_MANY {
        match pages.next().await.unwrap() {
            Some(page) => records.extend(page),
            None => return records,
        }
    }
    panic!("reading does not end");
}

/// The log in its rows, in their order.
fn rows(log: &[Record], order: [usize; 8]) -> Vec<Record> {
    order.into_iter().map(|place| log[place - 1].clone()).collect()
}

pub async fn a_damaged_log_is_read_row_by_row_to_its_end(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 8).await;
    let mut log = read_all(&store, &run(1)).await;

    // The last header says that it stands before its place.
    let step_back = "UPDATE @events SET header = (SELECT header FROM @events WHERE seq = 5) WHERE seq = 8";
    if !fixture.damage(step_back).await {
        return;
    }
    log[7].header = log[4].header.clone();
    assert_eq!(read_in_pages(&store).await, log);
    assert_eq!(read_all(&store, &run(1)).await, log);
    let followed = tail(store.clone(), run(1), Seq::FIRST).take(TOO_MANY).count().await;
    assert_eq!(followed, 8, "a tail ends with the run, which the store knows to have ended");

    // A row that stands behind the others, as far as a row can.
    fixture.damage("UPDATE @events SET seq = 40 WHERE seq = 4").await;
    let moved = rows(&log, [1, 2, 3, 5, 6, 7, 8, 4]);
    assert_eq!(read_in_pages(&store).await, moved);
    fixture.damage("UPDATE @events SET seq = 9223372036854775807 WHERE seq = 40").await;
    assert_eq!(read_in_pages(&store).await, moved);
    assert_eq!(read_all(&store, &run(1)).await, moved);
    assert!(tail(store.clone(), run(1), seq(2)).take(TOO_MANY).count().await < TOO_MANY);
}

pub async fn a_damaged_side_record_hides_neither_log_nor_other_records(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::finished(&store, &run(1), 3).await;
    let checkpoint = SideRecord::Checkpoint(unchecked_seal(&run(1), 2));
    store.add_side_record(&run(1), checkpoint.clone()).await.unwrap();
    if !fixture.damage("UPDATE @side_records SET record = substr(record, 2)").await {
        return;
    }
    let seal = SideRecord::Seal(unchecked_seal(&run(1), 3));
    store.add_side_record(&run(1), seal.clone()).await.unwrap();
    let damaged = SideRecord::Damaged(checkpoint.encode()[1..].to_vec());
    assert_eq!(store.side_records(&run(1)).await.unwrap(), [damaged, seal]);
}

/// All entries that fit, in pages of `limit`: the id of each, and whether it is damaged.
async fn entries(store: &SharedStore, mut filter: RunFilter) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for _ in 0..TOO_MANY {
        let page = store.list(filter.clone()).await.unwrap();
        found.extend(page.entries.into_iter().map(|entry| match entry {
            Listed::Run(summary) => (summary.run_id.to_string(), false),
            Listed::Damaged(damaged) => (damaged.id, true),
        }));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return found,
        }
    }
    panic!("the listing does not end");
}

/// The runs that nobody holds, in pages of `limit`.
async fn free(store: &SharedStore, limit: usize) -> Vec<RunId> {
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..TOO_MANY {
        let page = store.open_runs(after, limit).await.unwrap();
        let Some(last) = page.last() else { return found };
        after = Some(last.position);
        found.extend(page.into_iter().map(|open| open.summary.run_id));
    }
    panic!("the search does not end");
}

/// Of which run each event of the feed is, in pages of two.
async fn fed(store: &SharedStore) -> Vec<RunId> {
    let (mut found, mut cursor) = (Vec::new(), FeedCursor::START);
    for _ in 0..TOO_MANY {
        let page = store.read_feed(cursor, PageLimit { events: 2, ..PageLimit::default() }).await.unwrap();
        if page.next == cursor {
            return found;
        }
        cursor = page.next;
        found.extend(page.items.into_iter().map(|item| item.run));
    }
    panic!("the feed does not end");
}

pub async fn a_damaged_entry_is_one_entry_of_the_listing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 1..=6 {
        let writer = Writer::started(&store, &run(n)).await;
        store.release(&writer.lease).await.unwrap();
    }
    let log = read_all(&store, &run(2)).await;
    let damage = |change: &'static str, n| async move {
        fixture.damage(&format!("UPDATE @runs SET {change} WHERE run_id = '{}'", run(n))).await
    };
    if !damage("version = 9", 2).await {
        return;
    }
    damage("run_id = ''", 4).await;
    damage("version = 0", 5).await;

    let id = |n| run(n).to_string();
    let listed = [(id(6), false), (id(5), true), (String::new(), true), (id(3), false), (id(2), true), (id(1), false)];
    for limit in [1, 2, 3, 100] {
        let found = entries(&store, RunFilter { limit, ..RunFilter::default() }).await;
        assert_eq!(found, listed, "pages of {limit}");
        assert_eq!(free(&store, limit).await, [run(1), run(3), run(6)], "pages of {limit}");
    }
    let named = RunFilter { id_prefix: Some(id(2)), finished: Some(false), ..RunFilter::default() };
    assert_eq!(entries(&store, named).await, [(id(2), true)]);
    assert_eq!(entries(&store, RunFilter { finished: Some(true), ..RunFilter::default() }).await, []);

    assert!(matches!(store.run(&run(2)).await, Err(StoreError::Damaged { run: named, .. }) if named == run(2)));
    assert!(matches!(store.head(&run(2)).await, Err(StoreError::Damaged { .. })));
    assert!(matches!(store.chain(&run(2)).await, Err(StoreError::Damaged { .. })));
    assert_eq!(read_all(&store, &run(2)).await, log, "its log can still be read");
    assert_eq!(store.run(&run(4)).await.unwrap(), None);
    let mut fed = fed(&store).await;
    fed.dedup();
    assert_eq!(fed, [1, 2, 3, 5, 6].map(run), "only events that nobody can name are passed over");
}
