//! Logs with more to say about them than anyone would read.

use r1_event::cbor::Value;
use r1_event::finding::{Integrity, Part, State, Verdict};
use r1_event::payload::{Payload, RunStarted, ToolCallCompleted, UserMessageAppended};
use r1_event::validate::Validator;
use r1_event::{Batch, Chain, Record, UnixNanos, Version};

use crate::sample::{check, completed, finished, log_of, options, payloads, scheduled, started, typed};

/// More than the findings of one part that a verdict lists.
const MANY: usize = 10_050;
const LISTED: usize = 10_000;

fn unknown() -> Payload {
    Payload::Other(99, Value::object([("x", Value::Uint(1))]).encode().into())
}

fn count(verdict: &Verdict, code: &str) -> usize {
    verdict.findings.iter().filter(|finding| finding.code == code).count()
}

fn on_threads(records: &[Record]) -> Verdict {
    let pages = records.chunks(512).map(|page| Ok::<_, std::convert::Infallible>(page.to_vec()));
    Validator::new(options(Vec::new())).run(pages, 3).unwrap()
}

#[test]
fn log_09_ten_times_ten_thousand_errors_cost_bounded_memory() {
    let (records, _) = log_of(payloads());
    let mut validator = Validator::new(options(Vec::new()));
    for _ in 0..100_000 {
        validator.push(&records[1]);
    }
    let verdict = validator.finish();
    let of_integrity = verdict.findings.iter().filter(|finding| finding.part == Part::Integrity);
    assert_eq!(of_integrity.count(), LISTED + 1);
    let last = verdict.findings.last().unwrap();
    assert_eq!((last.code, last.part, last.seq), ("more_findings", Part::Integrity, None));
}

#[test]
fn log_09_no_number_of_notices_hides_an_error() {
    let mut all = vec![started()];
    all.extend(std::iter::repeat_n(unknown(), MANY));
    all.extend([scheduled("c1", 1), completed("c2", 1), finished()]);
    let (mut records, _) = log_of(all);
    let verdict = check(&records, options(Vec::new()));
    assert_eq!((verdict.integrity, verdict.state, verdict.is_corrupt()), (Integrity::Ok, State::Complete, true));
    for code in ["call_not_open", "call_never_ended"] {
        assert_eq!(count(&verdict, code), 1, "{code}");
    }
    assert_eq!(count(&verdict, "kind_unknown"), LISTED);
    let more = verdict.findings.last().unwrap();
    assert_eq!((more.code, more.part), ("more_findings", Part::Notice));
    assert!(more.message.contains("50"), "{}", more.message);
    let places: Vec<_> = verdict.findings.iter().map(|finding| finding.seq.unwrap_or(u64::MAX)).collect();
    assert!(places.is_sorted(), "in seq order, whatever was kept");
    assert_eq!(on_threads(&records), verdict);

    records[MANY + 2].payload = None;
    let verdict = check(&records, options(Vec::new()));
    assert_eq!((verdict.integrity, count(&verdict, "payload_missing")), (Integrity::Broken, 1));
}

#[test]
fn log_09_no_number_of_recorded_mishaps_hides_a_broken_chain() {
    let recorded = RunStarted { run_kind: Some("recorded".into()), ..RunStarted::default() };
    let mut all = vec![Payload::RunStarted(Box::new(recorded))];
    all.extend(std::iter::repeat_n(completed("nobody", 1), MANY));
    all.push(typed("a.b", Value::object::<&str>([])));
    let (mut records, _) = log_of(all);
    let verdict = check(&records, options(Vec::new()));
    assert_eq!((verdict.is_corrupt(), count(&verdict, "call_not_open")), (false, LISTED));
    let more = verdict.findings.last().unwrap();
    assert_eq!((more.code, more.part), ("more_findings", Part::Structure));
    records[MANY + 1].payload = None;
    let verdict = check(&records, options(Vec::new()));
    assert_eq!((verdict.is_corrupt(), count(&verdict, "payload_missing")), (true, 1));
}

#[test]
fn log_09_no_number_of_notices_hides_an_error_of_an_open_v1_log() {
    let mut batch = Batch::new(&Chain::empty("r".parse().unwrap(), Version::V1));
    batch.push_v1(UnixNanos(0), Payload::RunStarted(Box::default())).unwrap();
    for backwards in 1..=i64::try_from(MANY).unwrap() {
        let said = Payload::UserMessageAppended(UserMessageAppended::default());
        batch.push_v1(UnixNanos(-backwards), said).unwrap();
    }
    let before = batch.records().to_vec();
    let sound = check(&before, options(Vec::new()));
    assert_eq!((sound.state, sound.is_corrupt()), (State::Open, false));
    let ended = ToolCallCompleted { call_id: "nobody".into(), attempt: 1, ..ToolCallCompleted::default() };
    batch.push_v1(UnixNanos(0), Payload::ToolCallCompleted(ended)).unwrap();
    let verdict = check(batch.records(), options(Vec::new()));
    assert!(verdict.is_corrupt(), "an outcome without a schedule is an error however much there is to notice");
    assert_eq!(verdict.findings.iter().filter(|finding| finding.part == Part::Structure).count(), 1);
    assert_eq!(on_threads(batch.records()), verdict);
}

#[test]
fn log_09_a_log_of_gaps_costs_bounded_memory() {
    let mut all = vec![started()];
    all.extend(std::iter::repeat_n(unknown(), 3 * MANY));
    let (records, _) = log_of(all);
    let every_other: Vec<_> = records.into_iter().step_by(2).collect();
    let verdict = check(&every_other, options(Vec::new()));
    assert_eq!((verdict.integrity, count(&verdict, "events_missing")), (Integrity::Broken, LISTED));
    let first = verdict.findings.iter().find(|finding| finding.code == "events_missing").unwrap();
    assert_eq!(first.seq, Some(2));

    // One gap that late events cut into ever more pieces.
    let last = every_other.last().unwrap().clone();
    let mut cut: Vec<_> = vec![every_other[0].clone(), last];
    cut.extend_from_slice(&every_other[1..every_other.len() - 1]);
    let verdict = check(&cut, options(Vec::new()));
    assert_eq!((count(&verdict, "events_missing") + count(&verdict, "event_out_of_order")), LISTED);
}
