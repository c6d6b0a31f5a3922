//! What a review costs is the task's to pay.

use r1_event::{Kind, Payload};
use r1_protocol::data::{CostTick, GateDecision};
use r1_runtime::agent::{Budget, ReviewerSpec};
use r1_runtime::control::create::NewRun;
use r1_runtime::index::Index;
use r1_runtime::price::{Price, Rates};
use r1_runtime::provider::{ProviderSpec, Scenario};

use super::support::{events, phased, with_gates};
use crate::engine::stage::Stage;

const REVIEW: &str = "  - { id: review, threshold: 0.8, blocker: true }";

/// Four turns of 10 tokens in and 1 out, a cent each.
const AUTHOR: &str = r#"
turns:
  - { text: plan, usage: { input_tokens: 10, output_tokens: 1 }, cost_micros_usd: 10000 }
  - { text: done, usage: { input_tokens: 10, output_tokens: 1 }, cost_micros_usd: 10000 }
  - { text: checked, usage: { input_tokens: 10, output_tokens: 1 }, cost_micros_usd: 10000 }
  - { text: handed over, usage: { input_tokens: 10, output_tokens: 1 }, cost_micros_usd: 10000 }
"#;

const FINE: &str = "turns: [{text: '{\"score\": 900}', \
                    usage: {input_tokens: 700, output_tokens: 50, cache_read_tokens: 5}, cost_micros_usd: 250000}]";

fn reviewed(stage: &Stage, reviewer: &str, price: Option<Price>, budget: Budget) -> NewRun {
    let mut new = phased(stage, with_gates(REVIEW), AUTHOR);
    let provider = ProviderSpec::scripted(Scenario::parse(reviewer).unwrap());
    let spec = ReviewerSpec { provider, model: "gpt-5".into(), price, needs_room: true };
    new.spec.phases.as_mut().unwrap().reviewer = Some(spec);
    new.spec.budget = budget;
    new
}

#[tokio::test]
async fn a_review_counts_in_the_totals_of_the_run_and_is_no_turn() {
    let stage = Stage::new();
    let run = stage.play(reviewed(&stage, FINE, None, Budget::default())).await;
    let Payload::RunCompleted(done) = stage.last_of(&run, Kind::RunCompleted).await else { panic!() };
    assert_eq!((done.turn_count, done.total_cost_micros_usd), (4, Some(290_000)));
    assert_eq!((done.total_input_tokens, done.total_output_tokens), (40 + 705, 4 + 50));
    let ticks: Vec<CostTick> = events(&stage, &run).await;
    let told: Vec<_> = ticks.iter().map(|tick| tick.cumulative_cost_micros_usd).collect();
    assert_eq!(told, [10_000, 20_000, 30_000, 280_000, 290_000]);
    let listed = Index::new(stage.store.clone()).run(run.as_str()).await.unwrap().unwrap();
    assert_eq!((listed.cost_micros_usd, listed.input_tokens, listed.output_tokens), (290_000, 745, 54));
    stage.check(&run).await;
}

#[tokio::test]
async fn a_review_is_paid_at_its_own_models_price() {
    let stage = Stage::new();
    let free = "turns: [{text: '{\"score\": 900}', usage: {input_tokens: 700, output_tokens: 50}}]";
    let rates = Rates { input: 1_000_000, output: 10_000_000, ..Rates::default() };
    let run = stage.play(reviewed(&stage, free, Some(Price::flat(rates)), Budget::default())).await;
    let Payload::RunCompleted(done) = stage.last_of(&run, Kind::RunCompleted).await else { panic!() };
    assert_eq!(done.total_cost_micros_usd, Some(40_000 + 700 + 500));
    stage.check(&run).await;
}

#[tokio::test]
async fn an_answer_without_a_score_is_paid_for_too() {
    let stage = Stage::new();
    let useless = "turns: [{text: fine by me, cost_micros_usd: 7}]";
    let mut new = reviewed(&stage, useless, None, Budget::default());
    new.spec.unattended = true;
    let run = stage.play(new).await;
    let state = stage.state(&run).await;
    assert_eq!(state.spent.cost_micros_usd, 30_007);
    stage.check(&run).await;
}

#[tokio::test]
async fn a_review_that_exceeds_the_budget_ends_the_run() {
    let stage = Stage::new();
    let budget = Budget { micros_usd: 200_000, ..Budget::default() };
    let run = stage.play(reviewed(&stage, FINE, None, budget)).await;
    let Payload::BudgetExceeded(exceeded) = stage.last_of(&run, Kind::BudgetExceeded).await else { panic!() };
    assert_eq!((exceeded.limit.as_str(), exceeded.r#where.as_str()), ("usd", "post_call"));
    assert_eq!(exceeded.cumulative_cost_micros_usd, Some(280_000));
    let Payload::RunFailed(failed) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(failed.error_type, "budget_exceeded");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_review_that_the_budget_leaves_no_room_for_is_not_begun() {
    let stage = Stage::new();
    let budget = Budget { micros_usd: 30_000, ..Budget::default() };
    let run = stage.play(reviewed(&stage, FINE, None, budget)).await;
    let Payload::BudgetExceeded(exceeded) = stage.last_of(&run, Kind::BudgetExceeded).await else { panic!() };
    assert_eq!((exceeded.limit.as_str(), exceeded.r#where.as_str()), ("usd", "pre_call"));
    let decisions: Vec<GateDecision> = events(&stage, &run).await;
    assert!(decisions.iter().all(|decision| decision.gate_id != "review"), "{decisions:?}");
    stage.check(&run).await;
}
