//! What others did to the tables is seen, and harms nothing else.

use std::sync::Arc;

use r1_store::conformance::sample::{Writer, batch, messages, run};
use r1_store::{AppendError, Listed, OpenError, PostgresStore, RunFilter, SharedStore, Store as _};

use crate::postgres::{Schema, options};

#[tokio::test]
async fn a_run_that_lost_all_its_events_is_still_listed() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let (finished, open) = (run(1), run(2));
    let end = Writer::finished(&store, &finished, 3).await.chain;
    Writer::started(&store, &open).await;
    schema.execute("DELETE FROM @events").await;
    let listed = store.list(RunFilter::default()).await.unwrap().entries;
    let runs: Vec<_> = listed.into_iter().filter_map(Listed::sound).map(|run| run.run_id).collect();
    assert_eq!(runs, [open, finished.clone()]);
    let summary = store.run(&finished).await.unwrap().unwrap();
    assert_eq!((summary.head.hash, summary.head.terminal), (None, end.terminal()));
    assert_eq!(summary.updated_at, summary.started_at);
    // Nobody can go on with it.
    assert!(store.open_runs(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_append_without_the_row_of_its_lease_is_refused() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    let mut writer = Writer::started(&store, &run(1)).await;
    schema.execute("DELETE FROM @leases").await;
    writer.store = Arc::new(schema.open().await);
    let err = writer.append(batch(&writer.chain, messages(1))).await.unwrap_err();
    assert!(matches!(err, AppendError::Fenced { .. }), "{err:?}");
}

#[tokio::test]
async fn a_table_that_was_altered_is_refused_by_name_until_it_is_as_it_was() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    Writer::finished(&store, &run(1), 3).await;
    for (alter, back, named) in [
        (
            "ALTER TABLE @runs ALTER terminal TYPE text",
            "ALTER TABLE @runs ALTER terminal TYPE bigint USING terminal::bigint",
            "`terminal bigint`",
        ),
        (
            "ALTER TABLE @events ALTER seq TYPE int",
            "ALTER TABLE @events ALTER seq TYPE bigint",
            "`seq bigint not null`",
        ),
        (
            "ALTER TABLE @runs ALTER started_at DROP NOT NULL",
            "ALTER TABLE @runs ALTER started_at SET NOT NULL",
            "`started_at bigint not null`",
        ),
        ("ALTER TABLE @events RENAME TO e2", "ALTER TABLE @e2 RENAME TO events", "`events`"),
    ] {
        schema.execute(alter).await;
        match PostgresStore::open(&schema.url(), options()).await {
            Err(OpenError::Damaged { source, .. }) => assert!(source.to_string().contains(named), "{source}"),
            other => panic!("{alter}: {other:?}"),
        }
        schema.execute(back).await;
    }
    schema.execute("ALTER TABLE @runs ADD remark text").await;
    assert_eq!(schema.open().await.list(RunFilter::default()).await.unwrap().entries.len(), 1);
}

#[tokio::test]
async fn an_id_that_is_no_text_and_a_table_altered_since_damage_entries_alone() {
    let schema = Schema::new();
    let store: SharedStore = Arc::new(schema.open().await);
    for n in 1..=2 {
        Writer::finished(&store, &run(n), 3).await;
    }
    schema.execute("UPDATE @runs SET run_id = '\\xff00' WHERE id = 1").await;
    schema.execute("ALTER TABLE @runs ALTER started_at DROP NOT NULL").await;
    schema.execute("UPDATE @runs SET started_at = NULL WHERE id = 2").await;
    let damaged: Vec<_> = store.list(RunFilter::default()).await.unwrap().entries;
    let damaged: Vec<_> = damaged
        .into_iter()
        .map(|entry| match entry {
            Listed::Damaged(damaged) => (damaged.id, damaged.reason),
            Listed::Run(summary) => panic!("{summary:?}"),
        })
        .collect();
    let altered = "`started_at` holds something else than what was written there".to_owned();
    let no_text = "its run id cannot be one: it is not UTF-8".to_owned();
    assert_eq!(damaged, [(run(2).to_string(), altered), ("0xff00".into(), no_text)]);
}
