//! Payloads that are gone, and who says why.

use r1_event::cbor::Value;
use r1_event::finding::{Integrity, State};
use r1_event::payload::Payload;
use r1_event::side_record::{Erase, EventRef};
use r1_event::validate::{Elsewhere, Options, Redaction};
use r1_event::{Digest, Record, RunId, Seq, SideRecord, UnixNanos, Version, projection};

use crate::sample::{check, codes, completed, finished, key, log_of, options, scheduled, started, typed};

fn redaction(sequences: &[u64]) -> Payload {
    let sequences = sequences.iter().copied().map(Value::Uint).collect();
    typed(
        "redaction.applied",
        Value::object([
            ("run_id", Value::text(crate::sample::RUN)),
            ("sequences", Value::Array(sequences)),
            ("by", Value::text("operator")),
            ("reason", Value::text("a token was printed")),
        ]),
    )
}

fn erase(record: &Record, redaction: &Record) -> Erase {
    let (header, names) = (record.header().unwrap(), redaction.header().unwrap());
    Erase {
        run_id: header.run_id.parse().unwrap(),
        seq: header.seq,
        type_name: projection::type_of(Version::V2, header.kind, record.payload.as_ref()).into_owned(),
        turn_id: None,
        call_id: Some("c1".into()),
        attempt: Some(1),
        context: None,
        redaction: EventRef {
            run_id: names.run_id.parse().unwrap(),
            seq: names.seq,
            ts: names.ts,
            hash: redaction.hash(),
        },
    }
}

#[test]
fn log_15_an_erased_payload_needs_a_redaction_event_that_names_it() {
    let (records, chain) = log_of(vec![started(), scheduled("c1", 1), completed("c1", 1), redaction(&[1]), finished()]);
    let seal = SideRecord::Seal(chain.statement().unwrap().sign(&key()));
    let mut erased = records.clone();
    erased[1].payload = None;

    let record = SideRecord::Erase(erase(&records[1], &records[3]));
    let verdict = check(&erased, options(vec![record, seal.clone()]));
    assert_eq!(codes(&verdict), Vec::<&str>::new(), "chain, pairing, root and seal hold without the content");
    assert!(verdict.sealed_by.is_some());

    let no_record = check(&erased, options(vec![seal]));
    assert_eq!(no_record.findings[0].code, "payload_missing");

    let wrong_event = SideRecord::Erase(erase(&records[1], &records[2]));
    assert_eq!(codes(&check(&erased, options(vec![wrong_event]))), ["redaction_missing"]);

    let mut other = records.clone();
    other[2].payload = None;
    let unnamed = SideRecord::Erase(erase(&records[2], &records[3]));
    assert_eq!(codes(&check(&other, options(vec![unnamed]))), ["redaction_missing"]);
}

/// The same erase record, naming an event of another run.
fn elsewhere(erase: Erase) -> Erase {
    let run_id: RunId = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C".parse().unwrap();
    let redaction = EventRef { run_id, seq: Seq::new(2).unwrap(), ts: UnixNanos(5), hash: Digest::new([1; 32]) };
    Erase { redaction, ..erase }
}

#[test]
fn log_15_what_a_verdict_rests_on_cannot_be_erased() {
    let gate = || typed("gate.decision", Value::object([("gate", Value::text("tests"))]));
    let (records, _) = log_of(vec![started(), gate(), redaction(&[1, 2, 3]), finished()]);
    for at in [1, 2, 3] {
        let mut erased = records.clone();
        erased[at].payload = None;
        for record in [erase(&records[at], &records[2]), elsewhere(erase(&records[at], &records[2]))] {
            let verdict = check(&erased, options(vec![SideRecord::Erase(record)]));
            assert!(codes(&verdict).contains(&"erasure_forbidden"), "{at}: {:?}", codes(&verdict));
            assert_eq!((verdict.integrity, verdict.is_corrupt()), (Integrity::Broken, true));
        }
    }
}

#[test]
fn log_15_an_erase_record_cannot_turn_an_event_into_one_of_another_type() {
    let (records, _) = log_of(vec![started(), scheduled("c1", 1), completed("c1", 1), redaction(&[1]), finished()]);
    let mut erased = records.clone();
    erased[1].payload = None;
    for type_name in ["tool.completed", "run.started", "external.build"] {
        let record = Erase { type_name: type_name.into(), ..erase(&records[1], &records[3]) };
        assert_eq!(codes(&check(&erased, options(vec![SideRecord::Erase(record)]))), ["erasure_of_other_type"]);
    }
}

#[test]
fn log_15_only_a_finished_run_is_redacted_from_elsewhere() {
    let (records, _) = log_of(vec![started(), scheduled("c1", 1), completed("c1", 1), finished()]);
    let mut erased = records.clone();
    erased[1].payload = None;
    let record = elsewhere(erase(&records[1], &records[2]));
    let EventRef { run_id, seq, ts, hash } = record.redaction.clone();
    let said = Redaction { hash, ts, run_id: crate::sample::RUN.into(), sequences: vec![1] };
    let found = |found: Elsewhere| Options {
        redactions: [((run_id.to_string(), seq.get()), found)].into(),
        ..options(vec![SideRecord::Erase(record.clone())])
    };
    let known = || found(Elsewhere::Redaction(said.clone()));
    assert_eq!(codes(&check(&erased, known())), Vec::<&str>::new());
    let says_something_else = check(&erased, found(Elsewhere::Nothing));
    assert_eq!((codes(&says_something_else), says_something_else.is_corrupt()), (vec!["redaction_missing"], true));
    let not_looked_at = check(&erased, options(vec![SideRecord::Erase(record.clone())]));
    assert_eq!((codes(&not_looked_at), not_looked_at.is_corrupt()), (vec!["redaction_elsewhere"], false));

    let Options { side_records, mut redactions, .. } = known();
    redactions.values_mut().for_each(|said| {
        if let Elsewhere::Redaction(said) = said {
            said.ts.0 += 1;
        }
    });
    let other_time = check(&erased, Options { redactions, ..options(side_records) });
    assert_eq!((codes(&other_time), other_time.is_corrupt()), (vec!["redaction_missing"], true));

    let open = check(&erased[..3], known());
    assert_eq!((codes(&open), open.state, open.is_corrupt()), (vec!["redaction_missing"], State::Open, true));
    let open = check(&erased[..3], options(vec![SideRecord::Erase(record.clone())]));
    assert_eq!((codes(&open), open.is_corrupt()), (vec!["redaction_missing"], true));
}
