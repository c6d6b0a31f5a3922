//! The queue, as workers see it.

use std::collections::HashMap;

use r1_protocol::api::{NewTask, Priority};
use r1_runtime::agent::command::Command;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::engine::Claim;
use r1_runtime::workers::{Limits, Workers};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::shop::{House, prompt, slots};

const ASKS: &str = "turns: [{tool_calls: [{tool: shell, input: {command: 'true'}}]}, {text: done}]";
const HANGS: &str = "turns: [{text: never, failures: [{kind: hang}]}]";

fn cancel() -> Command {
    Command::cancel("")
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_leaves_its_slot_to_others() {
    let house = House::new(ASKS);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(house.make(prompt("go")).await.unwrap());
    }
    let stop = CancellationToken::new();
    let work = tokio::spawn(Workers::within(house.engine.clone(), slots(1)).run(stop.clone(), false));
    for run in &runs {
        house.until(run, "approval.requested").await;
        assert!(house.store.lease(run).await.unwrap().is_some(), "it keeps its lease");
    }
    // Made while the workers are there: the bell wakes them.
    let late = house.make(prompt("go")).await.unwrap();
    house.until(&late, "approval.requested").await;
    stop.cancel();
    work.await.unwrap();
    for run in &runs {
        assert_eq!(house.types(run).await.last().unwrap(), "run.handed_over");
        assert_eq!(house.state(run).await.approvals().count(), 1, "the question stays");
    }
}

#[tokio::test]
async fn a_run_that_is_passed_over_is_told_so_once() {
    let house = House::new(HANGS);
    let low = house.make(NewTask { priority: Some(Priority::Low), ..prompt("go") }).await.unwrap();
    let normal = house.make(prompt("go")).await.unwrap();
    let stop = CancellationToken::new();
    let work = tokio::spawn(Workers::within(house.engine.clone(), slots(1)).run(stop.clone(), false));
    house.until(&normal, "turn.started").await;
    house.until(&low, "run.throttled").await;
    house.engine.bell().notify_one();
    command(&house.engine, &normal, cancel(), &Caller::default()).await.unwrap();
    house.until(&low, "turn.started").await;
    let told: Vec<_> =
        house.events(&low).await.into_iter().filter(|(type_name, _)| type_name == "run.throttled").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1, json!({ "reason": "node_limit", "limit": 1 }));
    command(&house.engine, &low, cancel(), &Caller::default()).await.unwrap();
    stop.cancel();
    work.await.unwrap();
    house.check(&low).await;
}

#[tokio::test]
async fn a_provider_has_its_own_limit() {
    let house = House::new(HANGS);
    let first = house.make(prompt("go")).await.unwrap();
    let second = house.make(prompt("go")).await.unwrap();
    let limits = Limits { slots: 8, providers: HashMap::from([("script".to_owned(), 1)]) };
    let stop = CancellationToken::new();
    let work = tokio::spawn(Workers::within(house.engine.clone(), limits).run(stop.clone(), false));
    house.until(&first, "turn.started").await;
    house.until(&second, "run.throttled").await;
    let told = house.events(&second).await.pop().unwrap();
    assert_eq!(told.1, json!({ "reason": "provider_limit", "limit": 1 }));
    for run in [&first, &second] {
        command(&house.engine, run, cancel(), &Caller::default()).await.unwrap();
    }
    stop.cancel();
    work.await.unwrap();
}

#[tokio::test]
async fn workers_take_a_run_that_is_asked_for_and_drain_what_is_left() {
    let house = House::new("turns: [{text: done}]");
    let run = house.make(prompt("go")).await.unwrap();
    let idle = Workers::within(house.engine.clone(), slots(0));
    let foreman = idle.foreman();
    let stop = CancellationToken::new();
    let work = tokio::spawn(idle.run(stop.clone(), false));
    let seq = foreman.take(&run, Claim::default()).await.unwrap().unwrap();
    assert_eq!(house.events(&run).await[usize::try_from(seq.get()).unwrap() - 1].0, "run.started");
    house.until(&run, "run.finished").await;
    stop.cancel();
    work.await.unwrap();
    assert!(foreman.take(&run, Claim::default()).await.is_none(), "they have stopped");

    let left: Vec<_> = [house.make(prompt("a")).await.unwrap(), house.make(prompt("b")).await.unwrap()].into();
    Workers::within(house.engine.clone(), slots(1)).run(CancellationToken::new(), true).await;
    for run in left {
        assert_eq!(house.types(&run).await.last().unwrap(), "run.finished");
        house.check(&run).await;
    }
}
