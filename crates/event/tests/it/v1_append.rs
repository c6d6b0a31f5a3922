//! Growing v1 logs.

use r1_event::chain::ChainError;
use r1_event::payload::{RunCompleted, RunFailed, RunStarted, TurnFailed, TurnStarted, UserMessageAppended};
use r1_event::v1::Validator;
use r1_event::{Batch, Chain, Payload, Record, UnixNanos, Version};

use crate::v1_fixtures::{load, record, text};

/// Where R1 is stricter than Starling: label and index of the first event that it refuses.
const STRICTER: &[(&str, usize)] = &[
    ("append after terminal is accepted", 3),
    ("malformed payload accepted then next append fails", 1),
    ("nil payload", 0),
];

#[test]
fn log_10_events_made_elsewhere_are_taken_as_starlings_append_takes_them() {
    for row in load("append.json") {
        let label = text(&row, "label").unwrap();
        let Ok(run) = text(&row, "run").unwrap().parse() else {
            assert_eq!(label, "empty run id param");
            continue;
        };
        let mut batch = Batch::new(&Chain::empty(run, Version::V1));
        for (index, event) in row["events"].as_array().unwrap().iter().enumerate() {
            let taken = batch.adopt(record(event));
            let refused_here = STRICTER.iter().any(|(name, first)| *name == label && index >= *first);
            let starling = row["results"][index] == "ok";
            assert_eq!(taken.is_ok(), starling && !refused_here, "{label} {index} {taken:?}");
        }
    }
}

fn valid(records: &[Record]) -> bool {
    let (mut validator, mut findings) = (Validator::default(), Vec::new());
    for record in records {
        validator.check(record, &mut findings).unwrap();
    }
    let outcome = validator.finish(&mut findings);
    assert_eq!(findings, [], "what R1 writes gives rise to no finding");
    outcome.compat.rejection.is_none()
}

fn started() -> Batch {
    let mut batch = Batch::new(&Chain::empty("r1".parse().unwrap(), Version::V1));
    batch.push_v1(UnixNanos(1), RunStarted { goal: "x".into(), ..RunStarted::default() }.into_payload()).unwrap();
    batch
}

trait IntoPayload {
    fn into_payload(self) -> Payload;
}

impl IntoPayload for RunStarted {
    fn into_payload(self) -> Payload {
        Payload::RunStarted(Box::new(self))
    }
}

#[test]
fn a_v1_log_that_r1_writes_is_one_that_starling_accepts() {
    let mut batch = started();
    let message = UserMessageAppended { content: "hi".into(), ..UserMessageAppended::default() };
    batch.push_v1(UnixNanos(2), Payload::UserMessageAppended(message)).unwrap();
    batch.push_v1(UnixNanos(3), Payload::RunCompleted(RunCompleted::default())).unwrap();
    assert!(valid(batch.records()));
    let after = batch.push_v1(UnixNanos(4), Payload::RunFailed(RunFailed::default()));
    assert!(matches!(after, Err(ChainError::Finished { .. })));
}

#[test]
fn a_v1_log_takes_nothing_that_starling_does_not_know() {
    let mut batch = started();
    let turn = TurnStarted { turn_index: Some(1), ..TurnStarted::default() };
    assert!(matches!(batch.push_v1(UnixNanos(2), Payload::TurnStarted(turn)), Err(ChainError::Payload(_))));
    let failed = Payload::TurnFailed(TurnFailed::default());
    assert!(matches!(batch.push_v1(UnixNanos(2), failed), Err(ChainError::Payload(_))));
    assert!(matches!(
        batch.push(UnixNanos(2), Payload::RunFailed(RunFailed::default())),
        Err(ChainError::NotV2 { .. })
    ));
    let mut v2 = Batch::new(&Chain::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse().unwrap()));
    let refused = v2.push_v1(UnixNanos(1), RunStarted::default().into_payload());
    assert!(matches!(refused, Err(ChainError::NotV1Log { .. })));
}
