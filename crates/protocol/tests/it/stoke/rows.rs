//! Which lines each event has.

use r1_event::merkle::Frontier;
use r1_event::payload::{RunCancelled, RunCompleted, RunFailed, RunStarted};
use r1_event::side_record::{Erase, EventRef, Prune, RunContext, Trees};
use r1_event::{Digest, Payload, Seq, UnixNanos};
use r1_protocol::RunFacts;
use r1_protocol::stoke::{Cause, LineKind, Options, Projection};
use serde_json::{Value, json};

use super::{RUN, everything, log, projected, projected_with, story, text, value};
use crate::served_v1;

fn story_that_ends(ending: Payload) -> Vec<r1_event::Record> {
    log(story::payloads().into_iter().chain([ending]))
}

fn completed() -> Payload {
    let total_cost_micros_usd = Some(1_500);
    let done =
        RunCompleted { final_text: "Done.".into(), duration_ms: 12_345, total_cost_micros_usd, ..Default::default() };
    Payload::RunCompleted(done)
}

#[test]
fn stoke_01_every_event_has_the_lines_of_its_row() {
    insta::assert_snapshot!("every_line", text(&projected(&story_that_ends(completed()), everything())));
}

#[test]
fn stoke_01_what_nobody_asked_for_is_left_out() {
    insta::assert_snapshot!("usual_lines", text(&projected(&story_that_ends(completed()), Options::default())));
}

#[test]
fn stoke_01_no_option_changes_the_name_of_a_line() {
    let records = story_that_ends(completed());
    let all: Vec<Value> = projected(&records, everything()).iter().flatten().map(value).collect();
    let names: Vec<&Value> = all.iter().map(|line| &line["uuid"]).collect();
    for bits in 0..16 {
        let options = Options {
            partial_messages: bits & 1 != 0,
            thinking: bits & 2 != 0,
            replay_user_messages: bits & 4 != 0,
            all_events: bits & 8 != 0,
            parent_call: None,
        };
        let mut after = 0;
        for line in projected(&records, options).iter().flatten() {
            let line = value(line);
            let at = names.iter().position(|name| **name == line["uuid"]).unwrap();
            assert_eq!(all[at]["type"], line["type"]);
            assert!(at >= after, "in the same order");
            after = at + 1;
        }
    }
}

fn cancelled(reason: &str, cause: Option<Cause>) -> Payload {
    let cause = cause.map(|cause| cause.as_str().into());
    Payload::RunCancelled(RunCancelled { reason: reason.into(), cause, duration_ms: 10, ..Default::default() })
}

/// `reason` and signal of the `mission.aborted` line of a run that ended so.
fn aborted(ending: Payload) -> (Value, Value) {
    let projected = projected(&log([Payload::RunStarted(Box::new(story::started())), ending]), Options::default());
    let line = projected.iter().flatten().map(value).find(|line| line["type"] == "mission.aborted").unwrap();
    (line["reason"].clone(), line["_stoke.dev/sig"].clone())
}

#[test]
fn stoke_05_no_reason_that_someone_gives_is_taken_for_the_cause() {
    let causes = [
        (Cause::Operator, json!("operator"), json!(null)),
        (Cause::Sigint, json!("signal"), json!("SIGINT")),
        (Cause::Sigterm, json!("signal"), json!("SIGTERM")),
        (Cause::Sighup, json!("signal"), json!(null)),
        (Cause::StdoutClosed, json!("stdout_closed"), json!(null)),
        (Cause::Budget, json!("budget"), json!(null)),
        (Cause::LeaseLost, json!("lease_lost"), json!(null)),
    ];
    for (cause, reason, signal) in causes {
        assert_eq!(aborted(cancelled("why not", Some(cause))), (reason.clone(), signal.clone()), "{cause:?}");
        assert_eq!(aborted(cancelled(cause.reason(), Some(Cause::Operator))), (json!("operator"), json!(null)));
        // Older logs have the reason alone.
        let (reason, signal) = if cause == Cause::Sighup { (json!("operator"), json!(null)) } else { (reason, signal) };
        assert_eq!(aborted(cancelled(cause.reason(), None)), (reason, signal), "{cause:?}");
    }
}

#[test]
fn stoke_01_a_run_ends_with_one_result_however_it_ends() {
    let failed = |error_type: &str| {
        Payload::RunFailed(RunFailed { error: "why".into(), error_type: error_type.into(), ..Default::default() })
    };
    let endings = [
        failed("max_turns"),
        failed("budget_exceeded"),
        failed("model_error"),
        cancelled(Cause::Sigint.reason(), Some(Cause::Sigint)),
        cancelled(Cause::Sigterm.reason(), Some(Cause::Sigterm)),
        cancelled(Cause::StdoutClosed.reason(), Some(Cause::StdoutClosed)),
        cancelled("I do not want it any more", Some(Cause::Operator)),
    ];
    let mut lines = String::new();
    for ending in endings {
        let projected = projected(&log([Payload::RunStarted(Box::new(story::started())), ending]), Options::default());
        assert_eq!(projected[1].last().unwrap().kind, LineKind::Result);
        assert_eq!(projected.iter().flatten().filter(|line| line.kind == LineKind::Result).count(), 1);
        lines.push_str(&text(&projected[1..]));
    }
    insta::assert_snapshot!("endings", lines);
}

#[test]
fn stoke_01_the_session_of_a_mission_is_told_by_the_mission() {
    let started = RunStarted { mission_id: Some("mis_1".into()), ..story::started() };
    let lines = projected(&log([Payload::RunStarted(Box::new(started)), completed()]), Options::default());
    let types: Vec<_> = lines.iter().flatten().map(|line| value(line)["type"].clone()).collect();
    assert_eq!(types, ["system", "result"]);
}

#[test]
fn stoke_01_the_title_of_a_session_is_the_goal_cut_to_120_characters() {
    let goal = "é".repeat(121);
    let started = RunStarted { goal: goal.clone(), ..story::started() };
    let lines = projected(&log([Payload::RunStarted(Box::new(started))]), Options::default());
    let start = lines.iter().flatten().map(value).find(|line| line["type"] == "stoke.session.start").unwrap();
    assert_eq!(start["title"].as_str(), goal.strip_suffix('é'));
}

#[test]
fn stoke_01_the_lines_of_a_child_name_the_call_that_started_it() {
    let options = Options { parent_call: Some("c9".into()), ..everything() };
    for line in projected(&story_that_ends(completed()), options).iter().flatten() {
        let line = value(line);
        if ["assistant", "user", "stream_event"].contains(&line["type"].as_str().unwrap()) {
            assert_eq!(line["parent_tool_use_id"], "c9", "{line}");
        }
    }
}

#[test]
fn stoke_01_of_an_erased_event_only_that_is_told() {
    let mut records = story_that_ends(completed());
    records[1].payload = None;
    let erase = Erase {
        run_id: RUN.parse().unwrap(),
        seq: Seq::new(2).unwrap(),
        type_name: "user.message".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction: EventRef {
            run_id: RUN.parse().unwrap(),
            seq: Seq::new(40).unwrap(),
            ts: UnixNanos(1),
            hash: Digest::blake3(b""),
        },
    };
    let lines = projected_with(&records, &[erase], everything());
    insta::assert_snapshot!("erased", text(&lines[1..2]));
}

#[test]
fn stoke_01_of_pruned_events_it_is_told_that_they_were() {
    let peaks = vec![Digest::blake3(b"eight"), Digest::blake3(b"ninth")];
    let nine = (Frontier::from_parts(9, peaks.clone()).unwrap(), Frontier::from_parts(9, peaks).unwrap());
    let prune = Prune {
        run_id: RUN.parse().unwrap(),
        last_hash: Digest::blake3(b"last"),
        trees: Trees::new(nine.0, nine.1).unwrap(),
        pruned_at: UnixNanos(1_777_000_000_000_000_000),
        reason: "retention".into(),
        context: RunContext::default(),
        open_turn: None,
        open_calls: vec![],
        graph: None,
    };
    let line = value(&Projection::new(RunFacts::of_prune(&prune), Options::default()).pruned(&prune, None));
    assert_eq!((&line["type"], &line["seq"]), (&json!("stoke.gap.events_pruned"), &json!(9)));
    assert_eq!((&line["reason"], &line["last_pruned_sequence"]), (&json!("retention"), &json!(8)));
}

#[test]
fn stoke_01_logs_of_starling_are_told_too() {
    for (name, records) in served_v1::runs() {
        let lines = projected(&records, everything());
        let types: Vec<_> = lines.iter().flatten().map(|line| value(line)["type"].clone()).collect();
        assert_eq!(types[..3], ["system", "stoke.session.start", "user"], "{name}");
        let ends = types.iter().filter(|name| *name == "result").count();
        assert!(ends <= 1, "{name}: {types:?}");
    }
    let (_, records) = &served_v1::runs()[0];
    insta::assert_snapshot!("starling", text(&projected(records, Options { all_events: false, ..everything() })));
}
