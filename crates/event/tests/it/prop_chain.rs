//! A chain says the same however it came to stand where it stands.

use bytes::Bytes;
use proptest::prelude::*;
use r1_event::cbor::Value;
use r1_event::payload::{Extra, Raw, RunCompleted, Typed, UserMessageAppended};
use r1_event::{Batch, Chain, Payload, Record, UnixNanos, Version, v1};

use crate::prop_cbor::any_value;

fn any_log() -> impl Strategy<Value = Vec<(i64, Payload)>> {
    let message = "\\PC{0,40}".prop_map(|content| {
        Payload::UserMessageAppended(UserMessageAppended { content, ..UserMessageAppended::default() })
    });
    let typed = ("x\\.[a-z]{1,8}", any_value()).prop_map(|(name, data)| {
        let data = Value::object([("value", data)]);
        Payload::Typed(Typed { r#type: name, data: Raw::from(&data), extra: Extra::default() })
    });
    prop::collection::vec((any::<i64>(), prop_oneof![message, typed]), 0..40)
}

fn new_chain() -> Chain {
    Chain::new("run_01HZX5B2Q8M7C3D4E5F6G7H8J9".parse().unwrap())
}

fn append(chain: &Chain, events: &[(i64, Payload)]) -> Batch {
    let mut batch = Batch::new(chain);
    if chain.size() == 0 {
        batch.push(UnixNanos(0), Payload::RunStarted(Box::default())).unwrap();
    }
    for (ts, payload) in events {
        batch.push(UnixNanos(*ts), payload.clone()).unwrap();
    }
    batch
}

/// Events in Starling's format, with payloads of its own.
fn v1_records(payloads: &[Vec<u8>]) -> Vec<Record> {
    let mut previous = None;
    let mut records = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        let kind = if index == 0 { 1 } else { 9 };
        let hash = previous.map(|hash: r1_event::Digest| hash.as_bytes().to_vec());
        let header =
            v1::Header { run_id: "a/run", seq: index as u64 + 1, prev_hash: hash.as_deref(), ts: index as i64, kind };
        let record = Record { header: header.encode().into(), payload: Some(Bytes::from(payload.clone())) };
        previous = Some(record.hash());
        records.push(record);
    }
    records
}

proptest! {
    #[test]
    fn how_a_log_is_cut_into_batches_does_not_show(events in any_log(), cut in any::<prop::sample::Index>()) {
        let whole = append(&new_chain(), &events);
        let (first, second) = events.split_at(cut.index(events.len() + 1));
        let first = append(&new_chain(), first);
        let second = append(first.after(), second);
        prop_assert_eq!(second.after(), whole.after());
        prop_assert_eq!([first.records(), second.records()].concat(), whole.records());
    }

    #[test]
    fn events_added_at_once_are_those_added_one_by_one(
        events in any_log(),
        is_ended in any::<bool>(),
        refused in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let events = events.into_iter().map(|(ts, payload)| (UnixNanos(ts), payload));
        let mut events: Vec<_> = [(UnixNanos(0), Payload::RunStarted(Box::default()))].into_iter().chain(events).collect();
        if let Some(at) = refused {
            events.insert(1 + at.index(events.len()), (UnixNanos(0), Payload::RunStarted(Box::default())));
        }
        if is_ended {
            events.push((UnixNanos(9), Payload::RunCompleted(RunCompleted::default())));
            events.push((UnixNanos(10), Payload::UserMessageAppended(UserMessageAppended::default())));
        }
        let (mut at_once, mut one_by_one) = (Batch::new(&new_chain()), Batch::new(&new_chain()));
        let expected = events.iter().try_for_each(|(ts, payload)| one_by_one.push(*ts, payload.clone()).map(drop));
        prop_assert_eq!(expected.is_err(), is_ended || refused.is_some());
        prop_assert_eq!(at_once.extend(events), expected);
        prop_assert_eq!(at_once.records(), one_by_one.records());
        prop_assert_eq!(at_once.after(), one_by_one.after());
        prop_assert_eq!(at_once.span(), one_by_one.span());
    }

    #[test]
    fn a_chain_read_from_its_snapshot_goes_on_alike(events in any_log(), cut in any::<prop::sample::Index>()) {
        let (before, after) = events.split_at(cut.index(events.len() + 1));
        let chain = append(&new_chain(), before).after().clone();
        let restored = Chain::from_snapshot(chain.run().clone(), &chain.snapshot()).unwrap();
        prop_assert_eq!(&restored, &chain);
        let (expected, found) = (append(&chain, after), append(&restored, after));
        prop_assert_eq!(found.records(), expected.records());
        prop_assert_eq!(found.after().statement(), expected.after().statement());
    }

    #[test]
    fn adopting_and_following_records_gives_the_chain_that_made_them(events in any_log()) {
        let made = append(&new_chain(), &events);
        let (mut adopted, mut followed) = (Batch::new(&new_chain()), new_chain());
        for record in made.records() {
            adopted.adopt(record.clone()).unwrap();
            followed.follow(record).unwrap();
        }
        prop_assert_eq!(adopted.after(), made.after());
        prop_assert_eq!(&followed, made.after());
    }

    #[test]
    fn a_v1_chain_survives_its_snapshot(values in prop::collection::vec(any_value(), 1..40)) {
        let payloads: Vec<_> = values.iter().map(r1_event::cbor::Value::encode).collect();
        let mut chain = Chain::empty("a/run".parse().unwrap(), Version::V1);
        for record in v1_records(&payloads) {
            chain.follow(&record).unwrap();
            let restored = Chain::from_snapshot(chain.run().clone(), &chain.snapshot()).unwrap();
            prop_assert_eq!(&restored, &chain);
        }
    }

    #[test]
    fn a_damaged_snapshot_is_refused_or_at_least_not_this_chain(events in any_log(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let chain = append(&new_chain(), &events).after().clone();
        let mut bytes = chain.snapshot();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(restored) = Chain::from_snapshot(chain.run().clone(), &bytes) {
            // The last byte says whether the run has ended; null and other non-numbers all say no.
            prop_assert!(restored != chain || at == bytes.len() - 1);
        }
    }
}
