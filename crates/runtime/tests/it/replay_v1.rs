//! Replays of Starling's logs.

mod forged;
mod log;

use r1_event::Payload;
use r1_event::payload::{
    BudgetExceeded, BudgetLimits, ReasoningEmitted, RunCancelled, RunFailed, RunStarted, SideEffectRecorded,
};
use r1_runtime::replay::Report;

use self::log::{
    Log, answer, args, call, completed, failed, finished, first_turn, message, retried, seam, started, turn_with_tools,
};

/// A report without divergence: so many events, compared, taken.
fn same(events: u64, compared: u64, taken: u64) -> Report {
    Report { events, compared, taken, divergence: None }
}

#[tokio::test]
async fn log_20_a_starling_run_without_tools_comes_out_byte_for_byte() {
    let log = Log::from([
        started(&[]),
        first_turn("t1"),
        Payload::ReasoningEmitted(ReasoningEmitted {
            turn_id: "t1".into(),
            content: "hm".into(),
            sensitive: true,
            ..Default::default()
        }),
        answer("t1", "hi", &[]),
        finished("hi", 1, 0),
    ]);
    // The prompt's hash too: everything that it covers is in the log.
    assert_eq!(log.replay().await, same(5, 3, 0));
}

#[tokio::test]
async fn log_20_starling_arguments_are_compared_however_the_model_spelled_them() {
    // `{ "n": 1.0, "deep": {"b": [1, 2.5], "a": null} }`: Starling cannot spell it so again.
    let spelled = args(r#"{ "n": 1.0, "deep": {"b": [1, 2.5], "a": null} }"#);
    assert!(spelled.bytes().windows(3).any(|bytes| bytes == [0xf9, 0x3c, 0x00]), "1.0 stays a float");
    let log = Log::from([
        started(&["echo"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "echo", &spelled)]),
        call("c1", "t1", "echo", &spelled, 1),
        completed("c1", 1),
        turn_with_tools("t2"),
        answer("t2", "done", &[]),
        finished("done", 2, 1),
    ]);
    assert_eq!(log.replay().await, same(8, 3, 2));
}

#[tokio::test]
async fn log_20_starling_tools_side_by_side_may_end_in_any_order_and_look_at_the_clock() {
    let none = args("{}");
    let clock = || {
        Payload::SideEffectRecorded(SideEffectRecorded {
            name: "now".into(),
            value: args("17"),
            ..SideEffectRecorded::default()
        })
    };
    let log = Log::from([
        started(&["a", "b"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none), ("c2", "b", &none)]),
        call("c1", "t1", "a", &none, 1),
        call("c2", "t1", "b", &none, 1),
        clock(),
        completed("c2", 1),
        clock(),
        completed("c1", 1),
        turn_with_tools("t2"),
        answer("t2", "done", &[]),
        finished("done", 2, 2),
    ]);
    assert_eq!(log.replay().await, same(12, 4, 2));
}

#[tokio::test]
async fn log_20_starling_retries_side_by_side_are_followed_call_by_call() {
    let none = args("{}");
    let log = Log::from([
        started(&["a", "b"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none), ("c2", "b", &none)]),
        call("c1", "t1", "a", &none, 1),
        call("c2", "t1", "b", &none, 1),
        retried("c2", 1),
        retried("c1", 1),
        call("c1", "t1", "a", &none, 2),
        call("c2", "t1", "b", &none, 2),
        retried("c1", 2),
        completed("c2", 2),
        call("c1", "t1", "a", &none, 3),
        completed("c1", 3),
        turn_with_tools("t2"),
        answer("t2", "done", &[]),
        finished("done", 2, 5),
    ]);
    assert_eq!(log.replay().await, same(16, 7, 2));
}

#[tokio::test]
async fn log_20_a_starling_program_without_the_loop_is_followed_step_by_step() {
    let none = args("{}");
    let Payload::RunStarted(mut program) = started(&[]) else { unreachable!() };
    program.tool_schemas = None;
    let log = Log::from([
        Payload::RunStarted(program),
        call("c1", "t", "flaky", &none, 1),
        retried("c1", 1),
        call("c1", "t", "flaky", &none, 2),
        completed("c1", 2),
        finished("whatever it likes", 0, 8),
    ]);
    assert_eq!(log.replay().await, same(6, 1, 2));
}

#[tokio::test]
async fn log_20_a_resumed_starling_run_makes_lost_calls_again_and_asks_the_same_again() {
    let once = args(r#"{"n": 1.0}"#);
    let again = args(r#"{"n": 1}"#);
    let none = args("{}");
    let lost = Log::from([
        started(&["a", "b"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &once), ("c2", "b", &none), ("c3", "b", &none)]),
        call("c1", "t1", "a", &once, 1),
        call("c2", "t1", "b", &none, 1),
        call("c3", "t1", "b", &none, 1),
        completed("c2", 1),
        seam(7, "go on", 2),
        message("go on"),
        // Under new ids, one after the other; a whole float has become an integer on the way.
        call("new1", "t1", "a", &again, 1),
        completed("new1", 1),
        call("new2", "t1", "b", &none, 1),
        completed("new2", 1),
        turn_with_tools("t2"),
        answer("t2", "done", &[]),
        finished("done", 2, 5),
    ]);
    assert_eq!(lost.replay().await, same(16, 9, 2));

    // Two processes died, in the same turn and before any call: they ask what the first one asked.
    let asked = Log::from([
        started(&["a"]),
        turn_with_tools("t1"),
        seam(2, "", 0),
        turn_with_tools("t2"),
        seam(4, "", 0),
        turn_with_tools("t3"),
        answer("t3", "done", &[]),
        log::finished_after("done", 3, 1, 0),
    ]);
    assert_eq!(asked.replay().await, same(8, 6, 1));

    let twice = Log::from([
        started(&["a"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none)]),
        call("c1", "t1", "a", &none, 1),
        seam(4, "", 1),
        call("new1", "t1", "a", &none, 1),
        // Starling finds both the call that was lost and the one in its place.
        seam(6, "", 2),
        call("new2", "t1", "a", &none, 1),
        completed("new2", 1),
        call("new3", "t1", "a", &none, 1),
        failed("new3", 1, "no"),
        log::run_failed("starling: tool \"a\" (call new3): no", "tool"),
    ]);
    assert_eq!(twice.replay().await, same(12, 8, 1));
}

#[tokio::test]
async fn log_20_a_message_after_a_seam_is_part_of_the_prompt() {
    let log = Log::from([
        started(&[]),
        first_turn("t1"),
        answer("t1", "hi", &[]),
        seam(3, "and bye", 0),
        message("and bye"),
        log::turn_with("t2", log::hi_and("and bye")),
        answer("t2", "bye", &[]),
        finished("bye", 2, 0),
    ]);
    assert_eq!(log.replay().await, same(8, 6, 0));
}

fn with_budget(limits: BudgetLimits) -> Payload {
    let Payload::RunStarted(first) = started(&[]) else { unreachable!() };
    Payload::RunStarted(Box::new(RunStarted { budget: Some(limits), ..*first }))
}

fn exceeded(limit: &str, cap: f64, actual: f64, place: &str) -> BudgetExceeded {
    BudgetExceeded { limit: limit.into(), cap, actual, r#where: place.into(), ..BudgetExceeded::default() }
}

#[tokio::test]
async fn log_20_budgets_stop_a_starling_run_where_they_did() {
    let over_budget = || log::run_failed("step: budget exceeded", "budget");
    let before = Log::from([
        with_budget(BudgetLimits { max_input_tokens: 1, ..BudgetLimits::default() }),
        Payload::BudgetExceeded(exceeded("input_tokens", 1.0, 5.0, "pre_call")),
        over_budget(),
    ]);
    assert_eq!(before.replay().await, same(3, 3, 0));

    let within = Log::from([
        with_budget(BudgetLimits { max_output_tokens: 10, ..BudgetLimits::default() }),
        first_turn("t1"),
        Payload::BudgetExceeded(BudgetExceeded {
            turn_id: "t1".into(),
            partial_text: "hi hi".into(),
            partial_tokens: 11,
            ..exceeded("output_tokens", 10.0, 11.0, "mid_stream")
        }),
        over_budget(),
    ]);
    assert_eq!(within.replay().await, same(4, 4, 0));

    let Payload::RunFailed(late) = log::run_failed("context deadline exceeded", "budget") else { unreachable!() };
    let late = Log::from([
        with_budget(BudgetLimits { max_wall_clock_ms: 25, ..BudgetLimits::default() }),
        first_turn("t1"),
        Payload::BudgetExceeded(exceeded("wall_clock", 25.0, 26.0, "mid_stream")),
        Payload::RunFailed(RunFailed { duration_ms: 26, ..late }),
    ]);
    assert_eq!(late.replay().await, same(4, 4, 0));
}

#[tokio::test]
async fn log_20_starling_runs_that_were_stopped_or_failed_end_as_they_did() {
    let provider = Log::from([
        started(&[]),
        first_turn("t1"),
        log::run_failed("starling: provider \"p\" (status 503): busy", "provider"),
    ]);
    assert_eq!(provider.replay().await, same(3, 3, 0));

    let none = args("{}");
    let cancelled = RunCancelled { reason: "context_canceled".into(), ..RunCancelled::default() };
    let stopped = Log::from([
        started(&["a"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none)]),
        call("c1", "t1", "a", &none, 1),
        log::cancelled("c1", "context canceled"),
        Payload::RunCancelled(cancelled),
    ]);
    assert_eq!(stopped.replay().await, same(6, 3, 1));

    let turns = Log::from([
        started(&["a"]),
        turn_with_tools("t1"),
        answer("t1", "", &[("c1", "a", &none)]),
        call("c1", "t1", "a", &none, 1),
        completed("c1", 1),
        log::run_failed("starling: max turns exceeded", "max_turns"),
    ]);
    assert_eq!(turns.replay().await, same(6, 3, 1));
}

#[tokio::test]
async fn log_20_a_starling_run_that_is_still_open_replays_as_far_as_it_goes() {
    assert_eq!(Log::from([started(&[]), first_turn("t1")]).replay().await, same(2, 2, 0));
}
