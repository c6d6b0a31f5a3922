//! Payloads of every kind, made from the kinds' own tables: what is read is written again, byte for byte.

use bytes::Bytes;
use proptest::prelude::*;
use r1_event::cbor::{Rules, Value, check};
use r1_event::payload::{FieldSpec, FieldType, Presence, fields};
use r1_event::{Kind, Payload};

use crate::prop_cbor::any_value;

/// A payload with these keys as R1 writes it, and some that it has no field for.
fn payload(specs: &'static [FieldSpec]) -> BoxedStrategy<Value> {
    let known: Vec<_> = specs.iter().map(pair).collect();
    (known, unknown_keys(specs))
        .prop_map(|(known, unknown)| Value::Map(known.into_iter().flatten().chain(unknown).collect()))
        .boxed()
}

fn pair(spec: &'static FieldSpec) -> BoxedStrategy<Option<(Value, Value)>> {
    let key = Value::text(spec.name);
    let pair = item(spec.field_type, spec.presence).prop_map(move |value| (key.clone(), value));
    match spec.presence {
        Presence::Always => pair.prop_map(Some).boxed(),
        Presence::UnlessEmpty | Presence::V2 => prop::option::of(pair).boxed(),
    }
}

fn item(field_type: FieldType, presence: Presence) -> BoxedStrategy<Value> {
    let always = presence == Presence::Always;
    let may_be_empty = presence != Presence::UnlessEmpty;
    let least = usize::from(!may_be_empty);
    match field_type {
        FieldType::Bool => any::<bool>().prop_map(move |value| Value::Bool(value || !may_be_empty)).boxed(),
        FieldType::Uint(bits) => (least as u64..=u64::MAX >> (64 - bits)).prop_map(Value::Uint).boxed(),
        FieldType::Int => {
            any::<i64>().prop_filter("empty", move |n| may_be_empty || *n != 0).prop_map(Value::int).boxed()
        }
        FieldType::Float => prop::num::f64::NORMAL
            .prop_filter("empty", move |n| may_be_empty || *n != 0.0)
            .prop_map(Value::Float)
            .boxed(),
        FieldType::Text => "\\PC{1,20}".prop_map(Value::Text).boxed(),
        FieldType::Bytes => {
            let bytes = prop::collection::vec(any::<u8>(), least..40).prop_map(Value::Bytes);
            if always { prop_oneof![bytes, Just(Value::Null)].boxed() } else { bytes.boxed() }
        }
        // Null under an optional key says the same as no key, and is not what R1 writes.
        FieldType::Raw => any_value()
            .prop_filter("null", move |value| always || !matches!(value, Value::Null | Value::Undefined))
            .boxed(),
        FieldType::List(inner) => {
            let list = prop::collection::vec(item(*inner, Presence::Always), least..4).prop_map(Value::Array);
            if always { prop_oneof![list, Just(Value::Null)].boxed() } else { list.boxed() }
        }
        FieldType::Struct(specs) => payload(specs),
    }
}

/// Keys of newer writers, text or not.
fn unknown_keys(specs: &'static [FieldSpec]) -> impl Strategy<Value = Vec<(Value, Value)>> {
    let key = prop_oneof!["[a-z_]{1,30}".prop_map(Value::Text), any::<i64>().prop_map(Value::int)]
        .prop_filter("known key", move |key| specs.iter().all(|spec| key.as_text() != Some(spec.name)));
    prop::collection::btree_map(key.prop_map(|key| key.encode()), any_value(), 0..4).prop_map(|pairs| {
        pairs.into_iter().map(|(key, value)| (Value::decode(&key, Rules::CANONICAL).unwrap(), value)).collect()
    })
}

/// An event of any kind with a name: the kind, and a payload as R1 or a newer R1 writes it.
pub(crate) fn any_event() -> impl Strategy<Value = (Kind, Bytes)> {
    prop::sample::select(Kind::NAMED)
        .prop_flat_map(|kind| payload(fields(kind)).prop_map(move |value| (kind, Bytes::from(value.encode()))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn log_05_payloads_of_every_kind_keep_unknown_keys_byte_for_byte((kind, bytes) in any_event()) {
        prop_assert_eq!(check(&bytes, Rules::CANONICAL), Ok(()));
        let payload = Payload::decode(kind, &bytes).unwrap();
        prop_assert_eq!(payload.kind(), kind);
        prop_assert_eq!(payload.encode(), bytes);
    }

    #[test]
    fn log_05_payloads_of_unknown_kinds_are_kept_as_they_are(number in 18_u64.., value in any_value()) {
        let bytes = Bytes::from(value.encode());
        let payload = Payload::decode(Kind::from_number(number), &bytes).unwrap();
        prop_assert_eq!(payload.kind().number(), number);
        prop_assert_eq!(payload.encode(), bytes);
    }

    /// A key of the wrong type is an error that names the key, never a silent default.
    #[test]
    fn a_key_of_another_type_is_refused_by_name((kind, bytes) in any_event(), at in any::<prop::sample::Index>()) {
        let specs: Vec<_> = fields(kind).iter().filter(|spec| !matches!(spec.field_type, FieldType::Raw)).collect();
        let Some(spec) = (!specs.is_empty()).then(|| specs[at.index(specs.len())]) else { return Ok(()) };
        let Value::Map(mut pairs) = Value::decode(&bytes, Rules::CANONICAL).unwrap() else { unreachable!() };
        pairs.retain(|(key, _)| key.as_text() != Some(spec.name));
        pairs.push((Value::text(spec.name), Value::Tag(4, Box::new(Value::Null))));
        let error = Payload::decode(kind, &Value::Map(pairs).encode().into()).unwrap_err();
        prop_assert!(error.to_string().contains(spec.name), "{} does not name {}", error, spec.name);
    }
}
