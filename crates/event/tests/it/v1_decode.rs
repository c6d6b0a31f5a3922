//! Envelopes as Starling reads them.

use bytes::Bytes;
use proptest::prelude::*;
use r1_event::cbor::Rules;
use r1_event::v1::{self, Envelope, Header, Validator};
use r1_event::{Digest, Record};

use crate::v1_fixtures::{hex, load, text};

#[test]
fn log_03_odd_envelopes_are_accepted_or_refused_as_starling_does() {
    for row in load("decode_event.json") {
        let (label, bytes) = (text(&row, "label").unwrap(), hex(&row["cbor"]));
        let decoded = Envelope::decode(&bytes, Rules::READABLE);
        let Ok(Envelope { record, canonical }) = decoded else {
            assert!(row["error"].is_string(), "{label}: {decoded:?}");
            continue;
        };
        assert!(row["error"].is_null(), "{label}");
        assert_eq!(v1::splice(&record.header, record.payload.as_deref()), hex(&row["re_encoded"]), "{label}");
        assert_eq!(Some(canonical), row["byte_identical"].as_bool(), "{label}");
        let (header, event) = (Header::decode(&record.header).unwrap(), &row["event"]);
        assert_eq!(header.run_id, event["run_id"], "{label}");
        assert_eq!(header.seq, event["seq"], "{label}");
        assert_eq!(header.ts, event["ts"], "{label}");
        assert_eq!(header.kind, event["kind"], "{label}");
        assert_eq!(header.prev_hash.is_none(), event["prev_hash"].is_null(), "{label}");
    }
}

#[test]
fn an_envelope_beyond_the_readers_limits_is_read_when_asked_to() {
    let (front, back) =
        ("a6627473016373657101646b696e64096672756e5f6964627231677061796c6f6164", "69707265765f68617368f6");
    let bytes = hex(&format!("{front}{}00{back}", "81".repeat(40)).into());
    assert!(Envelope::decode(&bytes, Rules::READABLE).is_err());
    assert!(Envelope::decode(&bytes, Rules::WRITABLE).unwrap().canonical);
}

#[test]
fn a_tag_in_front_of_the_payload_is_dropped_if_it_says_nothing_and_checked_if_it_does() {
    let envelope = |payload: &str| {
        let (front, back) =
            ("a6627473016373657101646b696e64016672756e5f6964627231677061796c6f6164", "69707265765f68617368f6");
        Envelope::decode(&hex(&format!("{front}{payload}{back}").into()), Rules::READABLE)
    };
    let dropped = envelope("d9d9f7a0").unwrap();
    assert_eq!((dropped.record.payload.as_deref(), dropped.canonical), (Some(&[0xa0][..]), false));
    assert!(envelope("c100").unwrap().canonical);
    assert!(envelope("c160").is_err());
}

#[test]
fn a_payload_of_null_is_no_payload() {
    let bytes =
        hex(&"a6627473016373657101646b696e64016672756e5f6964627231677061796c6f6164f669707265765f68617368f6".into());
    assert_eq!(Envelope::decode(&bytes, Rules::READABLE).unwrap().record.payload, None);
}

prop_compose! {
    fn a_header()(
        run_id in ".{0,40}",
        seq in any::<u64>(),
        ts in any::<i64>(),
        kind in any::<u8>(),
        prev_hash in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
    ) -> Vec<u8> {
        Header { run_id: &run_id, seq, ts, kind, prev_hash: prev_hash.as_deref() }.encode()
    }
}

fn a_payload() -> impl Strategy<Value = Vec<u8>> {
    use r1_event::cbor::Value;
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::int),
        any::<u64>().prop_map(Value::Uint),
        any::<f64>().prop_map(Value::Float),
        ".{0,12}".prop_map(Value::text),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::btree_map("[a-z_]{0,12}", inner, 0..6).prop_map(Value::object),
        ]
    })
    .prop_map(|value| value.encode())
}

proptest! {
    #[test]
    fn log_01_decode_then_encode_is_the_identity_on_canonical_envelopes(header in a_header(), payload in a_payload()) {
        let bytes = Bytes::from(v1::splice(&header, Some(&payload)));
        let envelope = Envelope::decode(&bytes, Rules::READABLE).unwrap();
        prop_assert!(envelope.canonical);
        prop_assert_eq!(&envelope.record.header[..], &header[..]);
        prop_assert_eq!(envelope.record.payload.as_deref(), Some(&payload[..]));
        prop_assert_eq!(envelope.record.hash(), Digest::blake3(&bytes));
        prop_assert_eq!(v1::examine(&envelope.record).unwrap().hash(), Some(Digest::blake3(&bytes)));
    }

    #[test]
    fn log_19_no_bytes_panic_as_an_envelope(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        if let Ok(envelope) = Envelope::decode(&bytes, Rules::READABLE) {
            let again = Bytes::from(v1::splice(&envelope.record.header, envelope.record.payload.as_deref()));
            let again = Envelope::decode(&again, Rules::READABLE).unwrap();
            prop_assert!(again.canonical);
            prop_assert_eq!(again.record, envelope.record);
        }
    }

    #[test]
    fn log_19_no_bytes_panic_as_a_payload_of_any_kind(
        kind in 0u8..20,
        payload in prop_oneof![a_payload(), proptest::collection::vec(any::<u8>(), 0..200)],
        flip in any::<prop::sample::Index>(),
    ) {
        let mut payload = payload;
        if !payload.is_empty() {
            let at = flip.index(payload.len());
            payload[at] = payload[at].wrapping_add(1);
        }
        let header = Header { run_id: "r", seq: 1, ts: 0, kind, prev_hash: None };
        let record = Record { header: header.encode().into(), payload: Some(payload.into()) };
        let (mut validator, mut findings) = (Validator::default(), Vec::new());
        validator.check(&record, &mut findings).unwrap();
        validator.check(&record, &mut findings).unwrap();
        let _ = validator.finish(&mut findings);
        let _ = v1::ndjson::write_line(&record);
    }
}
