//! The runs that the golden vectors are made of: every kind, every field, every corner of the encoding.

use bytes::Bytes;
use r1_event::cbor::Value;
use r1_event::payload::{
    AssistantMessageCompleted, BudgetExceeded, BudgetLimits, ContextTruncated, Extra, PlannedToolUse, Raw,
    ReasoningEmitted, RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted, SideEffectRecorded,
    ToolCallCompleted, ToolCallFailed, ToolCallScheduled, ToolSchemaRef, TurnFailed, TurnStarted, Typed,
    UserMessageAppended,
};
use r1_event::{Batch, Chain, Payload, UnixNanos};

/// A number no R1 has given a meaning yet.
const UNKNOWN_KIND: u64 = 4_242;

/// A finished run with every kind but the two other terminals.
pub(crate) fn every_kind() -> Batch {
    run("run_01HZX5B2Q8M7C3D4E5F6G7H8J9", every_payload())
}

/// Runs that end in the two other ways.
pub(crate) fn other_endings() -> [Batch; 2] {
    let failed =
        RunFailed { error: "no route to the model".into(), error_type: "provider".into(), ..RunFailed::default() };
    let cancelled = RunCancelled {
        reason: "asked to".into(),
        by: Some("operator:ada".into()),
        duration_ms: 7,
        ..RunCancelled::default()
    };
    let start = || Payload::RunStarted(Box::default());
    [
        run("run_01HZX5B2Q8M7C3D4E5F6G7H8JA", [start(), Payload::RunFailed(failed)]),
        run("run_01HZX5B2Q8M7C3D4E5F6G7H8JB", [start(), Payload::RunCancelled(cancelled)]),
    ]
}

/// A finished run whose second event was redacted by its third.
pub(crate) fn redacted() -> Batch {
    let data = Value::object([
        ("reason", Value::text("a key was pasted")),
        ("seqs", Value::Array(vec![Value::Uint(2)])),
        ("actor", Value::text("operator:ada")),
    ]);
    run(
        "run_01HZX5B2Q8M7C3D4E5F6G7H8JC",
        [
            Payload::RunStarted(Box::default()),
            Payload::UserMessageAppended(UserMessageAppended {
                content: "my key is hunter2".into(),
                ..Default::default()
            }),
            Payload::Typed(Typed {
                r#type: "redaction.applied".into(),
                data: Raw::from(&data),
                extra: Extra::default(),
            }),
            Payload::RunCompleted(RunCompleted::default()),
        ],
    )
}

fn run(id: &str, payloads: impl IntoIterator<Item = Payload>) -> Batch {
    let mut batch = Batch::new(&Chain::new(id.parse().unwrap()));
    for (index, payload) in payloads.into_iter().enumerate() {
        // The second event lies before 1970: times are signed.
        let ts = if index == 1 { -1 } else { 1_700_000_000_000_000_000 + index as i64 * 1_000_000_007 };
        batch.push(UnixNanos(ts), payload).unwrap();
    }
    batch
}

fn hash(of: &str) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(blake3::hash(of.as_bytes()).as_bytes()))
}

fn raw(value: Value) -> Raw {
    Raw::from(&value)
}

fn extra(key: &str, value: Value) -> Extra {
    let mut extra = Extra::default();
    extra.set(key, raw(value));
    extra
}

fn place(run: &str, seq: u64) -> Option<Raw> {
    Some(raw(Value::object([("run_id", Value::text(run)), ("seq", Value::Uint(seq))])))
}

fn every_payload() -> Vec<Payload> {
    vec![
        started(),
        Payload::UserMessageAppended(UserMessageAppended {
            content: "Grüße, 世界 \u{1f980}\n\"quoted\"".into(),
            turn_index: Some(0),
            ..Default::default()
        }),
        Payload::TurnStarted(TurnStarted {
            turn_id: "turn_1".into(),
            prompt_hash: hash("prompt"),
            input_tokens: 24,
            turn_index: Some(0),
            ..Default::default()
        }),
        Payload::TurnFailed(TurnFailed {
            turn_id: Some("turn_1".into()),
            turn_index: Some(0),
            code: Some("overloaded".into()),
            message: Some("try later".into()),
            will_retry: Some(true),
            attempt: Some(1),
            ..Default::default()
        }),
        Payload::ReasoningEmitted(ReasoningEmitted {
            turn_id: "turn_1".into(),
            content: "hm".into(),
            sensitive: true,
            signature: Some(Bytes::from_static(&[0, 255])),
            redacted: true,
            turn_index: Some(0),
            ..Default::default()
        }),
        answered(),
        Payload::ToolCallScheduled(ToolCallScheduled {
            call_id: "call_1".into(),
            turn_id: "turn_1".into(),
            tool: "read_file".into(),
            args: raw(Value::object([("path", Value::text("a.txt"))])),
            attempt: 1,
            idemp_key: "k".into(),
            turn_index: Some(0),
            ..Default::default()
        }),
        Payload::ToolCallFailed(ToolCallFailed {
            call_id: "call_1".into(),
            error: "no such file".into(),
            error_type: "tool".into(),
            duration_ms: -1,
            attempt: 1,
            ..Default::default()
        }),
        Payload::ToolCallCompleted(ToolCallCompleted {
            call_id: "call_1".into(),
            result: raw(Value::Array(vec![Value::Null, Value::Undefined, Value::Simple(99), Value::Bool(false)])),
            duration_ms: 65_536,
            attempt: 2,
            ..Default::default()
        }),
        Payload::SideEffectRecorded(SideEffectRecorded {
            name: "rand".into(),
            value: raw(Value::Uint(u64::MAX)),
            ..Default::default()
        }),
        Payload::BudgetExceeded(BudgetExceeded {
            limit: "usd".into(),
            cap: 1.5,
            actual: 100_000.0,
            r#where: "mid_stream".into(),
            turn_id: "turn_1".into(),
            call_id: "call_1".into(),
            partial_text: "so f".into(),
            partial_tokens: 2,
            ..Default::default()
        }),
        Payload::ContextTruncated(ContextTruncated {
            strategy: "summary".into(),
            tokens_before: 200_000,
            tokens_after: 5_000_000_000,
            messages_before: 300,
            messages_after: 23,
            extra: Extra::default(),
        }),
        Payload::RunResumed(RunResumed {
            at_seq: 12,
            reissue_tools: true,
            pending_calls: 1,
            extra_message: "go on".into(),
            ..Default::default()
        }),
        Payload::Typed(Typed {
            r#type: "tool.shell.output_chunk".into(),
            data: raw(Value::object([("stream", Value::text("stdout")), ("bytes", Value::Bytes(vec![1, 2, 3]))])),
            extra: extra("later", Value::Tag(1, Box::new(Value::int(-500)))),
        }),
        Payload::Other(
            UNKNOWN_KIND,
            Value::Map(vec![
                (Value::int(-1), Value::Float(f64::NAN)),
                (Value::Uint(1_000), Value::Float(-0.0)),
                (Value::Bytes(vec![]), Value::Map(vec![])),
                (Value::text("b"), Value::Nint(u64::MAX)),
            ])
            .encode()
            .into(),
        ),
        Payload::RunCompleted(RunCompleted {
            final_text: "done".into(),
            turn_count: 1,
            tool_call_count: 2,
            total_cost_usd: 0.1,
            total_input_tokens: 256,
            total_output_tokens: i64::MAX,
            duration_ms: i64::MIN,
            total_cost_micros_usd: Some(100_000),
            ..Default::default()
        }),
    ]
}

fn started() -> Payload {
    Payload::RunStarted(Box::new(RunStarted {
        goal: "explain the glass box".into(),
        provider_id: "anthropic".into(),
        model_id: "m-1".into(),
        api_version: "2026-01-01".into(),
        params_hash: hash("params"),
        params: raw(Value::object([("temperature", Value::Float(0.7)), ("top_k", Value::Uint(40))])),
        system_prompt_hash: Some(Bytes::new()),
        system_prompt: "be brief".into(),
        tool_registry_hash: None,
        tool_schemas: Some(vec![ToolSchemaRef {
            name: "read_file".into(),
            schema_hash: hash("schema"),
            extra: Extra::default(),
        }]),
        budget: Some(BudgetLimits { max_usd: 2.5, max_wall_clock_ms: 60_000, ..Default::default() }),
        app_version: "0.1.0".into(),
        run_kind: Some("agent_loop".into()),
        task_id: Some("task_01HZX5B2Q8M7C3D4E5F6G7H8J9".into()),
        session_id: Some("chat_01HZX5B2Q8M7C3D4E5F6G7H8J9".into()),
        workspace: Some(raw(Value::object([("path", Value::text("/home/ada/box")), ("mode", Value::text("rw"))]))),
        parent: place("run_01HZX5B2Q8M7C3D4E5F6G7H8J0", 3),
        resumed_from: place("run_01HZX5B2Q8M7C3D4E5F6G7H8J1", 9),
        forked_from: place("run_01HZX5B2Q8M7C3D4E5F6G7H8J2", 255),
        instance_id: Some("r1-0badcafe".into()),
        trace_parent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        source: Some(raw(Value::object([("agent", Value::text("other"))]))),
        extra: extra("a_key_of_a_newer_writer_that_is_rather_long", Value::Bool(true)),
        ..RunStarted::default()
    }))
}

fn answered() -> Payload {
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: "turn_1".into(),
        text: "I will read it.".into(),
        stop_reason: "tool_use".into(),
        input_tokens: 24,
        output_tokens: 255,
        cost_usd: 0.000_244_140_625,
        raw_response_hash: hash("stream"),
        tool_uses: Some(vec![PlannedToolUse {
            call_id: "call_1".into(),
            tool: "read_file".into(),
            args: raw(Value::object([("path", Value::text("a.txt"))])),
            extra: Extra::default(),
        }]),
        cache_read_tokens: 1,
        cache_create_tokens: 2,
        provider_request_id: "req_9".into(),
        turn_index: Some(0),
        cost_micros_usd: Some(244),
        duration_ms: Some(1_234),
        ..Default::default()
    }))
}
