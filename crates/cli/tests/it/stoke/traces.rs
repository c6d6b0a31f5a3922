//! The place of a run in somebody's trace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_event::{Kind, Payload};
use serde_json::Value;

use super::{READS, command, project};

const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// The traces that the lines of a run name, and the one that it was started in.
fn traces(given: Option<&str>) -> (Vec<String>, Option<String>) {
    let sandbox = project(READS);
    let mut command = command(&sandbox, &["look"]);
    if let Some(given) = given {
        command.env("TRACEPARENT", given);
    }
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut traces: Vec<_> = lines.filter_map(|line| line["trace_parent"].as_str().map(str::to_owned)).collect();
    traces.dedup();
    let export = sandbox.ok(&["log", "export", "last", "--format", "ndjson"]);
    let first: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    let payload = STANDARD.decode(first["payload"].as_str().unwrap()).unwrap();
    let Payload::RunStarted(started) = Payload::decode(Kind::RunStarted, &payload.into()).unwrap() else { panic!() };
    (traces, started.trace_parent_in)
}

#[test]
fn stoke_08_a_run_goes_on_in_the_trace_that_it_was_started_in() {
    let (own, given) = traces(Some(GIVEN));
    assert_eq!((own.len(), given.as_deref()), (1, Some(GIVEN)), "{own:?}");
    assert!(own[0].starts_with(&GIVEN[..36]) && own[0].ends_with("-00"), "{own:?}");
    assert_ne!(own[0], GIVEN, "with a place of its own");
}

#[test]
fn stoke_08_without_one_or_with_none_that_counts_it_begins_its_own() {
    let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
    for given in [None, Some("nonsense"), Some(zero), Some("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")] {
        let (own, kept) = traces(given);
        assert_eq!((own.len(), kept), (1, None), "{own:?}");
        assert!(own[0].starts_with("00-") && own[0].ends_with("-01") && own[0].len() == 55, "{own:?}");
    }
    let (later, kept) = traces(Some(&format!("01{}-and-more", &GIVEN[2..])));
    assert!(later[0].starts_with(&GIVEN[..36]) && kept.is_some(), "{later:?}");
}
