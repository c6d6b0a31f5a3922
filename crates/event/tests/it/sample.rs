//! A small, believable run to check and to tamper with.

use ed25519_dalek::SigningKey;
use r1_event::cbor::Value;
use r1_event::finding::Verdict;
use r1_event::payload::{
    AssistantMessageCompleted, Payload, Raw, RunCompleted, RunStarted, ToolCallCompleted, ToolCallScheduled,
    TurnStarted, Typed, UserMessageAppended,
};
use r1_event::validate::{Options, Validator};
use r1_event::{Batch, Chain, Record, Seal, SideRecord, UnixNanos};

pub(crate) const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

/// RFC 8032 §7.1, test 1.
pub(crate) fn key() -> SigningKey {
    let secret = r1_event::id::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    SigningKey::from_bytes(&secret.try_into().unwrap())
}

pub(crate) fn typed(type_name: &str, data: Value) -> Payload {
    Payload::Typed(Typed { r#type: type_name.into(), data: Raw::from(&data), ..Typed::default() })
}

pub(crate) fn turn_started(turn_id: &str) -> Payload {
    Payload::TurnStarted(TurnStarted { turn_id: turn_id.into(), ..TurnStarted::default() })
}

pub(crate) fn turn_completed(turn_id: &str) -> Payload {
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: turn_id.into(),
        text: "done".into(),
        stop_reason: "end_turn".into(),
        ..AssistantMessageCompleted::default()
    }))
}

pub(crate) fn scheduled(call_id: &str, attempt: u32) -> Payload {
    let args = Raw::from(&Value::object([("command", Value::text("cargo test"))]));
    let tool = "shell".into();
    Payload::ToolCallScheduled(ToolCallScheduled { call_id: call_id.into(), tool, args, attempt, ..Default::default() })
}

pub(crate) fn completed(call_id: &str, attempt: u32) -> Payload {
    let result = Raw::from(&Value::text("ok"));
    Payload::ToolCallCompleted(ToolCallCompleted { call_id: call_id.into(), result, attempt, ..Default::default() })
}

pub(crate) fn started() -> Payload {
    Payload::RunStarted(Box::new(RunStarted { goal: "make the test pass".into(), ..RunStarted::default() }))
}

pub(crate) fn finished() -> Payload {
    Payload::RunCompleted(RunCompleted { final_text: "done".into(), turn_count: 1, ..RunCompleted::default() })
}

/// The payloads of a whole run: one turn, one tool call.
pub(crate) fn payloads() -> Vec<Payload> {
    vec![
        started(),
        Payload::UserMessageAppended(UserMessageAppended { content: "please".into(), ..Default::default() }),
        turn_started("T1"),
        scheduled("call_1", 1),
        typed("tool.shell.exited", Value::object([("exit_code", Value::int(0))])),
        completed("call_1", 1),
        turn_completed("T1"),
        finished(),
    ]
}

/// A log of these payloads, one millisecond apart, and the chain behind it.
pub(crate) fn log_of(payloads: Vec<Payload>) -> (Vec<Record>, Chain) {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    for (index, payload) in payloads.into_iter().enumerate() {
        batch.push(UnixNanos(1_777_000_000_000_000_000 + index as i64 * 1_000_000), payload).unwrap();
    }
    (batch.records().to_vec(), batch.after().clone())
}

/// The whole run and its seal.
pub(crate) fn sealed_log() -> (Vec<Record>, Seal) {
    let (records, chain) = log_of(payloads());
    (records, chain.statement().unwrap().sign(&key()))
}

pub(crate) fn options(side_records: Vec<SideRecord>) -> Options {
    Options { side_records, keys: vec![key().verifying_key().into()], ..Options::default() }
}

pub(crate) fn check(records: &[Record], options: Options) -> Verdict {
    let mut validator = Validator::new(options);
    records.iter().for_each(|record| validator.push(record));
    validator.finish()
}

/// The codes of all findings, in the order in which they are listed.
pub(crate) fn codes(verdict: &Verdict) -> Vec<&'static str> {
    verdict.findings.iter().map(|finding| finding.code).collect()
}

/// Rewrites a log as someone would who has the tools but not the key: new links, new root.
pub(crate) fn rechained(payloads: Vec<Payload>) -> Vec<Record> {
    log_of(payloads).0
}

/// An event that belongs to no pairing, for putting where it does not belong.
pub(crate) fn side_effect() -> Payload {
    Payload::SideEffectRecorded(r1_event::payload::SideEffectRecorded {
        name: "now".into(),
        value: Raw::from(&Value::Uint(1)),
        ..Default::default()
    })
}
