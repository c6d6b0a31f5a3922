//! The codec: canonical bytes and values stand for each other, and another library reads the same.

use std::collections::HashSet;

use ciborium::Value as Theirs;
use proptest::prelude::*;
use r1_event::cbor::scan::Problem;
use r1_event::cbor::{Rules, Value, check};

/// Any item that has canonical bytes: map keys are unique and no NaN is special.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    values(leaf().boxed())
}

/// Items that ciborium has values for, too: it knows neither `undefined` nor other simple values.
fn common_value() -> impl Strategy<Value = Value> {
    let leaf = leaf().prop_filter("ciborium knows", |value| !matches!(value, Value::Undefined | Value::Simple(_)));
    values(leaf.boxed())
}

fn values(leaf: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(|pairs| Value::Map(unique(pairs))),
            // Tags 2 and 3 are bignums, which ciborium turns into integers.
            (prop_oneof![4_u64..300, 4_u64..], inner).prop_map(|(number, item)| Value::Tag(number, Box::new(item))),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        edge_number().prop_map(Value::Uint),
        edge_number().prop_map(Value::Nint),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        "\\PC{0,30}".prop_map(Value::Text),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        Just(Value::Undefined),
        prop_oneof![0_u8..20, 32_u8..].prop_map(Value::Simple),
        edge_float().prop_map(Value::Float),
    ]
}

/// Numbers around the borders where a head grows.
fn edge_number() -> impl Strategy<Value = u64> {
    const EDGES: &[u64] = &[0, 23, 0xff, 0xffff, 0xffff_ffff, u64::MAX];
    prop_oneof![any::<u64>(), (prop::sample::select(EDGES), 0_u64..3).prop_map(|(edge, n)| edge.wrapping_add(n))]
}

/// Floats of each of the three widths, subnormals, zeros and infinities among them.
fn edge_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<f32>().prop_map(f64::from),
        (-2048_i32..2048, -24_i32..5).prop_map(|(n, scale)| f64::from(n) * f64::from(scale).exp2()),
        prop::sample::select(
            &[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 65_504.0, 65_520.0, 5.960_464_477_539_063e-8][..]
        ),
    ]
    .prop_filter("NaN is not equal to itself", |value| !value.is_nan())
}

/// In canonical order, so that what is decoded is equal.
fn unique(pairs: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    let mut pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (key.encode(), key, value)).collect();
    pairs.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    pairs.dedup_by(|(a, ..), (b, ..)| a == b);
    pairs.into_iter().map(|(_, key, value)| (key, value)).collect()
}

fn theirs(value: &Value) -> Theirs {
    match value {
        Value::Uint(n) => Theirs::Integer((*n).into()),
        Value::Nint(n) => Theirs::Integer((-1 - i128::from(*n)).try_into().unwrap()),
        Value::Bytes(bytes) => Theirs::Bytes(bytes.clone()),
        Value::Text(text) => Theirs::Text(text.clone()),
        Value::Array(items) => Theirs::Array(items.iter().map(theirs).collect()),
        Value::Map(pairs) => Theirs::Map(pairs.iter().map(|(key, value)| (theirs(key), theirs(value))).collect()),
        Value::Tag(number, item) => Theirs::Tag(*number, Box::new(theirs(item))),
        Value::Bool(value) => Theirs::Bool(*value),
        Value::Null => Theirs::Null,
        Value::Float(value) => Theirs::Float(*value),
        Value::Undefined | Value::Simple(_) => unreachable!("ciborium has no value for these"),
    }
}

fn repeats_a_key(value: &Value) -> bool {
    match value {
        Value::Map(pairs) => {
            let keys: HashSet<_> = pairs.iter().map(|(key, _)| key.encode()).collect();
            keys.len() < pairs.len() || pairs.iter().any(|(key, value)| repeats_a_key(key) || repeats_a_key(value))
        }
        Value::Array(items) => items.iter().any(repeats_a_key),
        Value::Tag(_, item) => repeats_a_key(item),
        _ => false,
    }
}

/// Writes a value well-formed, but with longer heads, unsorted or repeated keys and wider floats wherever
/// a choice is not 0.
fn write_loosely(value: &Value, choices: &mut impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let choice = choices.next().unwrap_or(0);
    match value {
        Value::Uint(n) => head(0, *n, choice, out),
        Value::Nint(n) => head(1, *n, choice, out),
        Value::Bytes(bytes) => {
            head(2, bytes.len() as u64, choice, out);
            out.extend(bytes);
        }
        Value::Text(text) => {
            head(3, text.len() as u64, choice, out);
            out.extend(text.as_bytes());
        }
        Value::Array(items) => {
            head(4, items.len() as u64, choice, out);
            items.iter().for_each(|item| write_loosely(item, choices, out));
        }
        Value::Map(pairs) => {
            let mut pairs = pairs.clone();
            if !pairs.is_empty() {
                let shift = usize::from(choice) % pairs.len();
                pairs.rotate_left(shift);
            }
            if choice % 4 == 3 {
                pairs.extend(pairs.last().cloned());
            }
            head(5, pairs.len() as u64, 0, out);
            for (key, value) in &pairs {
                write_loosely(key, choices, out);
                write_loosely(value, choices, out);
            }
        }
        Value::Tag(number, item) => {
            head(6, *number, choice, out);
            write_loosely(item, choices, out);
        }
        Value::Float(value) if choice > 0 => {
            out.push(0xfb);
            out.extend(value.to_be_bytes());
        }
        Value::Float(_) | Value::Bool(_) | Value::Null | Value::Undefined | Value::Simple(_) => value.write(out),
    }
}

/// A head of the shortest form, or `wider` times the next one.
fn head(major: u8, n: u64, wider: u8, out: &mut Vec<u8>) {
    let shortest = [24, 1 << 8, 1 << 16, 1 << 32].iter().filter(|limit| n >= **limit).count();
    let form = (shortest + usize::from(wider)).min(4);
    match form {
        0 => out.push(major << 5 | n as u8),
        _ => {
            out.push(major << 5 | (23 + form) as u8);
            out.extend(&n.to_be_bytes()[8 - (1 << (form - 1))..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_value_survives_encoding_and_decoding(value in any_value()) {
        let bytes = value.encode();
        prop_assert_eq!(check(&bytes, Rules::CANONICAL), Ok(()));
        let decoded = Value::decode(&bytes, Rules::CANONICAL).unwrap();
        prop_assert_eq!(decoded.encode(), bytes);
        prop_assert_eq!(decoded, value);
    }

    #[test]
    fn ciborium_reads_what_we_write(value in common_value()) {
        let decoded: Theirs = ciborium::from_reader(&value.encode()[..]).unwrap();
        prop_assert_eq!(decoded, theirs(&value));
    }

    #[test]
    fn we_read_what_ciborium_writes(value in common_value()) {
        let mut bytes = Vec::new();
        ciborium::into_writer(&theirs(&value), &mut bytes).unwrap();
        prop_assert_eq!(Value::decode(&bytes, Rules::READABLE).unwrap(), value);
    }

    /// The scan accepts exactly what the encoder writes: whatever it takes, encoding gives back.
    #[test]
    fn accepted_as_canonical_means_written_so(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
        let value = Value::decode(&bytes, Rules::READABLE).ok();
        let is_its_own_form = value.is_some_and(|value| !repeats_a_key(&value) && value.encode() == bytes);
        prop_assert_eq!(check(&bytes, Rules::CANONICAL).is_ok(), is_its_own_form);
    }

    /// Of all the ways to write a value, one is canonical; the others can still be read.
    #[test]
    fn only_one_of_the_ways_to_write_a_value_is_canonical(
        value in any_value(),
        choices in prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 1..20),
    ) {
        let mut bytes = Vec::new();
        write_loosely(&value, &mut choices.iter().copied().cycle(), &mut bytes);
        prop_assert_eq!(check(&bytes, Rules::READABLE), Ok(()));
        prop_assert_eq!(check(&bytes, Rules::CANONICAL).is_ok(), bytes == value.encode());
    }

    #[test]
    fn one_changed_byte_is_refused_or_another_value(value in any_value(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let bytes = value.encode();
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= flip;
        if let Ok(other) = Value::decode(&changed, Rules::CANONICAL) {
            prop_assert_eq!(other.encode(), changed);
        }
    }

    #[test]
    fn a_cut_item_is_truncated_and_a_longer_one_has_trailing_bytes(value in any_value(), cut in any::<prop::sample::Index>()) {
        let mut bytes = value.encode();
        let shorter = &bytes[..cut.index(bytes.len())];
        prop_assert_eq!(check(shorter, Rules::CANONICAL).unwrap_err().problem, Problem::Truncated);
        bytes.push(0);
        prop_assert_eq!(check(&bytes, Rules::CANONICAL).unwrap_err().problem, Problem::TrailingBytes);
    }
}

#[test]
fn nesting_is_bounded_by_the_rules_and_not_by_the_stack() {
    let nested = |depth: usize| [vec![0x81; depth], vec![0x00]].concat();
    assert_eq!(check(&nested(Rules::MAX_DEPTH), Rules::CANONICAL), Ok(()));
    assert_eq!(check(&nested(Rules::MAX_DEPTH + 1), Rules::CANONICAL).unwrap_err().problem, Problem::TooDeep);
    assert_eq!(check(&nested(1_000_000), Rules::WELL_FORMED), Ok(()));
}
