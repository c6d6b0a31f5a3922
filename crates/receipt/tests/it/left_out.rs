//! Receipts of logs from which something was taken: ids stay.

use std::collections::BTreeMap;

use r1_event::payload::{Payload, Raw, Typed};
use r1_event::side_record::{Prune, RunContext, Trees};
use r1_event::{Record, SideRecord, UnixNanos, cbor};
use r1_receipt::graph::{Cut, Notes, Redaction};
use r1_receipt::{Builder, Options, Signed, Withhold, verify};
use serde_json::Value as Json;

use crate::forge::Forge;
use crate::sample::{self, Log, check, full, key, known};

/// The ids of a receipt with whether they are stubs, without the log's own node.
fn nodes(receipt: &Signed) -> BTreeMap<String, Option<String>> {
    let receipt: Json = serde_json::from_slice(&receipt.bytes).unwrap();
    let events = receipt["events"].as_array().unwrap();
    let named = events.iter().filter(|event| event["body"]["kind"] != "run_log");
    named.map(|event| (event["id"].as_str().unwrap().into(), event["body"]["stub"].as_str().map(Into::into))).collect()
}

fn sign(records: &[Record], side_records: &[SideRecord], notes: Notes) -> (Signed, Builder) {
    let make = || {
        let mut builder = Builder::new(side_records, notes.clone());
        builder.extend(records);
        builder
    };
    (make().sign(&key(), Withhold::default()).unwrap(), make())
}

/// An event to erase: its seq, its turn, its call and attempt.
type Target<'a> = (u64, Option<&'a str>, Option<(&'a str, u32)>);

/// Erases payloads as `r1 redact` does, and makes the receipt anew.
fn erase(log: &Log, targets: &[Target<'_>]) -> (Signed, Builder) {
    let mut after = Notes::default();
    for (seq, turn, call) in targets {
        let (call_id, attempt) = call.map_or((None, None), |(id, attempt)| (Some(id.to_owned()), Some(attempt)));
        after.erase(*seq, turn.map(Into::into), call_id, attempt);
    }
    let seqs: Vec<u64> = targets.iter().map(|(seq, ..)| *seq).collect();
    let mut planned = Redaction::new(Notes::default(), after.clone(), seqs.clone());
    log.records().iter().for_each(|record| planned.push(record));
    let nodes: Vec<cbor::Value> = planned.finish().iter().map(|node| node.to_cbor()).collect();
    let data = cbor::Value::object([("run_id", cbor::Value::text(sample::RUN)), ("nodes", cbor::Value::Array(nodes))]);
    let redaction = Typed { r#type: "redaction.applied".into(), data: Raw::from(&data), ..Typed::default() };
    let redaction = Record { header: bytes::Bytes::new(), payload: Some(Payload::Typed(redaction).encode()) };
    after.read_redaction(sample::RUN, &redaction);
    let left = |(at, record): (usize, &Record)| match seqs.contains(&(at as u64 + 1)) {
        true => Record { header: record.header.clone(), payload: None },
        false => record.clone(),
    };
    let records: Vec<Record> = log.records().iter().enumerate().map(left).collect();
    sign(&records, &[], after)
}

/// Seq of the first event that a test is true of.
fn seq_of(log: &Log, wanted: impl Fn(&Payload) -> bool) -> u64 {
    let decoded = |record: &Record| {
        let kind = record.header().unwrap().kind;
        Payload::decode(kind, record.payload.as_ref().unwrap()).unwrap()
    };
    log.records().iter().position(|record| wanted(&decoded(record))).unwrap() as u64 + 1
}

fn typed(type_name: &'static str) -> impl Fn(&Payload) -> bool {
    move |payload| matches!(payload, Payload::Typed(typed) if typed.r#type == type_name)
}

#[test]
fn stoke_18_erasing_a_payload_leaves_every_id_and_gives_one_stub() {
    let log = full();
    let old = log.receipt();
    let cases = [
        (seq_of(&log, |payload| matches!(payload, Payload::RunStarted(_))), None, None),
        (seq_of(&log, |payload| matches!(payload, Payload::UserMessageAppended(_))), None, None),
        (
            seq_of(
                &log,
                |payload| matches!(payload, Payload::AssistantMessageCompleted(answer) if answer.turn_id == "T2"),
            ),
            Some("T2"),
            None,
        ),
        (seq_of(&log, |payload| matches!(payload, Payload::ToolCallScheduled(_))), Some("T1"), Some(("call_a", 1))),
        (seq_of(&log, |payload| matches!(payload, Payload::ToolCallCompleted(_))), None, Some(("call_a", 1))),
        (seq_of(&log, typed("artifact.created")), None, None),
        (seq_of(&log, typed("memory.read")), None, None),
        (seq_of(&log, typed("skill.authoring_decision")), None, None),
        (seq_of(&log, typed("beacon.event")), None, None),
        (seq_of(&log, typed("run.child_finished")), None, None),
    ];
    for target in cases {
        let (new, builder) = erase(&log, &[target]);
        assert_eq!(
            nodes(&old).keys().collect::<Vec<_>>(),
            nodes(&new).keys().collect::<Vec<_>>(),
            "event {}",
            target.0
        );
        let stubs: Vec<_> = nodes(&new).into_values().flatten().collect();
        // The model of a turn that names none is in the first event, too; a call's arguments also stand where
        // the model asked for it.
        let expected = if target.0 == 1 { 3 } else { usize::from(target.2.is_none() || target.1.is_none()) };
        assert_eq!(stubs, vec!["erased"; expected], "event {}", target.0);
        assert_eq!(check(&old.bytes).verdict().to_string(), "VALID");
        assert_eq!(check(&new.bytes).verdict().to_string(), "VALID", "event {}", target.0);
        for receipt in [&old, &new] {
            let options = Options { keys: &known(), log: Some(&builder), ..Options::default() };
            assert_eq!(verify(&receipt.bytes, &options).verdict().to_string(), "VALID", "both are of this log");
        }
    }
}

#[test]
fn stoke_18_what_depended_on_erased_content_keeps_its_id_too() {
    let log = full();
    let old = log.receipt();
    let everything = [
        (seq_of(&log, |payload| matches!(payload, Payload::AssistantMessageCompleted(_))), Some("T1"), None),
        (seq_of(&log, typed("memory.write")), None, None),
        (seq_of(&log, typed("policy.tool_blocked")), None, None),
        (seq_of(&log, |payload| matches!(payload, Payload::ToolCallScheduled(_))), Some("T1"), Some(("call_a", 1))),
    ];
    let (new, _) = erase(&log, &everything);
    assert_eq!(nodes(&old).keys().collect::<Vec<_>>(), nodes(&new).keys().collect::<Vec<_>>());
    assert_eq!(check(&new.bytes).verdict().to_string(), "VALID");
}

#[test]
fn stoke_18_a_stub_in_place_of_a_gate_or_a_transition_is_forbidden() {
    for (type_name, word) in
        [("GATE_DECISION", "erased"), ("GATE_DECISION", "withheld"), ("PHASE_TRANSITION", "withheld")]
    {
        let mut forge = Forge::open(&full().receipt().bytes);
        let place = forge.first(type_name);
        forge.stub(place, word);
        assert_eq!(sample::verdict(&forge.sign()), "INVALID stub_forbidden");
    }
}

fn prune(log: &Log, through: u64) -> (Vec<Record>, SideRecord) {
    let (gone, left) = log.records().split_at(usize::try_from(through).unwrap());
    let mut cut = Cut::new(Notes::default(), through);
    log.records().iter().for_each(|record| cut.push(record));
    let prune = Prune {
        run_id: sample::RUN.parse().unwrap(),
        last_hash: gone.last().unwrap().hash(),
        trees: Trees::over(gone).unwrap(),
        pruned_at: UnixNanos(0),
        reason: "age".into(),
        context: RunContext::default(),
        open_turn: None,
        open_calls: Vec::new(),
        graph: Some(cut.finish()),
    };
    (left.to_vec(), SideRecord::Prune(Box::new(prune)))
}

#[test]
fn stoke_18_a_pruned_run_gives_the_same_ids_from_wherever_it_is_cut() {
    let log = full();
    let old = log.receipt();
    let whole = nodes(&old);
    let size = log.records().len() as u64;
    for through in 1..size {
        let (left, record) = prune(&log, through);
        let side_records = [record];
        let (new, builder) = sign(&left, &side_records, Notes::new(&side_records));
        let report = check(&new.bytes);
        assert_eq!(report.verdict().to_string(), "INCOMPLETE run_pruned", "cut at {through}: {:?}", report.failure);
        assert_eq!(report.run.as_ref().unwrap().first_seq, through + 1);
        for id in nodes(&new).keys() {
            assert!(whole.contains_key(id), "cut at {through}: {id} is new");
        }
        let options = Options { keys: &known(), log: Some(&builder), ..Options::default() };
        assert_eq!(verify(&new.bytes, &options).verdict().to_string(), "INCOMPLETE run_pruned");
        let since = verify(&old.bytes, &options);
        assert_eq!(
            since.verdict().to_string(),
            "VALID",
            "the old receipt of the log that was cut at {through}: {:?}",
            since.failure
        );
    }
}
