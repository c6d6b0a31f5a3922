//! Entries of the listing as only a file's owner can damage them.

use r1_store::conformance::Fixture as _;
use r1_store::conformance::sample::{Writer, run};
use r1_store::{Listed, RunFilter};

use super::{SqliteFixture, open};

/// A table of the same columns that takes everything.
const LOOSE: &str = "
    CREATE TABLE loose (id INTEGER PRIMARY KEY, run_id, version, started_at, terminal, pruned_through, pruning, snapshot);
    INSERT INTO loose SELECT * FROM runs;
    DROP TABLE runs;
    ALTER TABLE loose RENAME TO runs;
    CREATE INDEX runs_open ON runs (id) WHERE terminal IS NULL;";

#[tokio::test]
async fn whatever_stands_in_a_row_it_is_one_entry_and_the_next_page_goes_on_behind_it() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path()).await;
    for n in 1..=7 {
        Writer::started(&store, &run(n)).await;
    }
    store.close().await.unwrap();
    for damage in [
        LOOSE,
        "UPDATE runs SET run_id = CAST(x'ff00' AS TEXT) WHERE id = 2",
        "UPDATE runs SET run_id = NULL WHERE id = 3",
        "UPDATE runs SET started_at = 'long ago' WHERE id = 4",
        "UPDATE runs SET id = -5, version = x'02' WHERE id = 5",
        "UPDATE events SET seq = 0 WHERE run = 6",
        "DELETE FROM runs WHERE id = 7",
    ] {
        fixture.damage(damage).await;
    }
    let store = open(&fixture.path()).await;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(RunFilter { after, limit: 1, ..RunFilter::default() }).await.unwrap();
        found.extend(page.entries.into_iter().map(|entry| match entry {
            Listed::Run(summary) => (summary.run_id.to_string(), None),
            Listed::Damaged(damaged) => (damaged.id, Some(damaged.reason)),
        }));
        after = match page.next {
            Some(next) => Some(next),
            None => break,
        };
        assert!(found.len() < 100, "the listing does not end");
    }
    let altered = |column: &str| Some(format!("`{column}` holds something else than what was written there"));
    let lost = "its last event cannot be read: Integer 0 out of range at index 0".to_owned();
    assert_eq!(
        found,
        [
            (run(6).to_string(), Some(lost)),
            (run(4).to_string(), altered("started_at")),
            (String::new(), altered("run_id")),
            ("0xff00".into(), Some("its run id cannot be one: it is not UTF-8".into())),
            (run(1).to_string(), None),
            (run(5).to_string(), altered("version")),
        ]
    );
    let fed = store.read_feed(r1_store::FeedCursor::START, r1_store::PageLimit::default()).await.unwrap();
    let mut fed: Vec<_> = fed.items.into_iter().map(|item| item.run).collect();
    fed.dedup();
    assert_eq!(fed, [1, 4, 6].map(run), "events of lost entries are passed over");
}
