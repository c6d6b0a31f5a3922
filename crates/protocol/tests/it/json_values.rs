//! JSON as CBOR and back.

use proptest::prelude::*;
use r1_event::cbor::{Rules, Value as Cbor};
use r1_protocol::json;
use serde_json::{Value, json};

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_comes_back_from_cbor_bytes_unchanged(value in values()) {
        let bytes = json::to_cbor(&value).encode();
        let read = Cbor::decode(&bytes, Rules::CANONICAL).unwrap();
        prop_assert_eq!(json::from_cbor(&read), value);
    }
}

#[test]
fn what_json_cannot_say_gets_a_spelling() {
    let value = Cbor::Map(vec![
        (Cbor::Uint(1), Cbor::Bytes(vec![0xff, 0xee])),
        (Cbor::text("nan"), Cbor::Float(f64::NAN)),
        (Cbor::text("up"), Cbor::Float(f64::INFINITY)),
        (Cbor::text("down"), Cbor::Float(f64::NEG_INFINITY)),
        (Cbor::text("far"), Cbor::Nint(u64::MAX)),
        (Cbor::text("none"), Cbor::Undefined),
        (Cbor::Array(vec![Cbor::text("a")]), Cbor::Tag(1, Box::new(Cbor::Uint(2)))),
    ]);
    assert_eq!(
        json::from_cbor(&value),
        json!({
            "1": "/+4=", "nan": "NaN", "up": "Infinity", "down": "-Infinity", "far": "-18446744073709551616",
            "none": null, "[\"a\"]": 2,
        })
    );
}
