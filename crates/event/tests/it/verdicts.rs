//! The three parts of a verdict: integrity, structure, state.

use r1_event::cbor::Value;
use r1_event::finding::{Integrity, Part, State};
use r1_event::payload::{BudgetExceeded, Payload, RunCancelled, RunFailed, RunResumed, RunStarted, TurnFailed};
use r1_event::side_record::{Prune, RunContext, Trees};
use r1_event::validate::{Ending, Options, Standing, Validator};
use r1_event::{Batch, Chain, Kind, Record, Seq, SideRecord, UnixNanos, Version};

use crate::sample::{
    check, codes, completed, finished, key, log_of, options, payloads, scheduled, sealed_log, started, turn_completed,
    turn_started, typed,
};

fn codes_of(payloads: Vec<Payload>) -> Vec<&'static str> {
    codes(&check(&log_of(payloads).0, options(Vec::new())))
}

#[test]
fn log_09_open_complete_and_truncated_are_told_apart() {
    let (records, seal) = sealed_log();
    let sealed = check(&records, options(vec![SideRecord::Seal(seal.clone())]));
    assert_eq!((sealed.state, sealed.integrity, sealed.is_corrupt()), (State::Complete, Integrity::Ok, false));
    assert_eq!(sealed.sealed_by, Some(seal.key_id));
    assert_eq!(sealed.events, 8);

    let unsealed = check(&records, options(Vec::new()));
    assert_eq!((unsealed.state, unsealed.sealed_by), (State::Complete, None));

    let open = check(&records[..7], options(Vec::new()));
    assert_eq!((open.state, open.is_corrupt()), (State::Open, false));

    let mut validator = Validator::new(options(Vec::new()));
    records[..7].iter().for_each(|record| validator.push(record));
    let torn = validator.finish_with(Ending::Torn { offset: 1234 });
    assert_eq!((torn.state, torn.is_corrupt(), codes(&torn)), (State::Truncated, true, vec!["torn"]));

    let nothing = check(&[], options(Vec::new()));
    assert_eq!((nothing.is_corrupt(), codes(&nothing)), (true, vec!["no_events"]));
}

#[test]
fn log_09_an_empty_log_is_refused_in_starlings_words() {
    let verdict = check(&[], Options::default());
    assert_eq!((verdict.integrity, verdict.state, verdict.events), (Integrity::Broken, State::Open, 0));
    let rejection = verdict.compat.unwrap().rejection.unwrap();
    assert_eq!((rejection.code, rejection.index, rejection.seq), ("no_events", None, None));
    assert_eq!(rejection.message, "eventlog: log failed validation: no events");
}

#[test]
fn log_09_an_empty_log_beside_a_seal_is_truncated() {
    let (_, seal) = sealed_log();
    let verdict = check(&[], options(vec![SideRecord::Seal(seal)]));
    assert_eq!((verdict.integrity, verdict.state, &verdict.compat), (Integrity::Broken, State::Truncated, &None));
    assert_eq!((codes(&verdict), verdict.run_id.as_str()), (vec!["truncated", "no_events"], crate::sample::RUN));
}

#[test]
fn log_09_a_log_that_is_known_to_have_ended_is_truncated_without_its_end() {
    let (records, _) = log_of(payloads());
    let standing = |version, terminal| Options {
        standing: Some(Standing { run_id: crate::sample::RUN.into(), version, terminal }),
        ..Options::default()
    };
    let ended = || standing(Version::V2, Some(Kind::RunCompleted));
    let whole = check(&records, ended());
    assert_eq!((whole.state, codes(&whole)), (State::Complete, Vec::new()));
    let cut = check(&records[..7], ended());
    assert_eq!((cut.state, cut.is_corrupt(), codes(&cut)), (State::Truncated, true, vec!["truncated"]));
    assert_eq!(cut.findings[0].seq, Some(8));
    let gone = check(&[], ended());
    assert_eq!((gone.state, codes(&gone)), (State::Truncated, vec!["truncated", "no_events"]));
    assert_eq!((gone.run_id.as_str(), &gone.compat), (crate::sample::RUN, &None));
    let open = check(&records[..7], standing(Version::V2, None));
    assert_eq!((open.state, codes(&open)), (State::Open, Vec::new()));

    let mut v1 = Batch::new(&Chain::empty("r".parse().unwrap(), Version::V1));
    v1.push_v1(UnixNanos(1), Payload::RunStarted(Box::default())).unwrap();
    let of_v1 = Standing { run_id: "r".into(), version: Version::V1, terminal: Some(Kind::RunFailed) };
    let cut = check(v1.records(), Options { standing: Some(of_v1), ..Options::default() });
    assert_eq!((cut.state, cut.is_corrupt(), codes(&cut)), (State::Truncated, true, vec!["truncated"]));
}

#[test]
fn a_log_that_is_not_what_its_keeper_noted_is_broken() {
    let (records, _) = log_of(payloads());
    let noted =
        Standing { run_id: crate::sample::RUN.into(), version: Version::V2, terminal: Some(Kind::RunCompleted) };
    let other = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C".to_owned();
    for (standing, code) in [
        (Standing { run_id: other, ..noted.clone() }, "run_id_mismatch"),
        (Standing { version: Version::V1, ..noted.clone() }, "schema_version_mismatch"),
        (Standing { terminal: Some(Kind::RunFailed), ..noted.clone() }, "terminal_mismatch"),
    ] {
        let verdict = check(&records, Options { standing: Some(standing.clone()), ..Options::default() });
        assert_eq!((codes(&verdict), verdict.integrity), (vec![code], Integrity::Broken));
        assert_eq!(verdict.run_id, standing.run_id, "it is the run that was asked for");
    }
    // It may have ended since.
    let open = Standing { terminal: None, ..noted };
    assert_eq!(codes(&check(&records, Options { standing: Some(open), ..Options::default() })), Vec::<&str>::new());
}

#[test]
fn log_09_what_follows_a_terminal_event_does_not_open_the_run_again() {
    let (mut records, chain) = log_of(payloads());
    let late = crate::sample::side_effect().encode();
    let header = r1_event::Header {
        run_id: crate::sample::RUN,
        seq: chain.next_seq(),
        prev_hash: chain.head(),
        ts: UnixNanos(1_777_000_001_000_000_000),
        kind: Kind::SideEffectRecorded,
        payload_hash: r1_event::Digest::blake3(&late),
        payload_size: late.len() as u64,
    };
    records.push(Record { header: header.encode().into(), payload: Some(late) });
    let verdict = check(&records, options(Vec::new()));
    assert_eq!(
        (verdict.state, verdict.is_corrupt(), codes(&verdict)),
        (State::Complete, true, vec!["event_after_terminal"])
    );
}

#[test]
fn log_09_a_log_names_its_run() {
    let of_run = |run: &str| {
        let (records, _) = log_of(payloads());
        let mut named: Vec<Record> = Vec::new();
        for record in &records[..7] {
            let prev_hash = named.last().map(Record::hash);
            let header = r1_event::Header { run_id: run, prev_hash, ..record.header().unwrap() };
            named.push(Record { header: header.encode().into(), payload: record.payload.clone() });
        }
        check(&named, options(Vec::new()))
    };
    assert_eq!(codes(&of_run(crate::sample::RUN)), Vec::<&str>::new());
    let nameless = of_run("");
    assert_eq!((codes(&nameless), nameless.integrity), (vec!["empty_run_id"], Integrity::Broken));
    for other in ["hello", "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B", "run_01k0e8m9zq4t7v2w5x8y1z3a6b", &"x".repeat(300)] {
        let verdict = of_run(other);
        assert_eq!((codes(&verdict), verdict.is_corrupt()), (vec!["run_id_form"], false), "{other}");
    }
}

#[test]
fn log_09_findings_come_in_seq_order_whatever_found_them() {
    let (mut records, _) = log_of(vec![
        started(),
        scheduled("c1", 1),
        turn_started("T1"),
        turn_started("T2"),
        completed("c9", 1),
        finished(),
    ]);
    records[1].payload = None;
    let verdict = check(&records, options(Vec::new()));
    let seqs: Vec<_> = verdict.findings.iter().map(|finding| finding.seq).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
    assert_eq!(codes(&verdict), ["payload_missing", "turn_still_open", "turn_never_closed", "call_not_open"]);
}

#[test]
fn log_09_turns_and_calls_must_pair() {
    assert_eq!(codes_of(payloads()), Vec::<&str>::new());
    let run = |middle: Vec<Payload>, end: Payload| {
        let mut all = vec![started()];
        all.extend(middle);
        all.push(end);
        codes_of(all)
    };
    let failed = || Payload::RunFailed(RunFailed::default());
    let cancelled = || Payload::RunCancelled(RunCancelled::default());
    assert_eq!(run(vec![turn_completed("T1")], finished()), ["turn_mismatch"]);
    assert_eq!(run(vec![turn_started("T1"), turn_completed("T2")], finished()), ["turn_mismatch"]);
    assert_eq!(run(vec![turn_started("T1")], finished()), ["turn_never_closed"]);
    assert_eq!(run(vec![turn_started("T1")], failed()), Vec::<&str>::new());
    assert_eq!(run(vec![turn_started("T1")], cancelled()), Vec::<&str>::new());
    // As the seed prints invariant 7: every schedule has an outcome, whatever the terminal.
    for end in [finished(), failed(), cancelled()] {
        assert_eq!(run(vec![scheduled("c1", 1)], end), ["call_never_ended"]);
    }
    assert_eq!(
        run(vec![scheduled("c1", 1), scheduled("c1", 1), completed("c1", 1)], finished()),
        ["call_already_open"]
    );
    assert_eq!(run(vec![scheduled("c1", 1), completed("c1", 2)], failed()), ["call_never_ended", "call_not_open"]);
    let again = || vec![scheduled("c1", 1), completed("c1", 1)];
    assert_eq!(run([again(), again()].concat(), failed()), ["call_ended_twice"]);
    assert_eq!(run([again(), vec![completed("c1", 1)]].concat(), failed()), ["call_not_open"]);
    let retried = vec![scheduled("c1", 2), completed("c1", 2), scheduled("c2", 1), completed("c2", 1)];
    assert_eq!(run([again(), retried].concat(), finished()), Vec::<&str>::new());
    let seam = || Payload::RunResumed(RunResumed { at_seq: 3, ..RunResumed::default() });
    assert_eq!(run(vec![turn_started("T1"), scheduled("c1", 1), seam()], finished()), Vec::<&str>::new());
    // Nobody heard of an outcome before the seam; if one was heard of, the seam does not undo it.
    assert_eq!(run([vec![scheduled("c1", 1), seam()], again()].concat(), finished()), Vec::<&str>::new());
    assert_eq!(run([again(), vec![seam()], again()].concat(), finished()), ["call_ended_twice"]);
    let budget = Payload::BudgetExceeded(BudgetExceeded { turn_id: "T1".into(), ..BudgetExceeded::default() });
    assert_eq!(run(vec![turn_started("T1"), budget], finished()), Vec::<&str>::new());
    let attempt = |will_retry| {
        let turn_id = Some("T1".into());
        Payload::TurnFailed(TurnFailed { turn_id, will_retry: Some(will_retry), ..TurnFailed::default() })
    };
    assert_eq!(run(vec![turn_started("T1"), attempt(true), turn_completed("T1")], finished()), Vec::<&str>::new());
    assert_eq!(
        run(vec![turn_started("T1"), attempt(false), turn_started("T2"), turn_completed("T2")], finished()),
        Vec::<&str>::new()
    );
}

#[test]
fn log_09_in_a_recorded_run_broken_pairing_is_no_corruption() {
    let recorded = RunStarted { run_kind: Some("recorded".into()), ..RunStarted::default() };
    let (records, _) = log_of(vec![Payload::RunStarted(Box::new(recorded)), scheduled("c1", 1), finished()]);
    let verdict = check(&records, options(Vec::new()));
    assert_eq!((codes(&verdict), verdict.is_corrupt(), verdict.recorded), (vec!["call_never_ended"], false, true));
    let (records, _) = log_of(vec![started(), scheduled("c1", 1), finished()]);
    assert!(check(&records, options(Vec::new())).is_corrupt());
}

#[test]
fn log_09_several_threads_say_the_same_as_one() {
    let mut all = vec![started()];
    for turn in 0..500 {
        all.extend([turn_started(&format!("T{turn}")), turn_completed(&format!("T{turn}"))]);
    }
    all.push(turn_completed("nobody"));
    all.push(finished());
    let (mut records, _) = log_of(all);
    records[400].payload = None;
    records[500].payload = records[502].payload.clone();
    // Looks like an event of Starling's.
    records[600].header = [&[0xa5], &records[600].header[1..]].concat().into();
    let one = check(&records, options(Vec::new()));
    let expected = ["payload_missing", "turn_still_open", "payload_mismatch", "header_malformed", "turn_mismatch"];
    assert!(expected.iter().all(|code| codes(&one).contains(code)), "{:?}", codes(&one));
    for (page_size, threads) in [(1, 3), (7, 3), (64, 3), (5000, 3), (7, 1), (5000, 1)] {
        let pages = records.chunks(page_size).map(|page| Ok::<_, std::convert::Infallible>(page.to_vec()));
        let many = Validator::new(options(Vec::new())).run(pages, threads).unwrap();
        assert_eq!(many, one, "pages of {page_size} on {threads} threads");
    }
}

#[test]
fn unknown_kinds_are_told_of_but_no_error() {
    let (records, _) =
        log_of(vec![started(), Payload::Other(99, Value::object([("x", Value::Uint(1))]).encode().into())]);
    let verdict = check(&records, options(Vec::new()));
    assert_eq!(
        (codes(&verdict), verdict.findings[0].part, verdict.is_corrupt()),
        (vec!["kind_unknown"], Part::Notice, false)
    );
}

#[test]
fn log_15_what_a_prune_leaves_still_verifies() {
    let (records, chain) = log_of(payloads());
    let seal = SideRecord::Seal(chain.statement().unwrap().sign(&key()));
    for through in 1..records.len() {
        let mut validator = Validator::new(options(Vec::new()));
        let mut before = Chain::new(crate::sample::RUN.parse().unwrap());
        for record in &records[..through] {
            validator.push(record);
            before.follow(record).unwrap();
        }
        let (open_turn, open_calls) = validator.open();
        let prune = SideRecord::Prune(Box::new(Prune {
            run_id: before.run().clone(),
            last_hash: before.head().unwrap(),
            trees: Trees::over(&records[..through]).unwrap(),
            pruned_at: UnixNanos(0),
            reason: "retention".into(),
            context: RunContext::default(),
            open_turn,
            open_calls,
            graph: None,
        }));
        assert_eq!(SideRecord::decode(&prune.encode()).unwrap(), prune);
        let verdict = check(&records[through..], options(vec![prune, seal.clone()]));
        assert_eq!(codes(&verdict), Vec::<&str>::new(), "pruned through {through}");
        assert_eq!(verdict.pruned_through, Seq::new(through as u64));
        assert!(verdict.sealed_by.is_some());
    }
}

#[test]
fn a_batch_refuses_what_a_log_may_not_hold() {
    let mut batch = Batch::new(&Chain::new(crate::sample::RUN.parse().unwrap()));
    let mut refused = |payload: Payload| batch.push(UnixNanos(0), payload).unwrap_err().to_string();
    assert_eq!(refused(finished()), "the first event of a run must be RunStarted, not RunCompleted");
    batch.push(UnixNanos(0), started()).unwrap();
    let mut refused = |payload: Payload| batch.push(UnixNanos(0), payload).unwrap_err().to_string();
    assert_eq!(refused(started()), "event 2 is a second RunStarted");
    assert_eq!(refused(typed("run.finished", Value::object::<&str>([]))), "the payload cannot be stored");
    assert_eq!(refused(Payload::Other(99, vec![0xff].into())), "the payload cannot be stored");
    let large = Value::object([("x", Value::Bytes(vec![0; 16 << 20]))]).encode();
    assert_eq!(refused(Payload::Other(99, large.into())), "the payload cannot be stored");
    batch.push(UnixNanos(0), finished()).unwrap();
    let err = batch.push(UnixNanos(0), turn_started("T1")).unwrap_err();
    assert_eq!(
        err.to_string(),
        format!("run {} has ended with RunCompleted; nothing can be appended to it", crate::sample::RUN)
    );
    assert_eq!(batch.records().len(), 2);
}
