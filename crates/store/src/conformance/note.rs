//! What is noted of a batch where its asker looks.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use r1_event::{Batch, Note};

use super::Fixture;
use super::document::{HERE, expiring, put, ranked, revision, write, write_all};
use super::sample::{Writer, batch, message, read_all, run, started};
use crate::clock;
use crate::command::Command;
use crate::document::{Document, DocumentQuery, Expect};
use crate::error::AppendError;
use crate::run::Head;

/// A batch of one message that is noted in a document.
fn noting(writer: &Writer, key: &str, revision: u64, body: impl Into<Bytes>) -> Batch {
    let mut batch = batch(&writer.chain, [message("noted")]);
    batch.note(Note { collection: HERE.into(), key: key.into(), revision, body: body.into() });
    batch
}

pub async fn a_note_is_written_with_its_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    write_all(&store, [ranked("slot", 5, &[("state", "running")])]).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.append(noting(&writer, "slot", 1, "first")).await.unwrap();
    let expected = Document { body: "first".into(), revision: 2, ..ranked("slot", 5, &[("state", "running")]) };
    assert_eq!(store.document(HERE, "slot").await.unwrap().as_ref(), Some(&expected));
    assert_eq!(fixture.open().await.documents(HERE, DocumentQuery::default()).await.unwrap(), [expected]);
    // A note needs no event, and the first batch of a run may have one.
    let mut silent = Batch::new(&writer.chain);
    silent.note(Note { collection: HERE.into(), key: "slot".into(), revision: 2, body: "second".into() });
    assert_eq!(writer.append(silent).await.unwrap(), Head::from(&writer.chain));
    let mut new = Writer::new(&store, &run(2)).await;
    let mut first = batch(&new.chain, [started("test")]);
    first.note(Note { collection: HERE.into(), key: "slot".into(), revision: 3, body: "third".into() });
    new.append(first).await.unwrap();
    let found = store.document(HERE, "slot").await.unwrap().unwrap();
    assert_eq!((found.body, found.revision), (Bytes::from("third"), 4));
    assert_eq!((read_all(&store, &run(1)).await.len(), read_all(&store, &run(2)).await.len()), (2, 1));
    // And it may be changed as ever.
    write(&store, [put(Document::new("slot", "answered"), Expect::Revision(4))]).await;
}

pub async fn a_note_that_moved_refuses_the_whole_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let past = clock::before(clock::now(), Duration::from_secs(60));
    write_all(&store, [Document::new("slot", "as it was"), expiring("gone", past)]).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    store.leave_command(&run(1), Command { id: "pending".into(), body: "x".into() }).await.unwrap();
    for (key, revision) in [("slot", 2), ("slot", 0), ("none", 1), ("none", 0), ("gone", 1)] {
        let mut moved = noting(&writer, key, revision, "mine");
        moved.settle("pending");
        let err = writer.append(moved).await.unwrap_err();
        assert!(!err.may_have_written());
        assert!(matches!(&err, AppendError::NoteMoved { run: of } if *of == run(1)), "{key} {revision}: {err:?}");
        let mut silent = Batch::new(&writer.chain);
        silent.note(Note { collection: HERE.into(), key: key.into(), revision, body: "mine".into() });
        assert!(matches!(writer.append(silent).await, Err(AppendError::NoteMoved { .. })));
    }
    assert_eq!(read_all(&store, &run(1)).await.len(), 1, "no event was written");
    assert_eq!(store.commands(&run(1)).await.unwrap().len(), 1, "no command was settled");
    assert_eq!(store.document(HERE, "slot").await.unwrap().unwrap().body, "as it was");
    // A batch that is refused for another reason leaves its document alone.
    let mut withdrawn = noting(&writer, "slot", 1, "mine");
    withdrawn.settle("never left");
    assert!(matches!(writer.append(withdrawn).await, Err(AppendError::CommandWithdrawn { .. })));
    assert_eq!(revision(&store, "slot").await, Some(1));
    writer.append(noting(&writer, "slot", 1, "mine")).await.unwrap();
    assert_eq!(revision(&store, "slot").await, Some(2));
}

pub async fn of_two_batches_with_one_note_one_is_stored(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writers = Vec::new();
    for n in 0..6 {
        writers.push(Writer::started(&store, &run(n)).await);
    }
    for round in 0..10 {
        let key = format!("round {round}");
        write_all(&store, [Document::new(key.clone(), "asked")]).await;
        let attempts = writers.into_iter().map(|mut writer| {
            let key = key.clone();
            tokio::spawn(async move {
                let body = writer.chain.run().to_string();
                let appended = writer.append(noting(&writer, &key, 1, body)).await;
                (writer, appended)
            })
        });
        let attempts: Vec<_> = join_all(attempts).await.into_iter().map(Result::unwrap).collect();
        let stored: Vec<_> = attempts.iter().filter(|(_, appended)| appended.is_ok()).collect();
        assert_eq!(stored.len(), 1, "round {round}");
        let found = store.document(HERE, &key).await.unwrap().unwrap();
        assert_eq!((found.body, found.revision), (stored[0].0.chain.run().to_string().into(), 2));
        for (writer, appended) in &attempts {
            assert!(matches!(appended, Ok(_) | Err(AppendError::NoteMoved { .. })), "{appended:?}");
            let head = store.head(writer.chain.run()).await.unwrap();
            assert_eq!(head, Some(Head::from(&writer.chain)), "round {round}");
        }
        writers = attempts.into_iter().map(|(writer, _)| writer).collect();
    }
}

pub async fn a_note_is_bounded_in_size(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    write_all(&store, [Document::new("slot", "")]).await;
    let mut writer = Writer::started(&store, &run(1)).await;
    let err = writer.append(noting(&writer, "slot", 1, vec![7; Document::MAX_BODY + 1])).await.unwrap_err();
    assert!(matches!(&err, AppendError::Failed { source, .. } if source.to_string().contains("body")), "{err:?}");
    assert_eq!(read_all(&store, &run(1)).await.len(), 1, "nothing was written");
    writer.append(noting(&writer, "slot", 1, vec![7; Document::MAX_BODY])).await.unwrap();
    assert_eq!(store.document(HERE, "slot").await.unwrap().unwrap().body.len(), Document::MAX_BODY);
}
