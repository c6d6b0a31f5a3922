//! No input panics: the fuzz targets' promises, tried on a stable compiler with random and damaged bytes.

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a crate of its own for the fuzz targets")]
mod promises;

use proptest::prelude::*;
use r1_event::cbor::{Value, write};
use r1_event::exchange::Format;
use r1_event::merkle::{Blake3, Frontier};
use r1_event::side_record::{Erase, EventRef, Prune, RunContext, Trees};
use r1_event::{Digest, Header, KeyId, Kind, Seal, Seq, SideRecord, Statement, UnixNanos, v1};

use crate::prop_cbor::any_value;
use crate::prop_payload::any_event;

const RUN: &str = "run_01HZX5B2Q8M7C3D4E5F6G7H8J9";

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
        invented_log(),
        invented_v1_log(),
        (any::<u8>(), prop::sample::select(json_exports()), damage()).prop_map(|(piece, file, damage)| [
            vec![piece],
            apply(&file, &damage)
        ]
        .concat()),
    ]
}

/// The golden logs in the formats that are text.
fn json_exports() -> Vec<Vec<u8>> {
    let formats = [Format::Ndjson, Format::Json];
    let export = |log: &[u8]| formats.map(|format| promises::convert(log, Format::Cborseq, format));
    GOLDEN.iter().flat_map(|log| export(log)).collect()
}

/// Starling's envelopes, each sound by itself.
fn invented_v1_log() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((prop_oneof![1_u64..6, any::<u64>()], any::<bool>(), any_event()), 1..6).prop_map(|events| {
        let (mut out, mut prev_hash) = (Vec::new(), None);
        for (seq, linked, (kind, payload)) in events {
            let prev_hash_here = prev_hash.as_ref().filter(|_| linked).map(|hash: &Digest| &hash.as_bytes()[..]);
            let kind = u8::try_from(kind.number()).unwrap();
            let header = v1::Header { run_id: RUN, seq, prev_hash: prev_hash_here, ts: 0, kind };
            let envelope = v1::splice(&header.encode(), Some(&payload));
            prev_hash = Some(Digest::blake3(&envelope));
            out.extend(envelope);
        }
        out
    })
}

/// A log that nobody wrote: sound headers and payloads in impossible places, records of impossible sizes.
fn invented_log() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(invented_event(), 1..6), prop::collection::vec(invented_record(), 0..3)).prop_map(
        |(events, records)| {
            let mut out = Vec::new();
            let mut prev_hash = None;
            for (seq, linked, (kind, payload), erased) in events {
                let (payload_hash, payload_size) = (Digest::blake3(&payload), payload.len() as u64);
                let prev_hash_here = if linked { prev_hash } else { Some(payload_hash) };
                let ts = UnixNanos(0);
                let header =
                    Header { run_id: RUN, seq, prev_hash: prev_hash_here, ts, kind, payload_hash, payload_size };
                let header = header.encode();
                prev_hash = Some(Digest::blake3(&header));
                write::array(&mut out, 2);
                out.extend(header);
                if erased { write::null(&mut out) } else { write::bytes(&mut out, &payload) }
            }
            records.iter().for_each(|record: &SideRecord| out.extend(record.encode()));
            out
        },
    )
}

fn invented_event() -> impl Strategy<Value = (Seq, bool, (Kind, bytes::Bytes), bool)> {
    (edge_seq(), any::<bool>(), any_event(), prop::bool::weighted(0.2))
}

/// The first places and the last ones that a number can name.
fn edge_seq() -> impl Strategy<Value = Seq> {
    prop_oneof![1_u64..6, u64::MAX - 2..=u64::MAX, Just(1 << 63), any::<u64>()]
        .prop_map(|n| Seq::new(n).unwrap_or(Seq::FIRST))
}

fn trees_of(through: Seq, peak: Digest) -> Trees {
    let peaks = vec![peak; through.get().count_ones() as usize];
    let (blake3, sha256) = (peaks.clone(), peaks);
    let size = through.get();
    Trees::new(Frontier::from_parts(size, blake3).unwrap(), Frontier::from_parts(size, sha256).unwrap()).unwrap()
}

fn invented_record() -> impl Strategy<Value = SideRecord> {
    (edge_seq(), 0_u8..4, edge_seq()).prop_map(|(seq, which, other)| {
        let (run_id, hash): (r1_event::RunId, _) = (RUN.parse().unwrap(), Digest::blake3(RUN.as_bytes()));
        match which {
            0 => SideRecord::Prune(Box::new(Prune {
                run_id,
                last_hash: hash,
                trees: trees_of(seq, hash),
                pruned_at: UnixNanos(i64::MAX),
                reason: String::new(),
                context: RunContext::default(),
                open_turn: Some("turn".into()),
                open_calls: vec![("call".into(), u32::MAX, other)],
                graph: None,
            })),
            1 => SideRecord::Erase(Erase {
                run_id: run_id.clone(),
                seq,
                type_name: "user.message".into(),
                turn_id: None,
                call_id: None,
                attempt: Some(u32::MAX),
                context: None,
                redaction: EventRef { run_id, seq: other, ts: UnixNanos(i64::MIN), hash },
            }),
            _ => {
                let key_id: KeyId = "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".parse().unwrap();
                let statement = Statement { run_id, size: seq.get(), root: hash, head: hash };
                let seal = Seal { statement, key_id, signature: [0; 64] };
                if which == 2 { SideRecord::Seal(seal) } else { SideRecord::Checkpoint(seal) }
            }
        }
    })
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
    #![proptest_config(ProptestConfig::with_cases(3_000))]

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
fn log_19_positions_that_no_log_reaches_are_refused_before_anyone_counts_on() {
    let header = |seq: u64| {
        let mut bytes = b"\xa7\x62ts\x00\x63seq".to_vec();
        write::uint(&mut bytes, seq);
        bytes.extend_from_slice(b"\x64kind\x09\x66run_id\x61r\x69prev_hash\x40\x6cpayload_hash\x58\x20");
        bytes.extend_from_slice(&[0; 32]);
        bytes.extend_from_slice(b"\x6cpayload_size\x00");
        bytes
    };
    assert!(Header::decode(&header(Seq::MAX)).is_ok());
    assert!(Header::decode(&header(Seq::MAX + 1)).is_err());
    assert_eq!(Seq::new(Seq::MAX).map(Seq::next), Seq::new(Seq::MAX), "the last position has no next");
    assert!(Frontier::<Blake3>::from_parts(u64::MAX, vec![Digest::blake3(b""); 64]).is_none());
}

#[test]
fn log_19_every_promise_has_a_fuzz_target() {
    let manifest = include_str!("../../../../fuzz/Cargo.toml");
    for (name, _) in promises::TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "no fuzz target runs `{name}`");
    }
}
