//! Whole v1 logs: their bytes, and what is said about them.

use bytes::Bytes;
use r1_event::cbor::Rules;
use r1_event::finding::{Part, State};
use r1_event::v1::{self, Envelope, Outcome, Validator};
use r1_event::{Finding, Record};
use serde_json::Value;

use crate::v1_fixtures::{digest, hex, load, record, text};

fn validate<'a>(records: impl IntoIterator<Item = &'a Record>) -> (Outcome, Vec<Finding>) {
    let (mut validator, mut findings) = (Validator::default(), Vec::new());
    for record in records {
        validator.check(record, &mut findings).unwrap();
    }
    let outcome = validator.finish(&mut findings);
    (outcome, findings)
}

fn records(run: &Value) -> Vec<Record> {
    let events = run["events"].as_array().unwrap();
    match events.first() {
        Some(Value::Array(_)) => events.iter().map(record).collect(),
        _ => {
            events.iter().map(|event| Envelope::decode(&hex(&event["cbor"]), Rules::WRITABLE).unwrap().record).collect()
        }
    }
}

/// What both sides have to say: all of it, or up to the words of Starling's CBOR library.
fn comparable(error: &str) -> &str {
    error.find("cbor:").map_or(error, |at| &error[..at + "cbor:".len()])
}

fn assert_compat(run: &Value, outcome: &Outcome) {
    let ours = outcome.compat.rejection.as_ref().map(|rejection| rejection.message.as_str());
    assert_eq!(ours, text(run, "error").map(comparable), "{}", run["name"]);
}

fn notices(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().filter(|finding| finding.part == Part::Notice).map(|finding| finding.code).collect()
}

#[test]
fn log_01_every_event_of_every_run_has_starlings_bytes_and_hash() {
    for run in load("runs.json") {
        for event in run["events"].as_array().unwrap() {
            let bytes = hex(&event["cbor"]);
            let envelope = Envelope::decode(&bytes, Rules::WRITABLE).unwrap();
            assert!(envelope.canonical, "{}", run["name"]);
            let Record { header, payload } = &envelope.record;
            assert_eq!(v1::splice(header, payload.as_deref()), bytes, "{}", run["name"]);
            assert_eq!(envelope.record.hash(), digest(&event["hash"]));
            assert_eq!(v1::examine(&envelope.record).unwrap().hash(), Some(digest(&event["hash"])));
        }
    }
}

#[test]
fn log_01_a_run_as_a_cbor_sequence_is_read_event_by_event() {
    for run in load("runs.json") {
        let events: Vec<Bytes> = run["events"].as_array().unwrap().iter().map(|event| hex(&event["cbor"])).collect();
        let sequence = Bytes::from(events.concat());
        let read: Vec<_> =
            Envelope::sequence(sequence.clone(), Rules::WRITABLE).map(|event| event.unwrap().record).collect();
        assert_eq!(read, records(&run), "{}", run["name"]);
        let cut = Envelope::sequence(sequence.slice(..sequence.len() - 1), Rules::WRITABLE);
        assert_eq!(
            cut.map(|event| event.is_ok()).collect::<Vec<_>>(),
            [vec![true; events.len() - 1], vec![false]].concat()
        );
    }
}

#[test]
fn log_01_roots_are_starlings() {
    for run in load("runs.json") {
        let (outcome, _) = validate(&records(&run));
        let expected = if outcome.state == State::Open { &run["root_all"] } else { &run["root"] };
        assert_eq!(outcome.merkle_root, digest(expected), "{}", run["name"]);
        assert_eq!(outcome.head_hash, Some(digest(&run["events"].as_array().unwrap().last().unwrap()["hash"])));
    }
}

#[test]
fn log_02_the_compat_verdict_is_starlings_on_every_run() {
    for run in load("runs.json") {
        let (outcome, _) = validate(&records(&run));
        assert_compat(&run, &outcome);
        assert_eq!(outcome.schema_version, Some(1));
    }
}

#[test]
fn log_02_the_compat_verdict_is_starlings_on_every_corrupt_log() {
    for run in load("corrupt.json") {
        let records = records(&run);
        for (event, record) in run["events"].as_array().unwrap().iter().zip(&records) {
            if !event[6].is_null() {
                assert_eq!(record.hash(), digest(&event[6]), "{}", run["name"]);
            }
        }
        let (outcome, findings) = validate(&records);
        assert_compat(&run, &outcome);
        let errors = findings.iter().filter(|finding| finding.part != Part::Notice).count();
        assert_eq!(
            errors > 0,
            text(&run, "error").is_some_and(|error| !error.contains("is not terminal"))
                || text(&run, "name") == Some("c21_event_after_terminal"),
            "{} {findings:?}",
            run["name"]
        );
    }
}

#[test]
fn log_02_strict_findings_name_each_tampering_that_starling_accepts() {
    for run in load("corrupt.json") {
        let name = text(&run, "name").unwrap();
        // A log that was rewritten as a whole is sound in itself: only a seal can tell.
        if text(&run, "error").is_some() || name == "c66_full_rewrite_accepted" {
            continue;
        }
        let (_, findings) = validate(&records(&run));
        println!("{name} {:?}", notices(&findings));
        assert!(!notices(&findings).is_empty(), "{name}");
    }
}

#[test]
fn log_02_no_strict_finding_on_what_starlings_agent_wrote() {
    for run in load("runs.json") {
        let (_, findings) = validate(&records(&run));
        println!("{} {:?}", run["name"], notices(&findings));
        if text(&run, "made_by") == Some("agent") {
            assert_eq!(notices(&findings), Vec::<&str>::new(), "{} {findings:#?}", run["name"]);
        }
    }
}
