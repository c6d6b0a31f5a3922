//! A log of Starling's in which something was changed, with a chain that is in order.

use r1_event::Payload;
use r1_event::payload::{BudgetLimits, ContextTruncated};
use r1_runtime::replay::{Divergence, DivergenceKind};
use serde_json::{Value, json};

use super::log::{
    Log, answer, args, call, completed, failed, finished, first_turn, message, run_failed, seam, started,
    turn_with_tools,
};

async fn divergence(log: &Log) -> Divergence {
    log.replay().await.divergence.expect("the change is found")
}

/// Where a log diverges: its seq, and path, replayed and recorded value of each difference.
async fn named(log: &Log) -> (u64, Vec<(String, Value, Value)>) {
    let Divergence { seq, differences, .. } = divergence(log).await;
    let side = |value: Option<Value>| value.unwrap_or(json!("(absent)"));
    let differences = differences.into_iter().map(|one| (one.path, side(one.expected), side(one.found)));
    (seq.get(), differences.collect())
}

fn one(path: &str, expected: impl Into<Value>, found: impl Into<Value>) -> Vec<(String, Value, Value)> {
    vec![(path.to_owned(), expected.into(), found.into())]
}

fn hello() -> Log {
    Log::from([started(&[]), first_turn("t1"), answer("t1", "hi", &[]), finished("hi", 1, 0)])
}

/// Two calls side by side, then an answer.
fn calls() -> Log {
    let (one, two) = (args(r#"{"n": 1}"#), args(r#"{"n": 2}"#));
    Log::from([
        started(&["a", "b"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &one), ("c2", "b", &two)]),
        call("c1", "t1", "a", &one, 1),
        call("c2", "t1", "b", &two, 1),
        completed("c2", 1),
        completed("c1", 1),
        turn_with_tools("t2"),
        answer("t2", "done", &[]),
        finished("done", 2, 2),
    ])
}

#[tokio::test]
async fn log_20_a_changed_starling_prompt_is_named_with_both_hashes() {
    let system = hello().forged(0, |payload| {
        if let Payload::RunStarted(started) = payload {
            started.system_prompt = "be long".into();
        }
    });
    let (seq, differences) = named(&system).await;
    let [(path, Value::String(replayed), Value::String(recorded))] = &differences[..] else {
        panic!("{differences:?}");
    };
    assert_eq!((seq, path.as_str(), replayed.len(), recorded.len()), (1, "/system_prompt_hash", 64, 64));
    assert_ne!(replayed, recorded);

    let goal = hello().forged(0, |payload| {
        if let Payload::RunStarted(started) = payload {
            started.goal = "say ho".into();
        }
    });
    let (seq, differences) = named(&goal).await;
    assert_eq!((seq, differences.len(), differences[0].0.as_str()), (2, 1, "/prompt_hash"));

    let estimate = hello().forged(1, |payload| {
        if let Payload::TurnStarted(turn) = payload {
            turn.input_tokens += 1;
        }
    });
    assert_eq!(named(&estimate).await, (2, one("/input_tokens", 5, 6)));

    let tools = calls().forged(0, |payload| {
        if let Payload::RunStarted(started) = payload {
            started.tool_schemas.as_mut().unwrap().reverse();
        }
    });
    let (seq, differences) = named(&tools).await;
    assert_eq!((seq, differences[0].clone()), (1, ("/tool_schemas/0/name".into(), json!("a"), json!("b"))));
}

#[tokio::test]
async fn log_20_a_changed_or_swapped_starling_call_is_named_with_both_values() {
    let scheduled = |change: fn(&mut r1_event::payload::ToolCallScheduled)| {
        calls().forged(3, |payload| {
            if let Payload::ToolCallScheduled(call) = payload {
                change(call);
            }
        })
    };
    let argument = scheduled(|call| call.args = args(r#"{"n": 9}"#));
    assert_eq!(named(&argument).await, (4, one("/args/n", 1, 9)));
    let float = scheduled(|call| call.args = args(r#"{"n": 1.0}"#));
    assert_eq!(named(&float).await, (4, one("/args/n", 1, 1.0)));
    let attempt = scheduled(|call| call.attempt = 5);
    assert_eq!(named(&attempt).await, (4, one("/attempt", 1, 5)));
    let turn = scheduled(|call| call.turn_id = "t0".into());
    assert_eq!(named(&turn).await, (4, one("/turn_id", "t1", "t0")));

    let (seq, differences) = named(&calls().swapped(3, 4)).await;
    let swapped = [one("/args/n", 1, 2), one("/call_id", "c1", "c2"), one("/tool", "a", "b")].concat();
    assert_eq!((seq, differences), (4, swapped));

    let early = divergence(&calls().swapped(4, 5)).await;
    assert_eq!((early.seq.get(), early.expected.unwrap().type_name.as_str()), (5, "tool.invoked"));
    assert_eq!(early.found.unwrap().type_name, "tool.completed");
}

#[tokio::test]
async fn log_20_a_changed_starling_result_is_named_with_both_values() {
    let other = calls().forged(5, |payload| {
        if let Payload::ToolCallCompleted(call) = payload {
            call.call_id = "c9".into();
        }
    });
    assert_eq!(named(&other).await, (6, one("/call_id", "c1", "c9")));
    let attempt = calls().forged(5, |payload| {
        if let Payload::ToolCallCompleted(call) = payload {
            call.attempt = 2;
        }
    });
    assert_eq!(named(&attempt).await, (6, one("/attempt", 1, 2)));

    let none = args("{}");
    let failure = Log::from([
        started(&["a"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none)]),
        call("c1", "t1", "a", &none, 1),
        failed("c1", 1, "all is well"),
        run_failed("starling: tool \"a\" (call c1): disk full", "tool"),
    ]);
    let (replayed, recorded) =
        ("starling: tool \"a\" (call c1): all is well", "starling: tool \"a\" (call c1): disk full");
    assert_eq!(named(&failure).await, (6, one("/error", replayed, recorded)));
}

#[tokio::test]
async fn log_20_a_changed_starling_total_is_named_with_both_values() {
    let end = |change: fn(&mut r1_event::payload::RunCompleted)| {
        calls().forged(9, |payload| {
            if let Payload::RunCompleted(end) = payload {
                change(end);
            }
        })
    };
    assert_eq!(named(&end(|end| end.final_text = "or not".into())).await, (10, one("/final_text", "done", "or not")));
    assert_eq!(named(&end(|end| end.turn_count = 3)).await, (10, one("/turn_count", 2, 3)));
    assert_eq!(named(&end(|end| end.tool_call_count = 1)).await, (10, one("/tool_call_count", 2, 1)));
    assert_eq!(named(&end(|end| end.total_input_tokens = 21)).await, (10, one("/total_input_tokens", 20, 21)));
    assert_eq!(named(&end(|end| end.total_output_tokens = 9)).await, (10, one("/total_output_tokens", 10, 9)));
    assert_eq!(named(&end(|end| end.total_cost_usd = 0.3)).await, (10, one("/total_cost_usd", 0.2, 0.3)));

    let text = hello().forged(2, |payload| {
        if let Payload::AssistantMessageCompleted(message) = payload {
            message.text = "never said".into();
        }
    });
    assert_eq!(named(&text).await, (4, one("/final_text", "never said", "hi")));

    let success = calls().forged(9, |payload| *payload = run_failed("it went wrong", "internal"));
    let divergence = divergence(&success).await;
    assert_eq!(divergence.expected.unwrap().type_name, "run.finished");
    assert_eq!(divergence.found.unwrap().type_name, "run.failed");
}

#[tokio::test]
async fn log_20_a_root_that_is_not_that_of_the_log_is_named_with_both_values() {
    let forge = |payload: &mut Payload| {
        if let Payload::RunCompleted(end) = payload {
            end.merkle_root = Some(vec![7; 32].into());
        }
    };
    let divergence = hello().replay_ending(forge).await.divergence.expect("the change is found");
    let [difference] = &divergence.differences[..] else { panic!("{divergence:?}") };
    assert_eq!((divergence.seq.get(), difference.path.as_str()), (4, "/merkle_root"));
    assert_eq!(difference.found, Some("07".repeat(32).into()));
    assert_ne!(difference.expected, difference.found);
}

#[tokio::test]
async fn log_20_a_turn_or_an_answer_that_a_budget_forbade_is_refused() {
    let limited = |limits: BudgetLimits| {
        hello().forged(0, |payload| {
            if let Payload::RunStarted(started) = payload {
                started.budget = Some(limits);
            }
        })
    };
    let turn = limited(BudgetLimits { max_input_tokens: 4, ..BudgetLimits::default() });
    let answer = limited(BudgetLimits { max_output_tokens: 4, ..BudgetLimits::default() });
    let price = limited(BudgetLimits { max_usd: 0.05, ..BudgetLimits::default() });
    for (log, seq, limit, cap) in
        [(turn, 2, "input_tokens", 4.0), (answer, 3, "output_tokens", 4.0), (price, 3, "usd", 0.05)]
    {
        let divergence = divergence(&log).await;
        let expected = divergence.expected.unwrap();
        assert_eq!((divergence.seq.get(), expected.type_name.as_str()), (seq, "cost.budget_exceeded"));
        assert_eq!((&expected.data["limit"], &expected.data["cap"]), (&json!(limit), &json!(cap)));
    }
}

#[tokio::test]
async fn log_20_a_changed_starling_seam_is_named_with_both_values() {
    let none = args("{}");
    let resumed = |at_seq, extra: &str, pending, again: Payload| {
        Log::from([
            started(&["a"]),
            turn_with_tools("t1"),
            answer("t1", "", &[("c1", "a", &none)]),
            call("c1", "t1", "a", &none, 1),
            seam(at_seq, extra, pending),
            message("go on"),
            again,
        ])
    };
    let again = || call("new", "t1", "a", &none, 1);
    assert_eq!(resumed(4, "go on", 1, again()).replay().await.divergence, None);
    assert_eq!(named(&resumed(3, "go on", 1, again())).await, (5, one("/at_seq", 4, 3)));
    assert_eq!(named(&resumed(4, "go on", 0, again())).await, (5, one("/pending_calls", 1, 0)));
    assert_eq!(named(&resumed(4, "stop", 1, again())).await, (6, one("/content", "stop", "go on")));
    let other = call("new", "t1", "rm", &none, 1);
    assert_eq!(named(&resumed(4, "go on", 1, other)).await, (7, one("/tool", "a", "rm")));
}

#[tokio::test]
async fn log_20_an_event_that_starlings_loop_never_writes_is_refused() {
    let cut = Log::from([
        started(&[]),
        first_turn("t1"),
        Payload::ContextTruncated(ContextTruncated { strategy: "drop".into(), ..ContextTruncated::default() }),
    ]);
    let divergence = divergence(&cut).await;
    assert_eq!((divergence.seq.get(), divergence.kind), (3, DivergenceKind::Unexpected));
    assert_eq!(divergence.found.unwrap().type_name, "run.context_truncated");
}
