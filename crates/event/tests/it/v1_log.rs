//! Whole v1 logs: their bytes, and what is said about them.

use bytes::Bytes;
use r1_event::cbor::Rules;
use r1_event::finding::{Part, State};
use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, PlannedToolUse, RunCancelled, RunCompleted, RunFailed, RunResumed,
    ToolCallCompleted, ToolCallFailed, ToolCallScheduled, TurnStarted, UserMessageAppended,
};
use r1_event::v1::{self, Envelope, Outcome, Validator};
use r1_event::{Batch, Chain, Finding, Payload, Record, UnixNanos, Version};
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
        // An event after the end is an error even where Starling only misses a terminal event.
        let name = text(&run, "name").unwrap();
        let open = text(&run, "error").is_some_and(|error| error.contains("is not terminal"));
        let expected = text(&run, "error").is_some() && !open || name.contains("after_terminal");
        let found = findings.iter().any(|finding| finding.part != Part::Notice);
        assert_eq!(found, expected, "{name} {findings:?}");
    }
}

/// A run of one turn with one call, resumed and answered: `change` gets each payload before it is written.
fn resumed_run(mut change: impl FnMut(usize, &mut Payload)) -> Vec<&'static str> {
    let plan = PlannedToolUse { call_id: "c".into(), tool: "t".into(), ..Default::default() };
    let answer = |turn: &str, text: &str, uses: Option<Vec<PlannedToolUse>>| {
        let hash = Some(Bytes::from_static(&[7; 32]));
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: turn.into(),
            text: text.into(),
            tool_uses: uses,
            input_tokens: 3,
            cost_usd: 0.5,
            raw_response_hash: hash,
            ..Default::default()
        }))
    };
    let turn = |id: &str| Payload::TurnStarted(TurnStarted { turn_id: id.into(), ..Default::default() });
    let call = |id: &str| {
        let (call_id, turn_id, tool) = (id.into(), "T1".into(), "t".into());
        Payload::ToolCallScheduled(ToolCallScheduled { call_id, turn_id, tool, attempt: 1, ..Default::default() })
    };
    let payloads = [
        Payload::RunStarted(Box::default()),
        turn("T1"),
        answer("T1", "", Some(vec![plan])),
        call("c"),
        Payload::RunResumed(RunResumed {
            at_seq: 4,
            pending_calls: 1,
            extra_message: "go".into(),
            ..Default::default()
        }),
        Payload::UserMessageAppended(UserMessageAppended { content: "go".into(), ..Default::default() }),
        call("new"),
        Payload::ToolCallCompleted(ToolCallCompleted { call_id: "new".into(), attempt: 1, ..Default::default() }),
        turn("T2"),
        answer("T2", "done", None),
        Payload::RunCompleted(RunCompleted {
            final_text: "done".into(),
            turn_count: 2,
            tool_call_count: 2,
            total_cost_usd: 1.0,
            total_input_tokens: 6,
            ..Default::default()
        }),
    ];
    let mut batch = Batch::new(&Chain::empty("r".parse().unwrap(), Version::V1));
    for (index, mut payload) in payloads.into_iter().enumerate() {
        change(index, &mut payload);
        batch.push_v1(UnixNanos(i64::try_from(index).unwrap()), payload).unwrap();
    }
    let (outcome, findings) = validate(batch.records());
    assert_eq!(outcome.compat.rejection, None);
    notices(&findings)
}

#[test]
fn log_02_a_forged_seam_is_named() {
    assert_eq!(resumed_run(|_, _| {}), Vec::<&str>::new());
    let seam = |change: fn(&mut RunResumed)| {
        resumed_run(|_, payload| {
            if let Payload::RunResumed(seam) = payload {
                change(seam);
            }
        })
    };
    assert_eq!(seam(|seam| seam.at_seq = 3), ["resume_at_seq"]);
    assert_eq!(seam(|seam| seam.pending_calls = 0), ["resume_pending_calls"]);
    assert_eq!(seam(|seam| seam.pending_calls = 2), ["resume_pending_calls"]);
    assert_eq!(seam(|seam| seam.extra_message = "stop".into()), ["resume_message"]);
}

#[test]
fn log_02_a_forged_call_or_terminal_is_named() {
    let call = |at: usize, change: fn(&mut ToolCallScheduled)| {
        resumed_run(|index, payload| match payload {
            Payload::ToolCallScheduled(call) if index == at => change(call),
            _ => {}
        })
    };
    assert_eq!(call(3, |call| call.tool = "rm".into()), ["call_differs_from_plan", "unplanned_call"]);
    assert_eq!(call(6, |call| call.tool = "rm".into()), ["unplanned_call"]);
    assert_eq!(call(6, |call| call.turn_id = "T0".into()), ["call_turn_mismatch"]);
    let terminal = |change: fn(&mut RunCompleted)| {
        resumed_run(|_, payload| {
            if let Payload::RunCompleted(terminal) = payload {
                change(terminal);
            }
        })
    };
    assert_eq!(terminal(|end| end.final_text = "else".into()), ["terminal_final_text"]);
    assert_eq!(terminal(|end| end.turn_count = 1), ["terminal_turn_count"]);
    assert_eq!(terminal(|end| end.tool_call_count = 1), ["terminal_tool_call_count"]);
    assert_eq!(terminal(|end| end.total_cost_usd = 1.1), ["terminal_cost"]);
    assert_eq!(terminal(|end| end.total_input_tokens = 5), ["terminal_input_tokens"]);
    assert_eq!(terminal(|end| end.total_output_tokens = 5), ["terminal_output_tokens"]);
    assert_eq!(terminal(|end| end.duration_ms = 5_000), ["terminal_duration"]);
    let failed = resumed_run(|_, payload| {
        if matches!(payload, Payload::RunCompleted(_)) {
            *payload = Payload::RunFailed(RunFailed { error_type: "tool".into(), ..Default::default() });
        }
    });
    assert_eq!(failed, ["terminal_cause", "terminal_cause"]);
}

/// A log of these payloads, dated as told; a terminal event gets its root. Starling accepts it.
fn notices_on(events: impl IntoIterator<Item = (i64, Payload)>) -> Vec<&'static str> {
    let mut batch = Batch::new(&Chain::empty("r".parse().unwrap(), Version::V1));
    batch.push_v1(UnixNanos(0), Payload::RunStarted(Box::default())).unwrap();
    for (ts, payload) in events {
        batch.push_v1(UnixNanos(ts), payload).unwrap();
    }
    let (outcome, findings) = validate(batch.records());
    assert_eq!(outcome.compat.rejection, None);
    notices(&findings)
}

fn at_once(payloads: impl IntoIterator<Item = Payload>) -> Vec<&'static str> {
    notices_on(payloads.into_iter().map(|payload| (0, payload)))
}

fn turn(id: &str) -> Payload {
    Payload::TurnStarted(TurnStarted { turn_id: id.into(), ..Default::default() })
}

fn answer(turn: &str, calls: &[&str]) -> Payload {
    let plan = |id: &&str| PlannedToolUse { call_id: (*id).into(), tool: "t".into(), ..Default::default() };
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: turn.into(),
        tool_uses: (!calls.is_empty()).then(|| calls.iter().map(plan).collect()),
        raw_response_hash: Some(Bytes::from_static(&[7; 32])),
        ..Default::default()
    }))
}

fn call(id: &str) -> Payload {
    let (call_id, turn_id, tool) = (id.into(), "T".into(), "t".into());
    Payload::ToolCallScheduled(ToolCallScheduled { call_id, turn_id, tool, attempt: 1, ..Default::default() })
}

fn call_failed(id: &str, error: &str) -> ToolCallFailed {
    let (call_id, error, error_type) = (id.into(), error.into(), "tool".into());
    ToolCallFailed { call_id, error, error_type, attempt: 1, r#final: true, ..Default::default() }
}

fn over_budget(turn: &str) -> BudgetExceeded {
    let (limit, r#where, turn_id) = ("usd".into(), "mid_stream".into(), turn.into());
    BudgetExceeded { limit, r#where, turn_id, cap: 1.0, actual: 1.5, ..Default::default() }
}

fn run_failed(error_type: &str, error: &str) -> Payload {
    Payload::RunFailed(RunFailed { error_type: error_type.into(), error: error.into(), ..Default::default() })
}

fn run_completed(turn_count: u32) -> Payload {
    Payload::RunCompleted(RunCompleted { turn_count, ..Default::default() })
}

const NONE: [&str; 0] = [];

#[test]
fn log_02_an_answer_or_a_budget_outside_of_any_turn_is_named() {
    assert_eq!(at_once([turn("T"), answer("T", &[]), run_completed(1)]), NONE);
    assert_eq!(at_once([answer("", &[]), run_completed(0)]), ["answer_outside_turn"]);
    let exceeded = |turn| Payload::BudgetExceeded(over_budget(turn));
    assert_eq!(at_once([turn("T"), exceeded("T"), run_failed("budget", "x")]), NONE);
    assert_eq!(at_once([exceeded(""), run_failed("budget", "x")]), NONE);
    assert_eq!(at_once([exceeded("T"), run_failed("budget", "x")]), ["budget_outside_turn"]);
}

#[test]
fn log_02_a_run_that_ignores_its_budget_is_named() {
    let exceeded = || Payload::BudgetExceeded(over_budget(""));
    assert_eq!(at_once([exceeded(), turn("T"), answer("T", &[]), run_completed(1)]), ["budget_ignored"]);
    assert_eq!(at_once([exceeded(), run_completed(0)]), ["terminal_cause"]);
    assert_eq!(at_once([exceeded(), run_failed("internal", "x")]), ["terminal_cause"]);
    let stopped = Payload::RunCancelled(RunCancelled { reason: "context_canceled".into(), ..Default::default() });
    assert_eq!(at_once([exceeded(), stopped]), ["terminal_cause"]);
    let resumed = Payload::RunResumed(RunResumed { at_seq: 2, ..Default::default() });
    assert_eq!(at_once([exceeded(), resumed, turn("T"), answer("T", &[]), run_completed(1)]), NONE);
    assert_eq!(at_once([exceeded(), turn("T"), run_failed("budget", "x")]), ["budget_ignored", "terminal_cause"]);
}

#[test]
fn log_02_words_and_numbers_that_starling_never_writes_are_named() {
    let exceeded = |change: fn(&mut BudgetExceeded)| {
        let mut budget = over_budget("");
        change(&mut budget);
        at_once([Payload::BudgetExceeded(budget), run_failed("budget", "x")])
    };
    assert_eq!(exceeded(|budget| budget.limit = "patience".into()), ["budget_limit"]);
    assert_eq!(exceeded(|budget| budget.r#where = "post_call".into()), ["budget_where"]);
    assert_eq!(exceeded(|budget| budget.actual = 0.5), ["budget_not_exceeded"]);
    assert_eq!(exceeded(|budget| budget.actual = budget.cap), NONE);
    let by_the_clock = |budget: &mut BudgetExceeded| (budget.limit, budget.actual) = ("wall_clock".into(), 0.5);
    assert_eq!(exceeded(by_the_clock), NONE);

    let failed = |change: fn(&mut ToolCallFailed)| {
        let mut outcome = call_failed("c", "no");
        change(&mut outcome);
        let outcome = Payload::ToolCallFailed(outcome);
        at_once([turn("T"), answer("T", &["c"]), call("c"), outcome, run_failed("tool", "t: no")])
    };
    assert_eq!(failed(|_| {}), NONE);
    assert_eq!(failed(|outcome| outcome.error_type = "timeout".into()), ["call_error_type"]);
    assert_eq!(failed(|outcome| outcome.duration_ms = -1), ["call_duration"]);
}

#[test]
fn log_02_a_failure_that_does_not_name_the_call_that_failed_is_named() {
    let ends = |outcomes: &[Payload], end: Payload| {
        let begin = [turn("T"), answer("T", &["a", "b"]), call("a"), call("b")];
        at_once(begin.into_iter().chain(outcomes.iter().cloned()).chain([end]))
    };
    let failed = |id, error| Payload::ToolCallFailed(call_failed(id, error));
    let done = |id: &str| {
        Payload::ToolCallCompleted(ToolCallCompleted { call_id: id.into(), attempt: 1, ..Default::default() })
    };
    for outcomes in [[failed("a", "no host"), done("b")], [done("a"), failed("b", "no host")]] {
        assert_eq!(ends(&outcomes, run_failed("tool", "tool t: no host")), NONE);
        assert_eq!(ends(&outcomes, run_failed("tool", "refused")), ["terminal_error"]);
        assert_eq!(ends(&outcomes, run_failed("provider", "refused")), ["terminal_error", "terminal_cause"]);
        assert_eq!(ends(&outcomes, run_failed("internal", "tool t: no host")), ["terminal_cause"]);
        assert_eq!(ends(&outcomes, run_failed("budget", "tool t: no host")), NONE, "of an agent inside the tool");
    }
    // Of two calls the one without an outcome may be what the run failed for.
    assert_eq!(ends(&[failed("a", "no host")], run_failed("tool", "encode result")), ["call_left_open"]);
    assert_eq!(ends(&[done("a")], run_failed("tool", "encode result")), ["call_left_open"]);
    assert_eq!(ends(&[done("a"), done("b")], run_failed("tool", "x")), ["terminal_cause"]);
}

#[test]
fn log_02_a_terminal_event_dated_apart_from_its_duration_is_named() {
    const SECOND: i64 = 1_000_000_000;
    let lasted = |ts, ms| {
        let end = RunCompleted { turn_count: 1, duration_ms: ms, ..Default::default() };
        notices_on([(0, turn("T")), (0, answer("T", &[])), (ts, Payload::RunCompleted(end))])
    };
    assert_eq!(lasted(11 * 86_400 * SECOND, 0), ["terminal_duration"]);
    assert_eq!(lasted(3 * SECOND, 1_500), ["terminal_duration"]);
    assert_eq!(lasted(SECOND, -1), ["terminal_duration"]);
    // Reading the log again for its root takes time, too.
    for (ts, ms) in [(SECOND, 0), (3 * SECOND, 2_000), (100 * SECOND, 90_000), (SECOND / 2, 1_400)] {
        assert_eq!(lasted(ts, ms), NONE, "{ts} {ms}");
    }
    // Whoever resumes a run times only what he did himself.
    let resumed = |ms| {
        let end = RunCompleted { turn_count: 1, duration_ms: ms, ..Default::default() };
        let seam = Payload::RunResumed(RunResumed { at_seq: 1, ..Default::default() });
        let (day, later) = (86_400 * SECOND, 86_410 * SECOND);
        notices_on([(day, seam), (day, turn("T")), (later, answer("T", &[])), (later, Payload::RunCompleted(end))])
    };
    assert_eq!(resumed(10_000), NONE);
    assert_eq!(resumed(86_410_000), NONE);
    assert_eq!(resumed(100), ["terminal_duration"]);
}

#[test]
fn log_02_an_array_beyond_the_readers_limit_is_refused_and_one_at_it_is_not() {
    for len in [131_072, 131_073] {
        let mut chain = Batch::new(&Chain::empty("r".parse().unwrap(), Version::V1));
        chain.push_v1(UnixNanos(1), Payload::RunStarted(Box::default())).unwrap();
        let result = Bytes::from([&[0x9a, 0, 2, 0, u8::from(len > 131_072)][..], &vec![0; len]].concat());
        let call = [&b"\xa4\x66result"[..], &result, b"\x67attempt\x01\x67call_id\x61c\x6bduration_ms\x00"].concat();
        let head = chain.after().head();
        let header = v1::Header {
            run_id: "r",
            seq: 2,
            ts: 2,
            kind: 7,
            prev_hash: head.as_ref().map(|head| &head.as_bytes()[..]),
        };
        let record = Record { header: header.encode().into(), payload: Some(call.into()) };
        let (_, findings) = validate(chain.records().iter().chain([&record]));
        let unreadable = findings.iter().any(|finding| finding.code == "decode");
        assert_eq!(unreadable, len > 131_072);
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
        assert!(!notices(&findings).is_empty(), "{name}");
    }
}

#[test]
fn log_02_no_strict_finding_on_what_starlings_agent_wrote() {
    for run in load("runs.json") {
        let (_, findings) = validate(&records(&run));
        if text(&run, "made_by") == Some("agent") {
            assert_eq!(notices(&findings), Vec::<&str>::new(), "{} {findings:#?}", run["name"]);
        }
    }
}
