//! No input panics: the fuzz targets' promises, tried on a stable compiler with random and damaged bytes.

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a crate of its own for the fuzz targets")]
mod promises;

use proptest::prelude::*;
use r1_event::cbor::Value;

use crate::prop_cbor::any_value;

const GOLDEN: &[&[u8]] = &[
    include_bytes!("../fixtures/v2/golden.cborseq"),
    include_bytes!("../fixtures/v2/erased.cborseq"),
    include_bytes!("../fixtures/v2/pruned.cborseq"),
];

/// Random bytes, well-formed items, and sound logs with a little damage: each reaches other depths.
fn any_input() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        (any::<u8>(), any_value()).prop_map(|(first, value)| [vec![first], value.encode()].concat()),
        any_value().prop_map(|value| value.encode()),
        (prop::sample::select(GOLDEN), damage()).prop_map(|(log, damage)| apply(log, &damage)),
        (prop::sample::select(items()), damage()).prop_map(|(item, damage)| apply(&item, &damage)),
    ]
}

/// Where, what, and how much of it is replaced.
type Damage = (prop::sample::Index, Vec<u8>, usize);

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..4), 0_usize..4);
    prop::collection::vec(one, 0..3)
}

fn apply(sound: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for (at, new, replaced) in damage {
        let at = at.index(bytes.len() + 1);
        let end = (at + replaced).min(bytes.len());
        bytes.splice(at..end, new.iter().copied());
    }
    bytes
}

/// The parts of the sound logs: headers, payloads and side records, each by itself.
fn items() -> Vec<Vec<u8>> {
    let mut items = Vec::new();
    for mut rest in GOLDEN.iter().copied() {
        while let Ok(end) = r1_event::cbor::scan::item_end(rest, r1_event::cbor::Rules::CANONICAL) {
            match Value::decode(&rest[..end], r1_event::cbor::Rules::CANONICAL).unwrap() {
                Value::Array(pair) => {
                    items.push(pair[0].encode());
                    let kind = u8::try_from(pair[0].get("kind").and_then(Value::as_uint).unwrap()).unwrap_or(u8::MAX);
                    items.extend(pair[1].as_bytes().map(|payload| [&[kind], payload].concat()));
                }
                record => items.push(record.encode()),
            }
            rest = &rest[end..];
        }
    }
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn log_19_no_input_breaks_a_promise_of_reader_validator_or_proof_checker(input in any_input()) {
        for (_, target) in promises::TARGETS {
            target(&input);
        }
    }
}

#[test]
fn log_19_sound_logs_reach_the_depths_of_every_target() {
    for input in GOLDEN.iter().map(|log| log.to_vec()).chain(items()) {
        for (_, target) in promises::TARGETS {
            target(&input);
        }
    }
}

#[test]
fn log_19_every_promise_has_a_fuzz_target() {
    let manifest = include_str!("../../../../fuzz/Cargo.toml");
    for (name, _) in promises::TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "no fuzz target runs `{name}`");
    }
}
