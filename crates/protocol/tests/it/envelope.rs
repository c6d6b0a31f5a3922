//! Stored events of R1's own, as they are served.

use bytes::Bytes;
use r1_event::cbor::Value as Cbor;
use r1_event::payload::{
    AssistantMessageCompleted, BudgetLimits, PlannedToolUse, Raw, ReasoningEmitted, RunCompleted, RunResumed,
    RunStarted, ToolCallCompleted, ToolCallFailed, ToolCallScheduled, TurnStarted, UserMessageAppended,
};
use r1_event::side_record::{Erase, EventRef, Prune, RunContext, Trees};
use r1_event::{Batch, Chain, Payload, Record, Seq, UnixNanos};
use r1_protocol::data::{self, EventData};
use r1_protocol::schema::{self, Strictness};
use r1_protocol::{Envelope, RunFacts, Thinking, conformance, id, registry};
use serde_json::{Value, json};

use crate::hecate;

const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

fn log(payloads: Vec<Payload>) -> Vec<Record> {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    for (index, payload) in payloads.into_iter().enumerate() {
        batch.push(UnixNanos(1_777_000_000_000_000_000 + index as i64 * 1_000_000), payload).unwrap();
    }
    batch.records().to_vec()
}

fn raw(value: Value) -> Raw {
    Raw::from(&r1_protocol::json::to_cbor(&value))
}

fn queued() -> RunStarted {
    RunStarted {
        goal: "make the test pass".into(),
        provider_id: "scripted".into(),
        model_id: "m-1".into(),
        run_kind: Some("agent_loop".into()),
        task_id: Some("task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6C".into()),
        workspace: Some(raw(json!({ "path": "/src", "mode": "clone" }))),
        ..RunStarted::default()
    }
}

/// Serves each record and holds it against the strict schema of its type.
fn served(records: &[Record], thinking: Thinking) -> Vec<Envelope> {
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    let envelopes: Vec<_> = records.iter().map(|record| facts.envelope(record, None, thinking).unwrap()).collect();
    let foreign = hecate::envelope_schema();
    for envelope in &envelopes {
        let json: Value = serde_json::from_slice(&envelope.to_bytes()).unwrap();
        assert!(foreign.is_valid(&json), "{json}");
        let Some(row) = registry::find(&envelope.type_name) else { continue };
        let validator = jsonschema::draft202012::new(&schema::schema(row, Strictness::of(&facts))).unwrap();
        let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{json}\n{errors:#?}");
    }
    envelopes
}

fn second(payload: Payload) -> Envelope {
    served(&log(vec![Payload::RunStarted(Box::new(queued())), payload]), Thinking::Shown).remove(1)
}

#[test]
fn a_run_is_served_in_these_bytes() {
    let records = log(vec![
        Payload::RunStarted(Box::new(RunStarted {
            budget: Some(BudgetLimits { max_usd: 1.5, max_input_tokens: 10, ..BudgetLimits::default() }),
            forked_from: Some(raw(json!({ "run_id": RUN, "seq": 5 }))),
            parent: Some(raw(json!({ "run_id": RUN, "seq": 2 }))),
            system_prompt_hash: Some(Bytes::from_static(&[0xab; 4])),
            ..queued()
        })),
        Payload::UserMessageAppended(UserMessageAppended {
            content: "please \u{1f600}\n".into(),
            turn_index: Some(0),
            by: Some("operator".into()),
            ..Default::default()
        }),
        data::RunStarted {
            worker_id: "w".into(),
            lease_until: UnixNanos(1_777_000_060_000_000_000).into(),
            ..Default::default()
        }
        .to_payload(),
        Payload::TurnStarted(TurnStarted {
            turn_id: "T".into(),
            input_tokens: 12,
            turn_index: Some(0),
            model: Some("m-1".into()),
            provider: Some("scripted".into()),
            ..Default::default()
        }),
        Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
            turn_id: "T".into(),
            text: "I look".into(),
            stop_reason: "tool_use".into(),
            input_tokens: 12,
            output_tokens: 3,
            cost_usd: 0.1,
            cost_micros_usd: Some(7),
            tool_uses: Some(vec![PlannedToolUse::default()]),
            turn_index: Some(0),
            duration_ms: Some(9),
            ..Default::default()
        })),
        Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: "c1".into(),
            turn_id: "T".into(),
            tool: "grep".into(),
            attempt: 1,
            turn_index: Some(0),
            kind: Some("grep".into()),
            ..Default::default()
        }),
        Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: "c1".into(),
            result: raw(json!({ "z": 1.0, "a": [0.5, null] })),
            duration_ms: 4,
            attempt: 1,
            tool: Some("grep".into()),
            kind: Some("grep".into()),
            summary: Some("two lines".into()),
            ..Default::default()
        }),
        Payload::RunCompleted(RunCompleted {
            final_text: "done".into(),
            turn_count: 1,
            tool_call_count: 1,
            total_cost_micros_usd: Some(7),
            duration_ms: 20,
            ..Default::default()
        }),
    ]);
    let lines: Vec<_> =
        served(&records, Thinking::Hidden).iter().map(|event| String::from_utf8(event.to_bytes()).unwrap()).collect();
    insta::assert_snapshot!("v2_run", lines.join("\n"));
}

#[test]
fn an_event_id_holds_its_time_and_is_unique() {
    let message = || {
        let body = UserMessageAppended { content: "again".into(), turn_index: Some(0), ..Default::default() };
        Payload::UserMessageAppended(body)
    };
    let records = log(vec![Payload::RunStarted(Box::new(queued())), message(), message()]);
    let envelopes = served(&records, Thinking::Hidden);
    let mut ids: Vec<_> = envelopes.iter().map(|envelope| envelope.event_id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    for (index, envelope) in envelopes.iter().enumerate() {
        let id = ulid::Ulid::from_string(envelope.event_id.strip_prefix("evt_").unwrap()).unwrap();
        let at = envelope.occurred_at.nanos().unwrap();
        assert_eq!(id.timestamp_ms(), u64::try_from(at.0 / 1_000_000).unwrap());
        assert_eq!(envelope.sequence, index as u64);
    }
}

#[test]
fn serialising_an_envelope_gives_the_members_in_their_order() {
    let envelope = second(data::RunReleased { by: data::By::Operator, ..Default::default() }.to_payload());
    assert_eq!(serde_json::to_vec(&envelope).unwrap(), envelope.to_bytes());
}

#[test]
fn a_session_is_the_roots_or_the_runs_own() {
    let facts = |session_id: Option<&str>| {
        let start = RunStarted { session_id: session_id.map(Into::into), ..queued() };
        RunFacts::of_first(&log(vec![Payload::RunStarted(Box::new(start))])[0], None).unwrap().session_id.unwrap()
    };
    assert_eq!(facts(None), RUN.replace("run_", "chat_"));
    assert_eq!(facts(Some("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6Z")), "chat_01K0E8M9ZQ4T7V2W5X8Y1Z3A6Z");
}

#[test]
fn a_run_that_continues_another_says_from_where() {
    let start = RunStarted {
        resumed_from: Some(raw(json!({ "run_id": RUN, "seq": 9 }))),
        prior_cost_micros_usd: Some(5),
        reason: Some("more budget".into()),
        ..queued()
    };
    let envelope = served(&log(vec![Payload::RunStarted(Box::new(start))]), Thinking::Hidden).remove(0);
    assert_eq!(envelope.type_name, "run.resumed_from_event");
    assert_eq!(
        Value::from(envelope.data),
        json!({ "from_run_id": RUN, "from_sequence": 8, "prior_cost_micros_usd": 5, "reason": "more budget" })
    );
}

#[test]
fn log_positions_become_sequences() {
    let envelope = second(Payload::RunResumed(RunResumed {
        at_seq: 7,
        worker_id: Some("w".into()),
        lease_until: Some("2026-09-21T14:13:20.000000000Z".into()),
        reason: Some("lease_expired".into()),
        ..Default::default()
    }));
    assert_eq!(envelope.data["at_sequence"], 6);
}

#[test]
fn the_keys_that_every_event_may_carry_are_served() {
    let mut failed = ToolCallFailed {
        call_id: "c".into(),
        error: "stopped".into(),
        error_type: "cancelled".into(),
        attempt: 1,
        tool: Some("shell".into()),
        kind: Some("shell".into()),
        summary: Some("stopped".into()),
        outcome: Some("failed".into()),
        by: Some("operator".into()),
        result_state: Some("tool_error".into()),
        ..Default::default()
    };
    failed.extra.set("actor", raw(json!({ "kind": "operator", "id": "ada" })));
    failed.extra.set("invented", raw(json!(1)));
    let envelope = second(Payload::ToolCallFailed(failed));
    assert_eq!(envelope.type_name, "tool.cancelled");
    assert_eq!(envelope.data["actor"], json!({ "kind": "operator", "id": "ada" }));
    assert_eq!(envelope.data["result"], "tool_error");
    assert!(!envelope.data.contains_key("invented"), "a key that no row names stays in the log");
    assert!(!envelope.data.contains_key("final"));
}

#[test]
fn a_call_with_an_unknown_outcome_says_whether_it_runs_again() {
    let failed = |r#final| ToolCallFailed {
        call_id: "c".into(),
        error_type: "outcome_unknown".into(),
        tool: Some("shell".into()),
        kind: Some("shell".into()),
        summary: Some("lost".into()),
        outcome: Some("unknown".into()),
        r#final,
        ..Default::default()
    };
    assert_eq!(second(Payload::ToolCallFailed(failed(false))).data["final"], false);
    assert_eq!(second(Payload::ToolCallFailed(failed(true))).data["final"], true);
}

#[test]
fn reasoning_is_hidden_unless_asked_for() {
    let reasoning = Payload::ReasoningEmitted(ReasoningEmitted {
        turn_id: "T".into(),
        content: "hm".into(),
        turn_index: Some(2),
        block_index: Some(0),
        ..Default::default()
    });
    let records = log(vec![Payload::RunStarted(Box::new(queued())), reasoning]);
    let shown = served(&records, Thinking::Shown).remove(1);
    let hidden = served(&records, Thinking::Hidden).remove(1);
    assert_eq!(shown.data["text"], "hm");
    assert_eq!(Value::from(hidden.data), json!({ "turn_index": 2, "block_index": 0, "hidden": true }));
    assert_eq!(shown.event_id, hidden.event_id);
}

#[test]
fn ep_24_an_erased_payload_leaves_its_place_and_type() {
    let exited = data::ToolShellExited { tool_call_id: "c".into(), ..Default::default() };
    let mut records = log(vec![Payload::RunStarted(Box::new(queued())), exited.to_payload()]);
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    let whole = facts.envelope(&records[1], None, Thinking::Hidden).unwrap();
    records[1].payload = None;
    let redaction = EventRef {
        run_id: RUN.parse().unwrap(),
        seq: Seq::new(3).unwrap(),
        ts: UnixNanos(1_777_000_000_000_000_000),
        hash: records[0].hash(),
    };
    let redaction_event_id = id::event_id_of(&redaction);
    let erase = Erase {
        run_id: RUN.parse().unwrap(),
        seq: Seq::new(2).unwrap(),
        type_name: "tool.shell.exited".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: None,
        redaction,
    };
    let erased = facts.envelope(&records[1], Some(&erase), Thinking::Hidden).unwrap();
    let header = records[1].header().unwrap();
    assert_eq!(
        Value::from(erased.data.clone()),
        json!({
            "erased": true, "payload_hash": header.payload_hash.to_string(), "payload_size": header.payload_size,
            "redaction_event_id": redaction_event_id,
        })
    );
    assert_eq!(Envelope { data: whole.data.clone(), ..erased }, whole);
}

#[test]
fn ep_24_the_run_context_survives_the_erasure_of_event_0() {
    let mut records = log(vec![Payload::RunStarted(Box::new(queued()))]);
    let before = RunFacts::of_first(&records[0], None).unwrap();
    records[0].payload = None;
    let context = RunContext { task_id: before.task_id.clone(), session_id: None, run_kind: before.run_kind.clone() };
    let erase = Erase {
        run_id: RUN.parse().unwrap(),
        seq: Seq::FIRST,
        type_name: "run.queued".into(),
        turn_id: None,
        call_id: None,
        attempt: None,
        context: Some(context),
        redaction: EventRef {
            run_id: RUN.parse().unwrap(),
            seq: Seq::FIRST,
            ts: UnixNanos(0),
            hash: records[0].hash(),
        },
    };
    assert_eq!(RunFacts::of_first(&records[0], Some(&erase)), Some(before));
}

#[test]
fn ep_24_a_pruned_prefix_is_one_marker_at_its_last_place() {
    let records = log(vec![Payload::RunStarted(Box::new(queued())), data::RunReleased::default().to_payload()]);
    let mut chain = Chain::new(RUN.parse().unwrap());
    records.iter().for_each(|record| chain.follow(record).unwrap());
    let prune = Prune {
        run_id: RUN.parse().unwrap(),
        last_hash: records[1].hash(),
        trees: Trees::over(&records).unwrap(),
        pruned_at: UnixNanos(1_777_000_000_000_000_000),
        reason: "retention".into(),
        context: RunContext { task_id: queued().task_id, session_id: None, run_kind: queued().run_kind },
        open_turn: None,
        open_calls: Vec::new(),
        graph: None,
    };
    let facts = RunFacts::of_prune(&prune);
    assert_eq!(facts, RunFacts::of_first(&records[0], None).unwrap());
    let marker = facts.pruned(&prune);
    assert_eq!(marker.sequence, 1);
    assert_eq!(marker.type_name, "gap.events_pruned");
    let at = "2026-04-24T03:06:40.000000000Z";
    assert_eq!(
        Value::from(marker.data.clone()),
        json!({
            "first_pruned_sequence": 0, "last_pruned_sequence": 1, "pruned_at": at, "reason": "retention",
            "root": chain.root().to_string(),
        })
    );
    let hash = r1_event::Digest::blake3(format!("{RUN}\n0\n1\n{at}").as_bytes());
    assert_eq!(marker.event_id, id::event_id(prune.pruned_at, hash));
}

#[test]
fn ep_06_unknown_types_and_fields_are_served_untouched() {
    let known = json!({ "tool_call_id": "c", "invented": { "deep": [1.5, "x", null] } });
    let unknown = json!({ "anything": { "\u{10000}": 18_446_744_073_709_551_615_u64 } });
    let typed = |name: &str, data: &Value| Payload::Typed(data::typed(name, data));
    let mut extended = data::typed("later.thing", &unknown);
    extended.extra.set("beside", raw(json!(true)));
    let records = log(vec![
        Payload::RunStarted(Box::new(queued())),
        typed("tool.started", &known),
        Payload::Typed(extended),
        Payload::Other(99, Cbor::object([("bytes", Cbor::Bytes(vec![1, 2]))]).encode().into()),
    ]);
    let facts = RunFacts::of_first(&records[0], None).unwrap();
    let envelope = |index: usize| facts.envelope(&records[index], None, Thinking::Hidden).unwrap();
    let any = jsonschema::draft202012::new(&schema::any_envelope(Strictness::Open)).unwrap();
    for (index, type_name, data) in
        [(1, "tool.started", known), (2, "later.thing", unknown), (3, "log.kind_99", json!({ "bytes": "AQI=" }))]
    {
        let json: Value = serde_json::from_slice(&envelope(index).to_bytes()).unwrap();
        assert_eq!((json["type"].as_str().unwrap(), &json["data"]), (type_name, &data));
        assert!(any.is_valid(&json), "{json}");
    }
}

#[test]
fn a_whole_log_is_held_against_types_and_order() {
    let released = || data::RunReleased { by: data::By::Operator, ..Default::default() }.to_payload();
    let start = || Payload::RunStarted(Box::new(queued()));
    assert_eq!(conformance::problems(&log(vec![start(), released()]), &[]), [""; 0]);
    let message = Payload::UserMessageAppended(UserMessageAppended::default());
    let spoiled = log(vec![start(), message, data::ToolStarted::default().to_payload()]);
    assert_eq!(
        conformance::problems(&spoiled, &[]),
        [
            "`user.message` at sequence 1: /turn_index is missing",
            "`tool.started` at sequence 2: /tool_call_id cannot be \"\"",
            "`tool.started` at sequence 2: /kind cannot be \"\"",
            "L6 at sequence 2: call  started without being invoked just before",
        ]
    );
}
