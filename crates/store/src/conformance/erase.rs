//! Payloads that must go, and all that must stay.

use r1_event::side_record::{Erase, EventRef};
use r1_event::{Batch, Chain, Record, RunId, SideRecord, UnixNanos, Version};

use super::Fixture;
use super::sample::{LONG, Writer, follow, messages, read_all, run, seq, typed, v1_records};
use super::side_record::unchecked_seal;
use crate::error::StoreError;

/// The record of erasing event `n` of the log, with the log's last event as its redaction.
#[must_use]
pub fn erasure(log: &[Record], n: u64) -> Erase {
    let redaction = log.last().unwrap();
    let place = crate::place(redaction).unwrap();
    let run_id = run_of(log);
    Erase {
        run_id: run_id.clone(),
        seq: seq(n),
        type_name: "user.message".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction: EventRef { run_id, seq: place.seq, ts: place.ts, hash: redaction.hash() },
    }
}

pub(super) fn run_of(log: &[Record]) -> RunId {
    let first = log.first().unwrap();
    let v2 = first.header().map(|header| header.run_id);
    let id = v2.or_else(|_| r1_event::v1::Header::decode(&first.header).map(|header| header.run_id).ok_or(()));
    id.unwrap().parse().unwrap()
}

pub async fn log_15_erasing_keeps_chain_proofs_and_seal(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(20).chain([typed("redaction.applied")])).await;
    let seal = SideRecord::Seal(unchecked_seal(&run(1), 21));
    store.add_side_record(&run(1), seal.clone()).await.unwrap();
    let log = read_all(&store, &run(1)).await;

    let erasures = [erasure(&log, 3), erasure(&log, 1), erasure(&log, 12)];
    drop(store.erase(erasures.to_vec()).await.unwrap());
    for store in [store.clone(), fixture.open().await] {
        let left = read_all(&store, &run(1)).await;
        for (n, (before, after)) in (1..).zip(log.iter().zip(&left)) {
            assert_eq!(before.header, after.header);
            let kept = (![1, 3, 12].contains(&n)).then(|| before.payload.clone()).flatten();
            assert_eq!(after.payload, kept, "payload of event {n}");
        }
        assert_eq!(follow(&run(1), Version::V2, &left), writer.chain, "same head, same tree");
        assert_eq!(store.chain(&run(1)).await.unwrap().as_ref(), Some(&writer.chain));
        let expected: Vec<_> = [seal.clone()].into_iter().chain(erasures.clone().map(SideRecord::Erase)).collect();
        assert_eq!(store.side_records(&run(1)).await.unwrap(), expected);
    }
    writer.write(messages(2)).await;
    // The erased event stays in the feed, without its payload.
    let page = store.read_feed(crate::FeedCursor::START, crate::PageLimit::default()).await.unwrap();
    assert_eq!(page.items.len(), 24);
    assert!(page.items[0].record.payload.is_none());
}

pub async fn log_15_erasing_twice_keeps_the_first_record(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(5)).await;
    let first = erasure(&read_all(&store, &run(1)).await, 2);
    drop(store.erase(vec![first.clone()]).await.unwrap());
    drop(store.erase(vec![first.clone()]).await.unwrap());
    let other = Erase { type_name: "another.word".into(), ..first.clone() };
    drop(store.erase(vec![other]).await.unwrap());
    assert_eq!(store.side_records(&run(1)).await.unwrap(), [SideRecord::Erase(first)]);
    drop(store.erase(Vec::new()).await.unwrap());
}

pub async fn log_15_erasing_what_is_not_there_erases_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(5)).await;
    Writer::started(&store, &run(2)).await;
    let log = read_all(&store, &run(1)).await;
    let good = erasure(&log, 2);

    let err = store.erase(vec![good.clone(), erasure(&log, 7)]).await.unwrap_err();
    assert!(matches!(err, StoreError::NoEvent { seq: missing, .. } if missing == seq(7)));
    let err = store.erase(vec![Erase { run_id: run(9), ..good.clone() }]).await.unwrap_err();
    assert!(matches!(err, StoreError::NoRun { run: of } if of == run(9)));
    let err = store.erase(vec![good.clone(), Erase { run_id: run(2), seq: seq(1), ..good }]).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }));
    assert_eq!(read_all(&store, &run(1)).await, log);
    assert_eq!(store.side_records(&run(1)).await.unwrap(), []);
}

pub async fn log_15_a_v1_payload_is_not_erased(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run: RunId = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap();
    let lease = store.acquire(&run, "import", LONG).await.unwrap().lease;
    let records = v1_records(&run);
    let mut batch = Batch::new(&Chain::empty(run.clone(), Version::V1));
    for record in &records {
        batch.adopt(record.clone()).unwrap();
    }
    store.append(&lease, batch).await.unwrap();
    let redaction = EventRef { run_id: run.clone(), seq: seq(3), ts: UnixNanos(1), hash: records[2].hash() };
    let err = store.erase(vec![Erase { redaction, ..erasure(&records, 2) }]).await.unwrap_err();
    assert!(matches!(err, StoreError::Refused { .. }), "its hash would no longer hold");
    assert_eq!(read_all(&store, &run).await, records);
}
