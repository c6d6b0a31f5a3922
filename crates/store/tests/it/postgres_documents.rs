//! Documents and notes beside other transactions and broken connections, and the end of a feed that is held up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use r1_event::{Batch, Note};
use r1_store::conformance::sample::{Writer, batch, messages, read_all, run};
use r1_store::{
    AppendError, Document, DocumentChange, DocumentQuery, Expect, PageLimit, PostgresOptions, PostgresStore,
    SharedStore,
};

use crate::pg_proxy::{Cut, Proxy};
use crate::postgres::{Schema, options};

fn put(key: &str, body: &str, expect: Expect) -> DocumentChange {
    DocumentChange::Put { collection: "here".into(), document: Document::new(key, body.to_owned()), expect }
}

fn note(revision: u64, body: &str) -> Note {
    Note { collection: "here".into(), key: "slot".into(), revision, body: body.to_owned().into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_neither_loses_nor_doubles_a_note() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let options = PostgresOptions { notifications: false, ..options() };
    let store: SharedStore = Arc::new(PostgresStore::open(&proxy.through(&schema.url()), options).await.unwrap());
    let mut writer = Writer::started(&store, &run(1)).await;
    assert!(store.change_documents(vec![put("slot", "asked", Expect::Absent)]).await.unwrap());
    let mut revision = 1;
    for cut in [Cut::Before("BEGIN"), Cut::Before("COMMIT"), Cut::After("COMMIT")] {
        for events in [2, 0] {
            let body = format!("{cut:?} {events}");
            let mut noting = batch(&writer.chain, messages(events));
            noting.note(note(revision, &body));
            proxy.cut(cut);
            writer.append(noting).await.unwrap();
            assert!(proxy.was_cut(), "{body}");
            revision += 1;
            let found = store.document("here", "slot").await.unwrap().unwrap();
            assert_eq!((found.revision, found.body), (revision, body.into()));
            assert_eq!(read_all(&store, &run(1)).await.len() as u64, writer.chain.size());
        }
    }
    // Whoever else has moved it meanwhile is not taken for us.
    let mut silent = Batch::new(&writer.chain);
    silent.note(note(revision, "ours"));
    assert!(store.change_documents(vec![put("slot", "theirs", Expect::Revision(revision))]).await.unwrap());
    proxy.cut(Cut::Before("BEGIN"));
    assert!(matches!(writer.append(silent).await, Err(AppendError::NoteMoved { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_not_sent_is_made_when_the_server_is_back() {
    let schema = Schema::new();
    let proxy = Proxy::before(&schema.server).await;
    let options = PostgresOptions { notifications: false, ..options() };
    let store = PostgresStore::open(&proxy.through(&schema.url()), options).await.unwrap();
    let store: SharedStore = Arc::new(store);
    proxy.cut(Cut::Before("BEGIN"));
    assert!(store.change_documents(vec![put("key", "body", Expect::Absent)]).await.unwrap());
    assert!(proxy.was_cut());
    // Whether it was made is not known, so it is not said.
    proxy.cut(Cut::After("COMMIT"));
    store.change_documents(vec![put("key", "again", Expect::Revision(1))]).await.unwrap_err();
    assert_eq!(store.document("here", "key").await.unwrap().unwrap().revision, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_hears_of_transactions_that_waited_in_a_circle() {
    let schema = Schema::new();
    let stores: Vec<SharedStore> = vec![Arc::new(schema.open().await), Arc::new(schema.open().await)];
    let keys: Vec<String> = (0..20).map(|n| format!("{n:02}")).collect();
    let tasks = (0..8_usize).map(|task| {
        let (store, keys) = (stores[task % 2].clone(), keys.clone());
        tokio::spawn(async move {
            let mut writer = Writer::started(&store, &run(task as u64)).await;
            for round in 0..25 {
                let mut changes: Vec<_> = keys.iter().map(|key| put(key, "x", Expect::Anything)).collect();
                if (task + round) % 5 == 0 {
                    // Takes its locks in whatever order the documents lie.
                    changes.insert(0, DocumentChange::Clear { collection: "here".into() });
                }
                assert!(store.change_documents(changes).await.unwrap());
                let mut noting = batch(&writer.chain, messages(1));
                noting.note(Note { key: keys[round % 20].clone(), ..note(1, "noted") });
                match writer.append(noting).await {
                    Ok(_) | Err(AppendError::NoteMoved { .. }) => {}
                    Err(err) => panic!("{err:?}"),
                }
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(Result::unwrap);
    assert_eq!(stores[0].documents("here", DocumentQuery::default()).await.unwrap().len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_feed_is_before_what_an_older_transaction_still_holds_up() {
    // Of its own, so that no other test's transaction is the older one.
    let cluster = crate::pg_server::Cluster::private();
    let schema = Schema::on(cluster.url());
    let store: SharedStore = Arc::new(schema.open().await);
    let mut writer = Writer::started(&store, &run(1)).await;
    let before = store.feed_end().await.unwrap();
    let old = schema.connect().await;
    old.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    let held_up = writer.write(messages(3)).await;
    assert_eq!(store.feed_end().await.unwrap(), before, "an event could still appear before these");
    // Once it ends, whoever waits gets behind them.
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.feed_end().await.unwrap() }
    });
    old.batch_execute("COMMIT").await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap();
    assert!(end > before);
    let read = async |from| {
        let page = store.read_feed(from, PageLimit::default()).await.unwrap();
        page.items.into_iter().map(|item| item.record).collect::<Vec<_>>()
    };
    assert_eq!((read(before).await, read(end).await), (held_up, vec![]));
}
