//! The run that the demo records: an agent mends a failing test.

use r1_event::UnixNanos;
use r1_event::cbor::Value;
use r1_event::payload::{
    AssistantMessageCompleted, Payload, PlannedToolUse, Raw, RunCompleted, RunStarted, ToolCallCompleted,
    ToolCallScheduled, TurnStarted, Typed, UserMessageAppended,
};

/// The event that the demo proves: what the tests said.
pub(super) const PROVED: u64 = 7;
/// The event whose payload the demo flips a bit of: what the tests said.
pub(super) const FLIPPED: usize = 7;

/// The run's events in the batches in which they are committed. The run ends at `now`.
pub(super) fn batches(now: UnixNanos) -> Vec<Vec<(UnixNanos, Payload)>> {
    let events = payloads();
    let start = now.0 - TIMES.last().copied().unwrap_or(0) * 1_000_000;
    let timed = events.into_iter().zip(TIMES).map(|(payload, ms)| (UnixNanos(start + ms * 1_000_000), payload));
    let timed: Vec<_> = timed.collect();
    timed.chunks(4).map(<[_]>::to_vec).collect()
}

/// Milliseconds since the start of the run, per event.
const TIMES: [i64; 15] = [0, 3, 9, 1_412, 1_415, 1_420, 3_077, 3_080, 3_085, 5_204, 5_208, 5_219, 7_950, 9_311, 9_318];

fn payloads() -> Vec<Payload> {
    let edit = object(&[("path", "src/cart.rs"), ("replace", "qty > 1"), ("with", "qty >= 1")]);
    let test = object(&[("command", "cargo test cart")]);
    vec![
        Payload::RunStarted(Box::new(RunStarted {
            goal: "fix the rounding bug in the cart".into(),
            provider_id: "example".into(),
            model_id: "demo-model".into(),
            run_kind: Some("agent_loop".into()),
            ..RunStarted::default()
        })),
        Payload::UserMessageAppended(UserMessageAppended {
            content: "The cart test fails since yesterday. Please fix it, and do not touch the test.".into(),
            ..UserMessageAppended::default()
        }),
        turn_started("turn_1"),
        turn_completed("turn_1", "I run the test first.", vec![("call_1", "shell", test.clone())]),
        scheduled("call_1", "turn_1", "shell", &test),
        typed(
            "tool.shell.exited",
            Value::object([("tool_call_id", Value::text("call_1")), ("exit_code", Value::int(101))]),
        ),
        completed("call_1", "test cart::free_item ... FAILED: expected 0.00, got 4.99", 1_657),
        turn_started("turn_2"),
        turn_completed("turn_2", "An off-by-one in the discount.", vec![("call_2", "edit", edit.clone())]),
        scheduled("call_2", "turn_2", "edit", &edit),
        completed("call_2", "1 line changed", 11),
        scheduled("call_3", "turn_2", "shell", &test),
        completed("call_3", "12 tests passed", 2_731),
        typed(
            "artifact.created",
            Value::object([("path", Value::text("src/cart.rs")), ("kind", Value::text("patch"))]),
        ),
        Payload::RunCompleted(RunCompleted {
            final_text: "Fixed: the discount now starts at the first item. All 12 tests pass.".into(),
            turn_count: 2,
            tool_call_count: 3,
            total_cost_micros_usd: Some(8_140),
            total_cost_usd: 0.00814,
            total_input_tokens: 6_210,
            total_output_tokens: 402,
            duration_ms: 9_318,
            ..RunCompleted::default()
        }),
    ]
}

fn object(entries: &[(&str, &str)]) -> Value {
    Value::object(entries.iter().map(|(key, value)| (*key, Value::text(*value))))
}

fn turn_started(turn: &str) -> Payload {
    Payload::TurnStarted(TurnStarted { turn_id: turn.into(), input_tokens: 2_900, ..TurnStarted::default() })
}

fn turn_completed(turn: &str, text: &str, calls: Vec<(&str, &str, Value)>) -> Payload {
    let planned = |(call_id, tool, args): (&str, &str, Value)| PlannedToolUse {
        call_id: call_id.into(),
        tool: tool.into(),
        args: Raw::from(&args),
        ..PlannedToolUse::default()
    };
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: turn.into(),
        text: text.into(),
        stop_reason: "tool_use".into(),
        input_tokens: 3_105,
        output_tokens: 201,
        cost_usd: 0.00407,
        cost_micros_usd: Some(4_070),
        tool_uses: Some(calls.into_iter().map(planned).collect()),
        ..AssistantMessageCompleted::default()
    }))
}

fn scheduled(call: &str, turn: &str, tool: &str, args: &Value) -> Payload {
    Payload::ToolCallScheduled(ToolCallScheduled {
        call_id: call.into(),
        turn_id: turn.into(),
        tool: tool.into(),
        args: Raw::from(args),
        attempt: 1,
        ..ToolCallScheduled::default()
    })
}

fn completed(call: &str, result: &str, duration_ms: i64) -> Payload {
    Payload::ToolCallCompleted(ToolCallCompleted {
        call_id: call.into(),
        result: Raw::from(&Value::text(result)),
        duration_ms,
        attempt: 1,
        ..ToolCallCompleted::default()
    })
}

fn typed(type_name: &str, data: Value) -> Payload {
    Payload::Typed(Typed { r#type: type_name.into(), data: Raw::from(&data), ..Typed::default() })
}
