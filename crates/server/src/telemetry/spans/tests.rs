use opentelemetry_proto::tonic::common::v1::any_value::Value as Told;
use r1_event::payload::{RunCancelled, RunCompleted, RunResumed, ToolCallCompleted, ToolCallFailed};
use r1_event::{Batch, Chain, Record};

use super::*;

const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";

fn log(payloads: Vec<Payload>) -> Vec<Record> {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    for (index, payload) in payloads.into_iter().enumerate() {
        batch.push(UnixNanos(1_000 + index as i64), payload).unwrap();
    }
    batch.records().to_vec()
}

/// Every span of a log, in the order in which they end.
fn spans(payloads: Vec<Payload>, content: bool) -> Vec<Ended> {
    let mut fold: Option<RunSpans> = None;
    let mut ended = Vec::new();
    for record in log(payloads) {
        let header = record.header().unwrap();
        let payload = Payload::decode(header.kind, record.payload.as_ref().unwrap()).unwrap();
        let event = Event { hash: record.hash(), at: header.ts, payload: &payload };
        match (&mut fold, &payload) {
            (Some(fold), _) => ended.extend(fold.take(event)),
            (None, Payload::RunStarted(started)) => {
                fold = Some(RunSpans::new(&RUN.parse().unwrap(), event, started, content));
            }
            (None, _) => panic!("a log begins with its run"),
        }
    }
    ended
}

fn started() -> Payload {
    Payload::RunStarted(Box::new(RunStarted {
        goal: "mend it".into(),
        provider_id: "gemini".into(),
        model_id: "m-1".into(),
        run_kind: Some("agent_loop".into()),
        ..RunStarted::default()
    }))
}

fn turn(id: &str) -> Payload {
    Payload::TurnStarted(TurnStarted { turn_id: id.into(), ..TurnStarted::default() })
}

fn answer(id: &str) -> Payload {
    Payload::AssistantMessageCompleted(Box::new(AssistantMessageCompleted {
        turn_id: id.into(),
        text: "I look".into(),
        stop_reason: "tool_use".into(),
        input_tokens: 100,
        output_tokens: 7,
        cache_read_tokens: 20,
        ..AssistantMessageCompleted::default()
    }))
}

fn call(id: &str, attempt: u32) -> Payload {
    let (call_id, tool) = (id.into(), "grep".into());
    Payload::ToolCallScheduled(ToolCallScheduled { call_id, tool, attempt, ..ToolCallScheduled::default() })
}

fn text(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|attribute| attribute.key == key)?.value.clone()?.value?;
    Some(match value {
        Told::StringValue(text) => text,
        Told::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

fn names(ended: &[Ended]) -> Vec<(&str, Option<&str>)> {
    ended.iter().map(|ended| (ended.span.name.as_str(), ended.error.as_deref())).collect()
}

fn whole_run() -> Vec<Payload> {
    let failed = TurnFailed { code: Some("model_timeout".into()), will_retry: Some(true), ..TurnFailed::default() };
    let done = ToolCallCompleted { call_id: "c".into(), attempt: 2, ..ToolCallCompleted::default() };
    let broken =
        ToolCallFailed { call_id: "c".into(), attempt: 1, error_type: "tool".into(), ..ToolCallFailed::default() };
    vec![
        started(),
        turn("t"),
        Payload::TurnFailed(failed),
        answer("t"),
        call("c", 1),
        Payload::ToolCallFailed(broken),
        call("c", 2),
        Payload::ToolCallCompleted(done),
        Payload::RunCompleted(RunCompleted { final_text: "done".into(), turn_count: 1, ..RunCompleted::default() }),
    ]
}

#[test]
fn a_run_a_turn_and_each_attempt_at_a_call_are_spans_of_one_trace() {
    let ended = spans(whole_run(), false);
    assert_eq!(
        names(&ended),
        [
            ("chat m-1", None),
            ("execute_tool grep", Some("tool")),
            ("execute_tool grep", None),
            ("invoke_agent r1", None)
        ]
    );
    let run = &ended[3].span;
    for Ended { span, .. } in &ended[..3] {
        assert_eq!((&span.trace_id, &span.parent_span_id), (&run.trace_id, &run.span_id));
    }
    assert!(run.parent_span_id.is_empty());
    assert_eq!((run.start_time_unix_nano, run.end_time_unix_nano), (1_000, 1_008));
    let chat = &ended[0].span;
    assert_eq!((chat.start_time_unix_nano, chat.end_time_unix_nano), (1_001, 1_003));
    assert_eq!(text(chat, "gen_ai.provider.name").as_deref(), Some("gcp.gemini"));
    assert_eq!(text(chat, "gen_ai.usage.input_tokens").as_deref(), Some("120"), "cached tokens are input too");
    assert_eq!(chat.events.len(), 1, "the attempt that failed");
    assert_eq!(ended[0].tokens, Some((120, 7)));
}

#[test]
fn the_same_events_give_the_same_spans() {
    assert_eq!(spans(whole_run(), true), spans(whole_run(), true));
}

#[test]
fn content_is_told_only_if_asked_for() {
    let keys = |content: bool| {
        let ended = spans(whole_run(), content);
        let keys = ended.iter().flat_map(|ended| &ended.span.attributes).map(|attribute| attribute.key.clone());
        keys.filter(|key| key.contains("messages") || key.contains("arguments") || key.ends_with("result")).count()
    };
    assert_eq!(keys(false), 0);
    assert_eq!(keys(true), 1 + 2 + 1 + 2, "the answer, two inputs, one result, and what the run was asked and said");
    let ended = spans(whole_run(), true);
    assert_eq!(
        text(&ended[0].span, "gen_ai.output.messages").as_deref(),
        Some(r#"[{"finish_reason":"tool_use","parts":[{"content":"I look","type":"text"}],"role":"assistant"}]"#)
    );
}

#[test]
fn what_is_open_when_a_run_is_cancelled_or_taken_over_ends_there() {
    let cancelled = Payload::RunCancelled(RunCancelled::default());
    let resumed = Payload::RunResumed(RunResumed::default());
    let ended = spans(vec![started(), turn("t"), resumed, turn("u"), answer("u"), call("c", 1), cancelled], false);
    assert_eq!(
        names(&ended),
        [
            ("chat m-1", Some("abandoned")),
            ("chat m-1", None),
            ("execute_tool grep", Some("cancelled")),
            ("invoke_agent r1", Some("cancelled"))
        ]
    );
    let ids: std::collections::HashSet<_> = ended.iter().map(|ended| &ended.span.span_id).collect();
    assert_eq!(ids.len(), 4, "every span has an id of its own");
}
