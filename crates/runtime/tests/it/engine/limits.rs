//! Failures of the provider, and budgets.

use r1_event::{Kind, Payload};
use r1_runtime::agent::Budget;
use r1_runtime::price::{Price, Rates};

use super::stage::Stage;

#[tokio::test]
async fn a_failed_attempt_is_recorded_and_made_again() {
    let stage = Stage::new();
    let run = stage
        .play(stage.new_run(
            "turns: [{text: hello world, chunk_chars: 4, failures: [{kind: status, status: 529, retry_after_ms: 0}, \
             {kind: cut, after_chars: 5}]}]",
        ))
        .await;
    let types = stage.types(&run).await;
    let count = |name: &str| types.iter().filter(|found| *found == name).count();
    assert_eq!((count("error.upstream"), count("turn.failed"), count("turn.started")), (2, 2, 1));
    assert_eq!(count("run.side_effect"), 2, "the waits are recorded: {types:?}");
    assert_eq!(stage.state(&run).await.final_text, "hello world");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_turn_that_fails_for_good_fails_the_run() {
    let stage = Stage::new();
    let run = stage.play(stage.new_run("turns: [{text: no, failures: [{kind: status, status: 400}]}]")).await;
    let Payload::RunFailed(end) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!((end.error_type.as_str(), end.retriable), ("model_error", Some(false)));
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_22_each_axis_of_a_budget_stops_the_run() {
    let rates = Rates { input: 1_000_000, cached_input: 0, cache_write: 0, output: 1_000_000 };
    let scenario = "turns: [{tool_calls: [{tool: once}], usage: {input_tokens: 100, output_tokens: 300}}, \
                    {text: done, usage: {input_tokens: 100, output_tokens: 300}}]";
    let cases = [
        ("usd", Budget { micros_usd: 300, ..Budget::default() }),
        ("input_tokens", Budget { input_tokens: 90, ..Budget::default() }),
        ("output_tokens", Budget { output_tokens: 260, ..Budget::default() }),
        ("turns", Budget { turns: 1, ..Budget::default() }),
    ];
    for (axis, budget) in cases {
        let stage = Stage::new();
        let mut new = stage.new_run(scenario);
        new.spec.price = Some(Price::flat(rates));
        new.spec.budget = budget;
        let run = stage.play(new).await;
        let Payload::BudgetExceeded(exceeded) = stage.last_of(&run, Kind::BudgetExceeded).await else { panic!() };
        assert_eq!(exceeded.limit, axis);
        let Payload::RunFailed(end) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
        assert_eq!((end.error_type.as_str(), end.retriable), ("budget_exceeded", Some(false)), "{axis}");
        stage.check(&run).await;
    }
}

#[tokio::test]
async fn ep_22_time_that_runs_out_stops_a_call_that_is_under_way() {
    let stage = Stage::new();
    let mut new = stage.new_run("turns: [{tool_calls: [{tool: wait}]}, {text: never}]");
    new.spec.budget = Budget { wall_clock_ms: 300, ..Budget::default() };
    let run = stage.play(new).await;
    let types = stage.types(&run).await;
    let tail: Vec<_> = types.iter().rev().take(3).rev().collect();
    assert_eq!(tail, ["cost.budget_exceeded", "tool.cancelled", "run.failed"]);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_22_a_warning_comes_once_per_threshold() {
    let stage = Stage::new();
    let call = "{tool_calls: [{tool: once}], cost_micros_usd: 30}";
    let mut new = stage.new_run(&format!("turns: [{call}, {call}, {{text: done, cost_micros_usd: 30}}]"));
    new.spec.budget = Budget { micros_usd: 100, warning_pct: vec![50, 80], ..Budget::default() };
    let run = stage.play(new).await;
    let types = stage.types(&run).await;
    assert_eq!(types.iter().filter(|name| *name == "cost.budget_warning").count(), 2, "{types:?}");
    assert_eq!(types.last().unwrap(), "run.finished");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_run_that_never_comes_to_an_end_is_ended() {
    let stage = Stage::new();
    let mut new = stage.new_run("{turns: [], default: {tool_calls: [{tool: once}]}}");
    new.spec.max_turns = 3;
    let run = stage.play(new).await;
    let Payload::RunFailed(end) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(end.error_type, "max_turns");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_workspace_that_is_not_there_fails_the_run() {
    let stage = Stage::new();
    let new = r1_runtime::control::create::NewRun {
        workspace_path: "/nowhere/at/all".into(),
        ..stage.new_run("turns: [{text: done}]")
    };
    let run = stage.play(new).await;
    let Payload::RunFailed(end) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(end.error_type, "workspace_failed");
    stage.check(&run).await;
}
