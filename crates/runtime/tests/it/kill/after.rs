//! What must hold of runs whose workers were killed or stopped.

use std::collections::BTreeSet;

use r1_event::{Payload, Record, RunId};
use r1_protocol::data::{self, EventData};
use r1_runtime::agent::RunState;
use r1_runtime::replay::replay;

use super::house::{House, Note};

/// Checks every run by its log and by what its tools really did. Tells how often a worker took over.
pub(super) async fn check(house: &House, runs: &[RunId]) -> usize {
    let notes = house.notes();
    let mut takeovers = 0;
    for run in runs {
        let records = house.records(run).await;
        check_log(house, run, &records).await;
        let payloads: Vec<Payload> = records.iter().map(|record| RunState::read(record).unwrap().1).collect();
        let calls: BTreeSet<&str> = payloads.iter().filter_map(invoked).collect();
        let notes: Vec<&Note> = notes.iter().filter(|note| calls.contains(note.call_id.as_str())).collect();
        check_end(&payloads);
        check_calls(&payloads, &notes);
        let claims = claims(&payloads);
        check_owners(&claims, &notes);
        takeovers += claims.len().saturating_sub(1);
    }
    takeovers
}

fn invoked(payload: &Payload) -> Option<&str> {
    if let Payload::ToolCallScheduled(call) = payload { Some(&call.call_id) } else { None }
}

/// The log is valid, the loop would write it again, and its events have the order and the form that
/// frontends were promised.
async fn check_log(house: &House, run: &RunId, records: &[Record]) {
    let report = replay(&house.store, run, |_| house.toolset()).await.unwrap();
    assert_eq!(report.divergence, None, "{run}");
    let mut validator = r1_event::validate::Validator::new(Default::default());
    records.iter().for_each(|record| validator.push(record));
    let findings = validator.finish().findings;
    assert!(findings.is_empty(), "{run}: {findings:#?}");
    let problems = r1_protocol::conformance::problems(records, &[]);
    assert!(problems.is_empty(), "{run}: {problems:#?}");
}

/// It has ended once; and as it should, unless five workers in a row died on it.
fn check_end(payloads: &[Payload]) {
    let ends = payloads.iter().filter(|payload| payload.kind().is_terminal()).count();
    assert_eq!(ends, 1);
    match payloads.last().unwrap() {
        Payload::RunCompleted(_) => {}
        Payload::RunFailed(failed) => assert_eq!(failed.error_type, "crash_loop"),
        other => panic!("the run ended with {:?}", other.kind()),
    }
}

/// Who had the run, one after the other: only after a seam is it another one, and nobody comes back.
fn claims(payloads: &[Payload]) -> Vec<String> {
    let mut claims: Vec<String> = Vec::new();
    let mut gone = None;
    for payload in payloads {
        let taken_by = match payload {
            Payload::RunResumed(resumed) => resumed.worker_id.clone(),
            Payload::Typed(typed) if typed.r#type == data::RunStarted::TYPE => {
                data::RunStarted::read(typed).map(|started| started.worker_id)
            }
            Payload::Typed(typed) if typed.r#type == data::GapRunDisconnected::TYPE => {
                gone = data::GapRunDisconnected::read(typed).and_then(|gap| gap.worker_id);
                None
            }
            _ => None,
        };
        if let Some(worker) = taken_by {
            assert_eq!(gone.take().as_ref(), claims.last(), "the one before was gone");
            assert!(!claims.contains(&worker), "{worker} has the run a second time");
            claims.push(worker);
        }
    }
    claims
}

/// What really happened agrees with what the log says, call by call.
fn check_calls(payloads: &[Payload], notes: &[&Note]) {
    for payload in payloads {
        let Payload::ToolCallScheduled(call) = payload else { continue };
        let done = notes.iter().filter(|note| note.call_id == call.call_id).count();
        assert!(done <= 1 || call.tool == "look", "{} was done {done} times", call.call_id);
        let outcome = payloads.iter().rev().find_map(|payload| match payload {
            Payload::ToolCallCompleted(end) if end.call_id == call.call_id => Some("completed"),
            Payload::ToolCallFailed(end) if end.call_id == call.call_id => end.outcome.as_deref(),
            _ => None,
        });
        match outcome {
            Some("completed" | "failed") => assert!(done > 0, "{} was not done", call.call_id),
            Some("unknown") => {}
            other => panic!("{} ended as {other:?}", call.call_id),
        }
    }
}

/// Only who had the run worked on it, and nobody any more once another one had it.
fn check_owners(claims: &[String], notes: &[&Note]) {
    let owner = |note: &&Note| claims.iter().position(|worker| *worker == note.instance).expect("it had the run");
    let owners: Vec<usize> = notes.iter().map(owner).collect();
    assert!(owners.is_sorted(), "{notes:#?}");
}
