//! What is kept beside a log.

use r1_event::cbor::Value;
use r1_event::{Digest, KeyId, RunId, Seal, SideRecord, Statement};

use super::Fixture;
use super::erase::erasure;
use super::prune::prune_record;
use super::sample::{Writer, messages, read_all, run};
use crate::error::StoreError;

/// A record that looks like a seal; a store checks no signatures.
pub(super) fn unchecked_seal(run: &RunId, size: u64) -> Seal {
    let key_id: KeyId = "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".parse().unwrap();
    let (root, head) = (Digest::blake3(b"root"), Digest::blake3(b"head"));
    Seal { statement: Statement { run_id: run.clone(), size, root, head }, key_id, signature: [7; 64] }
}

pub async fn side_records_are_kept_in_order_and_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    Writer::started(&store, &run(1)).await;
    Writer::started(&store, &run(2)).await;
    let records = [
        SideRecord::Checkpoint(unchecked_seal(&run(1), 1)),
        SideRecord::Other(Value::object([("n", Value::Uint(3)), ("record", Value::text("from the future"))])),
        SideRecord::Seal(unchecked_seal(&run(1), 2)),
        SideRecord::Checkpoint(unchecked_seal(&run(1), 2)),
    ];
    for record in records.iter().chain(&records) {
        store.add_side_record(&run(1), record.clone()).await.unwrap();
    }
    assert_eq!(store.side_records(&run(1)).await.unwrap(), records);
    assert_eq!(store.side_records(&run(2)).await.unwrap(), []);
    assert_eq!(fixture.open().await.side_records(&run(1)).await.unwrap(), records);
}

pub async fn side_records_that_do_not_belong_are_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let seal = SideRecord::Seal(unchecked_seal(&run(1), 1));
    let err = store.add_side_record(&run(1), seal.clone()).await.unwrap_err();
    assert!(matches!(err, StoreError::NoRun { run: of } if of == run(1)));

    let mut writer = Writer::started(&store, &run(1)).await;
    writer.write(messages(5)).await;
    let log = read_all(&store, &run(1)).await;
    Writer::started(&store, &run(2)).await;
    let refused = [
        (run(2), seal),
        (run(1), SideRecord::Erase(erasure(&log, 2))),
        (run(1), SideRecord::Prune(Box::new(prune_record(&log, 2)))),
    ];
    for (run, record) in refused {
        let err = store.add_side_record(&run, record).await.unwrap_err();
        assert!(matches!(err, StoreError::Refused { .. }), "{err:?}");
        assert_eq!(store.side_records(&run).await.unwrap(), []);
    }
}
