//! Small things beside the logs.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use r1_event::UnixNanos;

use super::Fixture;
use crate::clock;
use crate::document::{Document, DocumentChange, DocumentQuery, Expect};
use crate::error::StoreError;
use crate::store::SharedStore;

pub(super) const HERE: &str = "here";

pub(super) fn put(document: Document, expect: Expect) -> DocumentChange {
    DocumentChange::Put { collection: HERE.into(), document, expect }
}

fn remove(key: &str) -> DocumentChange {
    DocumentChange::Remove { collection: HERE.into(), key: key.into() }
}

fn facets(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

pub(super) fn ranked(key: &str, rank: u64, pairs: &[(&str, &str)]) -> Document {
    Document { rank, facets: facets(pairs), ..Document::new(key, key.to_owned()) }
}

pub(super) fn expiring(key: &str, expires_at: UnixNanos) -> Document {
    Document { expires_at: Some(expires_at), ..ranked(key, 1, &[("kind", "passing")]) }
}

pub(super) async fn write(store: &SharedStore, changes: impl IntoIterator<Item = DocumentChange>) {
    assert!(store.change_documents(changes.into_iter().collect()).await.unwrap(), "the change is made");
}

pub(super) async fn write_all(store: &SharedStore, documents: impl IntoIterator<Item = Document>) {
    write(store, documents.into_iter().map(|document| put(document, Expect::Anything))).await;
}

async fn find(store: &SharedStore, query: DocumentQuery) -> Vec<String> {
    store.documents(HERE, query).await.unwrap().into_iter().map(|document| document.key).collect()
}

async fn all(store: &SharedStore) -> Vec<String> {
    find(store, DocumentQuery::default()).await
}

async fn by(store: &SharedStore, pairs: &[(&str, &str)]) -> Vec<String> {
    find(store, DocumentQuery { facets: facets(pairs), ..DocumentQuery::default() }).await
}

pub(super) async fn revision(store: &SharedStore, key: &str) -> Option<u64> {
    store.document(HERE, key).await.unwrap().map(|document| document.revision)
}

pub async fn a_document_comes_back_as_it_was_written(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.document(HERE, "none").await.unwrap(), None);
    assert_eq!(store.documents(HERE, DocumentQuery::default()).await.unwrap(), []);
    let whole = Document {
        key: "\u{1F600}\0'%".into(),
        rank: u64::MAX,
        facets: facets(&[("z", ""), ("a", "2"), ("", "x"), ("a", "1\0"), ("a", "2")]),
        body: Bytes::from((0..=255).collect::<Vec<u8>>()),
        expires_at: Some(UnixNanos(i64::MAX)),
        revision: 77,
    };
    write_all(&store, [whole.clone(), Document::new("bare", "")]).await;
    let sorted = facets(&[("", "x"), ("a", "1\0"), ("a", "2"), ("z", "")]);
    let kept = Document { facets: sorted, revision: 1, ..whole };
    let bare = Document { revision: 1, ..Document::new("bare", "") };
    assert_eq!(store.document(HERE, &kept.key).await.unwrap().as_ref(), Some(&kept));
    assert_eq!(store.document("elsewhere", &kept.key).await.unwrap(), None);
    assert_eq!(store.documents(HERE, DocumentQuery::default()).await.unwrap(), [kept.clone(), bare.clone()]);
    let again = fixture.open().await;
    assert_eq!(again.document(HERE, &kept.key).await.unwrap(), Some(kept), "it is durable");
    assert_eq!(again.document(HERE, "bare").await.unwrap(), Some(bare));
}

pub async fn a_document_is_written_only_as_expected(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let attempt = |expect| store.change_documents(vec![put(Document::new("key", "body"), expect)]);
    for (expect, made, after) in [
        (Expect::Revision(1), false, None),
        (Expect::Absent, true, Some(1)),
        (Expect::Absent, false, Some(1)),
        (Expect::Revision(2), false, Some(1)),
        (Expect::Revision(1), true, Some(2)),
        (Expect::Anything, true, Some(3)),
        (Expect::Revision(3), true, Some(4)),
    ] {
        assert_eq!(attempt(expect).await.unwrap(), made, "{expect:?}");
        assert_eq!(revision(&store, "key").await, after, "{expect:?}");
    }
    write(&store, [remove("key"), remove("never there")]).await;
    assert_eq!(revision(&store, "key").await, None);
    assert!(!attempt(Expect::Revision(4)).await.unwrap());
    assert!(attempt(Expect::Absent).await.unwrap());
    assert_eq!(revision(&store, "key").await, Some(1), "counted anew");
}

pub async fn documents_change_all_or_none(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    write_all(&store, ["a", "b", "c"].map(|key| ranked(key, 1, &[("kind", "old")]))).await;
    let before = store.documents(HERE, DocumentQuery::default()).await.unwrap();
    let clear = DocumentChange::Clear { collection: HERE.into() };
    let new = |key, expect| put(ranked(key, 2, &[("kind", "new")]), expect);
    for refused in [
        vec![new("a", Expect::Anything), remove("b"), new("c", Expect::Absent)],
        vec![clear.clone(), new("d", Expect::Absent), new("a", Expect::Revision(1))],
        vec![new("d", Expect::Absent), new("d", Expect::Absent)],
    ] {
        assert!(!store.change_documents(refused).await.unwrap());
        assert_eq!(store.documents(HERE, DocumentQuery::default()).await.unwrap(), before);
        assert_eq!(by(&store, &[("kind", "new")]).await, [""; 0]);
    }
    // Each step finds what the one before left.
    let steps = [remove("a"), new("a", Expect::Absent), new("a", Expect::Revision(1)), new("d", Expect::Absent)];
    write(&store, steps.into_iter().chain([remove("d"), remove("b")])).await;
    assert_eq!((all(&store).await, revision(&store, "a").await), (vec!["a".into(), "c".into()], Some(2)));

    let elsewhere = |key: &str| DocumentChange::Put {
        collection: "elsewhere".into(),
        document: ranked(key, 1, &[("kind", "new")]),
        expect: Expect::Absent,
    };
    write(&store, [elsewhere("a"), clear, new("e", Expect::Absent), elsewhere("b")]).await;
    assert_eq!(all(&store).await, ["e"]);
    assert_eq!(
        (by(&store, &[("kind", "new")]).await, by(&store, &[("kind", "old")]).await),
        (vec!["e".into()], vec![])
    );
    let others = store.documents("elsewhere", DocumentQuery::default()).await.unwrap();
    assert_eq!(others.iter().map(|document| &*document.key).collect::<Vec<_>>(), ["b", "a"], "they are left alone");
    write(&store, []).await;
}

pub async fn of_many_writers_of_one_document_one_gets_through(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let race = async |expect| {
        let attempts = (0..8).map(|n| {
            let store = store.clone();
            // Two documents in different orders: nobody may end up waiting in a circle.
            let mut changes = ["one", "two"].map(|key| put(Document::new(key, format!("by {n}")), expect)).to_vec();
            changes.extend((0..4).map(|k| put(Document::new(format!("new {}", (n + k) % 4), "x"), Expect::Anything)));
            if n % 2 == 0 {
                changes.reverse();
            }
            tokio::spawn(async move { store.change_documents(changes).await.unwrap() })
        });
        let made: Vec<bool> = join_all(attempts).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
        let winner = made.iter().position(|made| *made).unwrap();
        for key in ["one", "two"] {
            let document = store.document(HERE, key).await.unwrap().unwrap();
            assert_eq!(document.body, format!("by {winner}"));
        }
    };
    race(Expect::Absent).await;
    for round in 1..10 {
        race(Expect::Revision(round)).await;
    }
    // Everyone who tries again until it works is counted once.
    let counters = (0..6).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            loop {
                let found = store.document(HERE, "count").await.unwrap();
                let expect = found.map_or(Expect::Absent, |document| Expect::Revision(document.revision));
                if store.change_documents(vec![put(Document::new("count", "x"), expect)]).await.unwrap() {
                    return;
                }
            }
        })
    });
    join_all(counters).await.into_iter().for_each(Result::unwrap);
    assert_eq!(revision(&store, "count").await, Some(6));
}

pub async fn documents_are_listed_by_rank_then_key_page_by_page(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let ranks = [0, 1, 7, i64::MAX.cast_unsigned(), 1 << 63, u64::MAX];
    let documents = ranks.iter().flat_map(|rank| {
        ["a", "aa", "b", "\u{e9}"].map(|key| ranked(&format!("{key}{rank}"), *rank, &[("kind", "listed")]))
    });
    let documents: Vec<Document> = documents.collect();
    write_all(&store, documents.iter().cloned()).await;
    let mut expected = documents;
    expected.sort_by(|one, other| (other.rank, &other.key).cmp(&(one.rank, &one.key)));
    let expected: Vec<String> = expected.into_iter().map(|document| document.key).collect();
    assert_eq!(all(&store).await, expected);
    for pairs in [&[][..], &[("kind", "listed")]] {
        for limit in [1, 5, 24, 100] {
            let mut query = DocumentQuery { facets: facets(pairs), limit, after: None };
            let mut listed = Vec::new();
            loop {
                let page = store.documents(HERE, query.clone()).await.unwrap();
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                query.after = Some((last.rank, last.key.clone()));
                listed.extend(page.into_iter().map(|document| document.key));
            }
            assert_eq!(listed, expected, "in pages of {limit}");
        }
    }
    // A place need not be anyone's.
    let after = |rank, key: &str| DocumentQuery { after: Some((rank, key.into())), limit: 1, ..Default::default() };
    assert_eq!(find(&store, after(7, "a")).await, ["\u{e9}1"]);
    assert_eq!(find(&store, after(6, "")).await, ["\u{e9}1"]);
    assert_eq!(find(&store, after(0, "a")).await, [""; 0]);
    write_all(&store, (0..120).map(|n| ranked(&format!("more {n}"), 2, &[]))).await;
    assert_eq!(all(&store).await.len(), 100, "unless told otherwise");
}

pub async fn documents_are_found_by_all_of_their_facets(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    write_all(
        &store,
        [
            ranked("a", 3, &[("status", "open"), ("tag", "x"), ("tag", "y")]),
            ranked("b", 2, &[("status", "open"), ("tag", "y")]),
            ranked("c", 1, &[("status", "done"), ("tag", "x")]),
            ranked("d", 0, &[("tag", "status"), ("open", "x")]),
        ],
    )
    .await;
    for (pairs, found) in [
        (&[("status", "open")][..], &["a", "b"][..]),
        (&[("tag", "x")], &["a", "c"]),
        (&[("tag", "x"), ("tag", "y")], &["a"]),
        (&[("tag", "y"), ("status", "open")], &["a", "b"]),
        (&[("tag", "y"), ("status", "open"), ("tag", "y")], &["a", "b"]),
        (&[("status", "open"), ("status", "done")], &[]),
        (&[("status", "x")], &[]),
        (&[("", "")], &[]),
        (&[("open", "x")], &["d"]),
    ] {
        assert_eq!(by(&store, pairs).await, found, "{pairs:?}");
    }
    let page =
        DocumentQuery { facets: facets(&[("tag", "x"), ("status", "done")]), after: Some((3, "a".into())), limit: 1 };
    assert_eq!(find(&store, page).await, ["c"]);

    // What is replaced is found by its new facets and rank alone.
    write_all(&store, [ranked("a", 0, &[("status", "done"), ("tag", "y")]), ranked("b", 2, &[("status", "done")])])
        .await;
    write(&store, [remove("c")]).await;
    assert_eq!(by(&store, &[("status", "open")]).await, [""; 0]);
    assert_eq!(by(&store, &[("tag", "x")]).await, [""; 0]);
    assert_eq!(by(&store, &[("status", "done")]).await, ["b", "a"]);
    assert_eq!(by(&store, &[("tag", "y"), ("status", "done")]).await, ["a"]);
    assert_eq!(all(&store).await, ["b", "d", "a"]);
    let replaced = store.document(HERE, "a").await.unwrap().unwrap();
    assert_eq!((replaced.rank, replaced.facets), (0, facets(&[("status", "done"), ("tag", "y")])));
}

pub async fn a_document_is_forgotten_at_its_time(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (past, future) = (clock::before(clock::now(), Duration::from_secs(60)), UnixNanos(i64::MAX));
    write_all(&store, [expiring("gone", past), expiring("kept", future), ranked("plain", 0, &[])]).await;
    let others = (0..150).map(|n| expiring(&format!("passing {n}"), past));
    write_all(&store, others).await;
    for opening in [&store, &fixture.open().await] {
        assert_eq!(opening.document(HERE, "gone").await.unwrap(), None);
        assert_eq!(all(opening).await, ["kept", "plain"]);
        assert_eq!(by(opening, &[("kind", "passing")]).await, ["kept"]);
    }
    // As if it had never been there.
    assert!(!store.change_documents(vec![put(expiring("gone", future), Expect::Revision(1))]).await.unwrap());
    write(&store, [put(expiring("gone", future), Expect::Absent)]).await;
    write(&store, [put(expiring("gone", past), Expect::Revision(1))]).await;
    write(&store, [put(Document::new("gone", "for good"), Expect::Absent), remove("kept")]).await;
    let found = store.document(HERE, "gone").await.unwrap().unwrap();
    assert_eq!((found.revision, found.expires_at), (1, None));
    assert_eq!(all(&store).await, ["plain", "gone"]);
    assert_eq!(by(&store, &[("kind", "passing")]).await, [""; 0]);
}

pub async fn documents_are_bounded_in_size(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let long = |count| "x".repeat(count);
    let largest = Document {
        facets: (0..Document::MAX_FACETS).map(|n| (format!("{n:02}"), long(Document::MAX_KEY - 2))).collect(),
        ..Document::new(long(Document::MAX_KEY), vec![7; Document::MAX_BODY])
    };
    write_all(&store, [largest.clone()]).await;
    let found = store.document(HERE, &largest.key).await.unwrap();
    assert_eq!(found.as_ref(), Some(&Document { revision: 1, ..largest.clone() }));

    let named = |collection: String| DocumentChange::Put {
        collection,
        document: Document::new("key", ""),
        expect: Expect::Anything,
    };
    let unfit = |document| put(document, Expect::Anything);
    let one_more = [largest.facets.clone(), facets(&[("one", "more")])].concat();
    for unfit in [
        named(String::new()),
        named(long(Document::MAX_KEY + 1)),
        unfit(Document::new("", "")),
        unfit(Document::new(long(Document::MAX_KEY + 1), "")),
        unfit(Document::new("key", vec![7; Document::MAX_BODY + 1])),
        unfit(Document { facets: vec![("a".into(), long(Document::MAX_KEY))], ..Document::new("key", "") }),
        unfit(Document { facets: one_more, ..Document::new("key", "") }),
    ] {
        let err =
            store.change_documents(vec![put(Document::new("good", ""), Expect::Anything), unfit]).await.unwrap_err();
        assert!(matches!(err, StoreError::UnfitDocument { .. }), "{err:?}");
    }
    assert_eq!(all(&store).await, [largest.key], "nothing was written");
}
