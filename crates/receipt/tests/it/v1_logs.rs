//! Receipts of Starling's logs.

use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, Payload, PlannedToolUse, RunCancelled, RunCompleted, RunStarted,
    ToolCallCompleted, ToolCallFailed, ToolCallScheduled, TurnStarted,
};
use r1_event::{Batch, Chain, UnixNanos, Version};
use r1_receipt::{Options, verify};
use serde_json::Value as Json;
use sha2::Digest as _;

use crate::forge::hex;
use crate::sample::{builder, hash, known, receipt};

fn log(last: Payload) -> Batch {
    let mut log = Batch::new(&Chain::empty("01M7G8HRPXQPK8Y67MQ2D0WH6S".parse().unwrap(), Version::V1));
    let mut clock = 0;
    let mut push = |payload| {
        clock += 1;
        log.push_v1(UnixNanos(1_777_000_000_000_000_000 + clock), payload).unwrap();
    };
    push(Payload::RunStarted(Box::new(RunStarted {
        schema_version: 1,
        goal: "say hi".into(),
        model_id: "gpt-4o-mini".into(),
        ..Default::default()
    })));
    push(Payload::TurnStarted(TurnStarted {
        turn_id: "T1".into(),
        prompt_hash: Some(vec![7; 32].into()),
        ..Default::default()
    }));
    let planned = PlannedToolUse { call_id: "c1".into(), tool: "echo".into(), ..Default::default() };
    push(Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: "T1".into(),
        text: "hi".into(),
        cost_usd: 0.1,
        tool_uses: Some(vec![planned]),
        ..Default::default()
    })));
    push(Payload::ToolCallScheduled(ToolCallScheduled {
        call_id: "c1".into(),
        turn_id: "T1".into(),
        tool: "echo".into(),
        attempt: 1,
        ..Default::default()
    }));
    push(Payload::ToolCallFailed(ToolCallFailed {
        call_id: "c1".into(),
        error: "flaky".into(),
        error_type: "tool".into(),
        attempt: 1,
        ..Default::default()
    }));
    push(Payload::ToolCallScheduled(ToolCallScheduled {
        call_id: "c1".into(),
        turn_id: "T1".into(),
        tool: "echo".into(),
        attempt: 2,
        ..Default::default()
    }));
    push(Payload::ToolCallCompleted(ToolCallCompleted { call_id: "c1".into(), attempt: 2, ..Default::default() }));
    push(Payload::TurnStarted(TurnStarted { turn_id: "T2".into(), ..Default::default() }));
    push(Payload::BudgetExceeded(BudgetExceeded {
        limit: "usd".into(),
        turn_id: "T2".into(),
        partial_text: "so".into(),
        partial_tokens: 3,
        ..Default::default()
    }));
    push(last);
    log
}

#[test]
fn stoke_21_a_starling_log_gives_a_receipt_that_verifies_and_binds() {
    let log = log(Payload::RunCompleted(RunCompleted::default()));
    let bytes = receipt(log.records()).bytes;
    let builder = builder(log.records());
    let report = verify(&bytes, &Options { keys: &known(), log: Some(&builder), ..Options::default() });
    assert_eq!(report.verdict().to_string(), "VALID");
    assert_eq!((report.types["THOUGHT"], report.types["TOOL_CALL"]), (2, 2));
    let receipt: Json = serde_json::from_slice(&bytes).unwrap();
    let events = receipt["events"].as_array().unwrap();
    let body =
        |wanted: &dyn Fn(&Json) -> bool| events.iter().map(|event| &event["body"]).find(|body| wanted(body)).unwrap();
    let thought = body(&|body| body["turn_id"] == "T1" && body["status"] == "complete");
    assert_eq!(thought["user_input_hashes"][0], hash("say hi"), "the goal is what the user said");
    assert_eq!((&thought["cost_micros_usd"], &thought["model"]), (&100_000.into(), &"gpt-4o-mini".into()));
    assert_eq!(thought["prompt_blake3"], "07".repeat(32));
    let cut = body(&|body| body["status"] == "cut");
    assert_eq!((&cut["output_tokens"], &cut["text_hash"]), (&3.into(), &hash("so").into()));
    let run_log = body(&|body| body["kind"] == "run_log");
    assert_eq!((&run_log["schema_version"], &run_log["size"]), (&1.into(), &log.records().len().into()));
    let leaves: Vec<Vec<u8>> = log.records().iter().map(|record| record.hash().as_bytes().to_vec()).collect();
    assert_eq!(run_log["root_sha256"], hex(&root_sha256(&leaves)), "a tree over the hashes of all events");
}

/// The root as RFC 9162 §2.1.1 defines it.
fn root_sha256(leaves: &[Vec<u8>]) -> [u8; 32] {
    let hash = |parts: &[&[u8]]| sha2::Sha256::digest(parts.concat()).into();
    match leaves {
        [leaf] => hash(&[&[0], leaf]),
        leaves => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            hash(&[&[1], &root_sha256(left), &root_sha256(right)])
        }
    }
}

/// A v1 root says nothing of the terminal event itself; a receipt does.
#[test]
fn stoke_21_the_terminal_event_of_a_starling_log_is_covered() {
    let bytes = receipt(log(Payload::RunCompleted(RunCompleted::default())).records()).bytes;
    for other in [
        Payload::RunCompleted(RunCompleted { final_text: "forged".into(), ..Default::default() }),
        Payload::RunCancelled(RunCancelled::default()),
    ] {
        let builder = builder(log(other).records());
        let report = verify(&bytes, &Options { keys: &known(), log: Some(&builder), ..Options::default() });
        assert_eq!(report.verdict().to_string(), "INVALID log_mismatch");
    }
}
