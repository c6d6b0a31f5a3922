//! Several at once, from nothing, and from another version: always the same documents.

use std::sync::Arc;

use r1_event::RunId;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::go_on::{Changes, retry};
use r1_runtime::index::{Index, RunQuery};
use r1_store::{Document, DocumentChange, Expect, MemoryStore, SharedStore};
use tokio_util::sync::CancellationToken;

use super::{documents, memory, on_each_store};
use crate::engine::stage::Stage;

on_each_store! {
    what_was_written_is_found_at_once,
    two_indexes_at_once_lose_nothing_and_double_nothing,
    an_index_from_nothing_is_the_one_that_grew,
    an_index_of_another_version_is_made_anew,
}

const SCENARIO: &str = "turns: [{tool_calls: [{tool: echo}], cost_micros_usd: 5}, {text: done, cost_micros_usd: 2}]";

async fn what_was_written_is_found_at_once(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let (index, other) = (Index::new(store.clone()), Index::new(store));
    for _ in 0..3 {
        let run = stage.create(stage.new_run(SCENARIO)).await;
        for index in [&index, &other] {
            let found = index.run(run.as_str()).await.unwrap().unwrap();
            let task = index.task(found.task_id.as_deref().unwrap()).await.unwrap().unwrap();
            assert_eq!((task.latest_run_id, task.run_count), (run.to_string(), 1));
        }
    }
}

#[tokio::test]
async fn another_node_finds_what_this_one_wrote() {
    let store = MemoryStore::new();
    let (here, there): (SharedStore, SharedStore) = (Arc::new(store.reopen()), Arc::new(store));
    let stage = Stage::on(here);
    let index = Index::new(there);
    let run = stage.play(stage.new_run(SCENARIO)).await;
    assert_eq!(index.run(run.as_str()).await.unwrap().unwrap().cost_micros_usd, 7);
}

async fn two_indexes_at_once_lose_nothing_and_double_nothing(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let done = CancellationToken::new();
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (index, done) = (Index::new(store.clone()), done.clone());
            tokio::spawn(async move {
                while !done.is_cancelled() {
                    index.catch_up().await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let mut runs: Vec<RunId> = Vec::new();
    for _ in 0..5 {
        let run = stage.play(stage.new_run(SCENARIO)).await;
        runs.push(retry(&stage.engine, &run, Changes::default(), &Caller::default()).await.unwrap());
        stage.work(runs.last().unwrap()).await.unwrap();
    }
    done.cancel();
    for reader in readers {
        reader.await.unwrap();
    }
    let index = Index::new(store.clone());
    for run in runs {
        let run = index.run(run.as_str()).await.unwrap().unwrap();
        assert_eq!((run.number, run.cost_micros_usd, run.prior_cost_micros_usd), (Some(2), 7, 7));
        let task = index.task(run.task_id.as_deref().unwrap()).await.unwrap().unwrap();
        assert_eq!((task.run_count, task.cost_micros_usd, task.latest_run_id), (2, 14, run.id));
    }
    assert_same_from_nothing(&store).await;
}

async fn an_index_from_nothing_is_the_one_that_grew(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    for _ in 0..3 {
        let run = stage.create(stage.new_run(SCENARIO)).await;
        index.catch_up().await.unwrap();
        stage.work(&run).await.unwrap();
        index.catch_up().await.unwrap();
    }
    assert_same_from_nothing(&store).await;
}

/// An index that begins now has exactly what is there.
pub(super) async fn assert_same_from_nothing(store: &SharedStore) {
    let index = Index::new(store.clone());
    index.catch_up().await.unwrap();
    let grown = documents::all(store).await;
    assert!(!grown.is_empty());
    let remove = DocumentChange::Remove { collection: "index".into(), key: "state".into() };
    assert!(store.change_documents(vec![remove]).await.unwrap());
    index.catch_up().await.unwrap();
    pretty_assertions(&documents::all(store).await, &grown);
}

fn pretty_assertions<K: Ord + std::fmt::Debug>(
    found: &std::collections::BTreeMap<K, String>,
    expected: &std::collections::BTreeMap<K, String>,
) {
    for (key, document) in expected {
        assert_eq!(found.get(key), Some(document), "{key:?}");
    }
    assert_eq!(found.len(), expected.len());
}

async fn an_index_of_another_version_is_made_anew(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let run = stage.play(stage.new_run(SCENARIO)).await;
    let index = Index::new(store.clone());
    index.catch_up().await.unwrap();
    let put = |collection: &str, key: &str, body: &'static str| DocumentChange::Put {
        collection: collection.into(),
        document: Document::new(key, body),
        expect: Expect::Anything,
    };
    let newer = vec![
        put("index", "state", r#"{"version":4000,"place":"elsewhere"}"#),
        put("index.runs", run.as_str(), "{}"),
        put("index.runs", "of that version alone", "{}"),
    ];
    assert!(store.change_documents(newer).await.unwrap());
    let found = index.runs(RunQuery::default()).await.unwrap();
    assert_eq!(found.data.iter().map(|run| &run.id).collect::<Vec<_>>(), [run.as_str()]);
    assert_same_from_nothing(&store).await;
}

#[tokio::test]
async fn keeping_up_ends_when_it_is_told_to() {
    let store = memory();
    let stage = Stage::on(store.clone());
    let stop = CancellationToken::new();
    let (index, token) = (Index::new(store.clone()), stop.clone());
    let keeping_up = tokio::spawn(async move { index.keep_up(token, |err| panic!("{err}")).await });
    let run = stage.play(stage.new_run(SCENARIO)).await;
    let kept = ("index.runs".to_owned(), run.to_string());
    while !documents::all(&store).await.get(&kept).is_some_and(|document| document.contains("completed")) {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    keeping_up.await.unwrap();
}
