//! Whatever is done to a log, someone notices, and says what it was.

use bytes::Bytes;
use r1_event::finding::{Finding, Integrity, State, Verdict};
use r1_event::merkle::proof::{ProofBuilder, verify_consistency, verify_inclusion};
use r1_event::merkle::{Blake3, Frontier};
use r1_event::payload::{Payload, RunCompleted};
use r1_event::{Record, SideRecord};

use crate::sample::{check, codes, key, log_of, options, payloads, rechained, sealed_log};

fn flipped(bytes: &Bytes, bit: usize) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes.into()
}

/// Whether the verdict has this finding at this event, with what was expected and what was found.
fn names(verdict: &Verdict, code: &str, seq: Option<u64>) -> bool {
    let told = |finding: &&Finding| finding.expected.is_some() && finding.found.is_some();
    verdict.findings.iter().filter(told).any(|finding| finding.code == code && finding.seq == seq)
}

#[test]
fn log_06_a_flipped_bit_in_any_header_or_payload_is_found() {
    let (records, seal) = sealed_log();
    for index in 0..records.len() {
        for bit in 0..records[index].header.len() * 8 {
            let mut tampered = records.clone();
            tampered[index].header = flipped(&records[index].header, bit);
            let verdict = check(&tampered, options(vec![SideRecord::Seal(seal.clone())]));
            assert_eq!(verdict.integrity, Integrity::Broken, "bit {bit} of header {index}: {:?}", codes(&verdict));
            assert!(verdict.is_corrupt() && verdict.sealed_by.is_none());
        }
        let payload = records[index].payload.clone().unwrap();
        for bit in 0..payload.len() * 8 {
            let mut tampered = records.clone();
            tampered[index].payload = Some(flipped(&payload, bit));
            let verdict = check(&tampered, options(vec![SideRecord::Seal(seal.clone())]));
            assert!(names(&verdict, "payload_mismatch", Some(index as u64 + 1)), "bit {bit}: {:?}", codes(&verdict));
        }
    }
}

#[test]
fn log_06_a_flipped_bit_in_a_seal_or_checkpoint_is_found() {
    let (records, seal) = sealed_log();
    for record in [SideRecord::Seal(seal.clone()), SideRecord::Checkpoint(seal)] {
        let bytes: Bytes = record.encode().into();
        let untouched = check(&records, options(vec![record.clone()]));
        assert_eq!(codes(&untouched), Vec::<&str>::new());
        for bit in 0..bytes.len() * 8 {
            // Bytes that are no CBOR any more are refused by whoever reads them from the store.
            let Ok(tampered) = SideRecord::decode(&flipped(&bytes, bit)) else { continue };
            let verdict = check(&records, options(vec![tampered]));
            assert!(!verdict.findings.is_empty(), "bit {bit} of the {} went unnoticed", record.name());
            assert_eq!(verdict.sealed_by, None, "bit {bit}");
        }
    }
}

#[test]
fn log_06_a_flipped_bit_in_a_proof_is_found() {
    let (records, chain) = log_of(payloads());
    let leaves: Vec<_> = records.iter().map(Record::leaf).collect();
    let (size, root) = (chain.size(), chain.root());
    for index in 0..size {
        let mut builder = ProofBuilder::<Blake3>::inclusion(index, size).unwrap();
        leaves.iter().for_each(|leaf| builder.push(*leaf));
        let proof = builder.finish().unwrap();
        let leaf = leaves[index as usize];
        assert!(verify_inclusion::<Blake3>(leaf, index, size, &proof, &root));
        for (at, bit) in (0..proof.len()).flat_map(|at| (0..256).map(move |bit| (at, bit))) {
            let mut tampered = proof.clone();
            let bytes = flipped(&Bytes::copy_from_slice(proof[at].as_bytes()), bit);
            tampered[at] = r1_event::Digest::from_slice(&bytes).unwrap();
            assert!(!verify_inclusion::<Blake3>(leaf, index, size, &tampered, &root));
        }
    }
    let mut older = Frontier::<Blake3>::default();
    leaves[..5].iter().for_each(|leaf| older.push(*leaf));
    let mut builder = ProofBuilder::<Blake3>::consistency(5, size).unwrap();
    leaves.iter().for_each(|leaf| builder.push(*leaf));
    let proof = builder.finish().unwrap();
    assert!(verify_consistency::<Blake3>(5, &older.root(), size, &root, &proof));
    for (at, bit) in (0..proof.len()).flat_map(|at| (0..256).map(move |bit| (at, bit))) {
        let mut tampered = proof.clone();
        let bytes = flipped(&Bytes::copy_from_slice(proof[at].as_bytes()), bit);
        tampered[at] = r1_event::Digest::from_slice(&bytes).unwrap();
        assert!(!verify_consistency::<Blake3>(5, &older.root(), size, &root, &tampered));
    }
}

#[test]
fn log_07_dropped_repeated_swapped_and_inserted_events_are_told_apart() {
    let (records, seal) = sealed_log();
    let verdict_on = |records: &[Record]| check(records, options(vec![SideRecord::Seal(seal.clone())]));
    for at in 1..records.len() - 1 {
        let seq = Some(at as u64 + 1);

        let mut dropped = records.clone();
        dropped.remove(at);
        let verdict = verdict_on(&dropped);
        assert!(names(&verdict, "events_missing", seq));
        assert_eq!((verdict.state, &verdict.sealed_by), (State::Complete, &None), "the end is there");
        assert!(!codes(&verdict).iter().any(|code| ["truncated", "rewritten"].contains(code)), "{:?}", codes(&verdict));

        let mut repeated = records.clone();
        repeated.insert(at + 1, records[at].clone());
        assert!(names(&verdict_on(&repeated), "event_repeated", seq));

        let mut swapped = records.clone();
        swapped.swap(at, at + 1);
        let verdict = verdict_on(&swapped);
        assert!(names(&verdict, "event_out_of_order", seq));
        assert!(!codes(&verdict).contains(&"events_missing"));

        let mut inserted = records.clone();
        let mut forged = payloads();
        forged.truncate(at);
        forged.push(crate::sample::side_effect());
        inserted.insert(at + 1, rechained(forged)[at].clone());
        assert!(names(&verdict_on(&inserted), "event_inserted", seq));
    }
}

#[test]
fn log_07_a_truncated_log_says_what_is_gone() {
    let (records, seal) = sealed_log();
    for kept in 1..records.len() {
        let verdict = check(&records[..kept], options(vec![SideRecord::Seal(seal.clone())]));
        assert_eq!(verdict.state, State::Truncated);
        let finding = verdict.findings.iter().find(|finding| finding.code == "truncated").unwrap();
        assert_eq!(finding.seq, Some(kept as u64 + 1));
        assert_eq!(finding.expected.as_deref(), Some("8"));
    }
    // Without a signature an open log and a truncated one look the same, and neither is corrupt.
    let verdict = check(&records[..3], options(Vec::new()));
    assert_eq!((verdict.state, verdict.is_corrupt()), (State::Open, false));
}

#[test]
fn log_07_a_rewritten_log_that_extends_no_checkpoint_says_so() {
    let (_, seal) = sealed_log();
    let (_, early) = log_of(payloads()[..4].to_vec());
    let checkpoint = early.statement().unwrap().sign(&key());

    let mut forged = payloads();
    forged[1] = crate::sample::side_effect();
    let rewritten = rechained(forged);
    assert_eq!(codes(&check(&rewritten, options(Vec::new()))), Vec::<&str>::new(), "the chain itself is sound");

    let verdict = check(&rewritten, options(vec![SideRecord::Checkpoint(checkpoint.clone())]));
    assert_eq!((verdict.findings[0].code, verdict.findings[0].seq), ("rewritten", Some(4)));
    let verdict = check(&rewritten, options(vec![SideRecord::Seal(seal)]));
    assert_eq!((codes(&verdict), verdict.sealed_by), (vec!["rewritten"], None));

    // A change behind the checkpoint extends it, so that it has nothing to object.
    let mut later = payloads();
    later[6] = crate::sample::turn_completed("T1");
    let verdict = check(&rechained(later), options(vec![SideRecord::Checkpoint(checkpoint)]));
    assert_eq!(codes(&verdict), Vec::<&str>::new());
}

#[test]
fn log_07_a_forged_terminal_event_is_found_by_the_seal() {
    let (mut records, seal) = sealed_log();
    let mut forged = payloads();
    let last = forged.len() - 1;
    forged[last] = Payload::RunCompleted(RunCompleted { final_text: "all is well".into(), ..Default::default() });
    records[last] = rechained(forged)[last].clone();
    let unsealed = check(&records, options(Vec::new()));
    assert_eq!(codes(&unsealed), Vec::<&str>::new(), "nothing but a seal covers the terminal event");
    let verdict = check(&records, options(vec![SideRecord::Seal(seal)]));
    assert_eq!(codes(&verdict), ["rewritten"]);
}

#[test]
fn log_07_a_terminal_event_with_a_wrong_root_or_size_is_found() {
    let (records, chain) = log_of(payloads());
    // The right terminal event of a shorter log, moved to the end of this one with a new link.
    let mut shorter = payloads();
    shorter.remove(1);
    let (short, _) = log_of(shorter);
    let moved = short.last().unwrap();
    let header = moved.header().unwrap();
    let last = records.len() - 1;
    let relinked = r1_event::Header {
        seq: chain.next_seq().previous().unwrap(),
        prev_hash: Some(records[last - 1].hash()),
        ..header
    };
    let mut forged = records[..last].to_vec();
    forged.push(Record { header: relinked.encode().into(), payload: moved.payload.clone() });
    let verdict = check(&forged, options(Vec::new()));
    assert_eq!(codes(&verdict), ["merkle_root_mismatch", "log_size_mismatch"]);
}
