//! Cancelled, handed over, killed: what is open is closed, and nothing happens twice.

use std::sync::atomic::Ordering;
use std::time::Duration;

use r1_event::{Batch, Chain, Kind, Payload, RunId, UnixNanos};
use r1_protocol::api::RunStatus;
use r1_runtime::agent::command::Command;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::engine::{Claim, Outcome};
use tokio_util::sync::CancellationToken;

use super::stage::Stage;

fn cancel() -> Command {
    Command::cancel("enough")
}

#[tokio::test]
async fn ep_20_cancel_stops_a_call_that_is_under_way() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{tool_calls: [{tool: wait}, {tool: echo}]}, {text: never}]")).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCancelled));
    let types = stage.types(&run).await;
    assert_eq!(types[types.len() - 2..], ["tool.cancelled", "run.cancelled"]);
    let again = command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    assert!(again.was_so, "a second cancel changes nothing");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_20_cancel_stops_a_model_call_and_a_queued_run() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{text: never, failures: [{kind: hang}]}]")).await;
    let work = stage.start(&run);
    stage.until(&run, "turn.started").await;
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCancelled));
    stage.check(&run).await;

    let queued = stage.create(stage.new_run("turns: [{text: never}]")).await;
    command(&stage.engine, &queued, cancel(), &Caller::default()).await.unwrap();
    assert_eq!(stage.state(&queued).await.status(), RunStatus::Cancelled);
    stage.check(&queued).await;
}

#[tokio::test]
async fn ep_17_a_killed_worker_loses_nothing_and_repeats_nothing() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{tool_calls: [{tool: once}, {tool: wait}]}, {text: done}]")).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    stage.until(&run, "tool.completed").await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    let outcome = stage.successor().work(&run, Claim::default(), CancellationToken::new()).await.unwrap();
    assert_eq!(outcome, Outcome::Ended(Kind::RunCompleted));
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 1, "`once` did not run again");
    let types = stage.types(&run).await;
    let seam = types.iter().position(|name| name == "gap.run_disconnected").unwrap();
    assert_eq!(types[seam..seam + 3], ["gap.run_disconnected", "tool.failed", "run.resumed"]);
    let heard = format!("{:?}", stage.state(&run).await.conversation.messages());
    assert!(heard.contains("is not known"), "the model hears that the outcome is unknown: {heard}");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_17_an_idempotent_call_is_made_again() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{tool_calls: [{tool: again}]}, {text: done}]")).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    stage.work(&run).await.unwrap();
    let types = stage.types(&run).await;
    assert_eq!(types.iter().filter(|name| *name == "tool.invoked").count(), 2);
    let Payload::ToolCallCompleted(done) = stage.last_of(&run, Kind::ToolCallCompleted).await else { panic!() };
    assert_eq!(done.attempt, 2);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_17_a_turn_that_was_cut_off_starts_again_under_its_number() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{text: done, chunk_chars: 1, failures: [{kind: hang}]}]")).await;
    let work = stage.start(&run);
    stage.until(&run, "turn.started").await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    let work = stage.start(&run);
    stage.until(&run, "run.resumed").await;
    let starts = || async {
        let records = stage.records(&run).await;
        let turns = records.iter().filter_map(|record| match r1_runtime::agent::RunState::read(record).unwrap().1 {
            Payload::TurnStarted(started) => Some((started.turn_id, started.turn_index)),
            _ => None,
        });
        turns.collect::<Vec<_>>()
    };
    while starts().await.len() < 2 {
        tokio::task::yield_now().await;
    }
    let turns = starts().await;
    assert_ne!(turns[0].0, turns[1].0);
    assert_eq!(turns[0].1, turns[1].1);
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
}

/// The beginning of a run as a machine would have written it whose clock is off by so many hours.
async fn begun_by_a_clock_that_is_off(stage: &Stage, hours: i64) -> RunId {
    let here = stage.create(stage.new_run("turns: [{tool_calls: [{tool: echo}]}, {text: done}]")).await;
    let there = r1_runtime::world::new_run_id(r1_runtime::world::now()).unwrap();
    let mut batch = Batch::new(&Chain::new(there.clone()));
    for record in stage.records(&here).await {
        let header = record.header().unwrap();
        let payload = Payload::decode(header.kind, record.payload.as_ref().unwrap()).unwrap();
        batch.push(UnixNanos(header.ts.0 + hours * 3_600_000_000_000), payload).unwrap();
    }
    let lease = stage.store.acquire(&there, "elsewhere", Duration::from_secs(60)).await.unwrap().lease;
    stage.store.append(&lease, batch).await.unwrap();
    stage.store.release(&lease).await.unwrap();
    there
}

#[tokio::test]
async fn ep_18_clocks_that_disagree_by_a_day_change_nothing() {
    let stage = Stage::new();
    for hours in [-24, 24] {
        let run = begun_by_a_clock_that_is_off(&stage, hours).await;
        assert_eq!(stage.work(&run).await.unwrap(), Outcome::Ended(Kind::RunCompleted));
        stage.check(&run).await;
    }
}

#[tokio::test]
async fn ep_19_a_stopped_process_hands_its_run_over() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{text: never, failures: [{kind: hang}]}]")).await;
    let stop = CancellationToken::new();
    let (engine, named, stopped) = (stage.engine.clone(), run.clone(), stop.clone());
    let work = tokio::spawn(async move { engine.work(&named, Claim::default(), stopped).await });
    stage.until(&run, "turn.started").await;
    stop.cancel();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::HandedOver);
    let types = stage.types(&run).await;
    assert_eq!(types[types.len() - 2..], ["turn.failed", "run.handed_over"]);
    assert_eq!(stage.state(&run).await.status(), RunStatus::Queued);
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_19_five_workers_in_a_row_are_enough() {
    let stage = Stage::new();
    let run = stage.create(stage.new_run("turns: [{text: never, failures: [{kind: hang}]}]")).await;
    for _ in 0..5 {
        let turns = stage.types(&run).await.iter().filter(|name| *name == "turn.started").count();
        let work = stage.start(&run);
        while stage.types(&run).await.iter().filter(|name| *name == "turn.started").count() == turns {
            tokio::task::yield_now().await;
        }
        work.abort();
        let _ = work.await;
        stage.expire(&run).await;
    }
    assert_eq!(stage.work(&run).await.unwrap(), Outcome::Ended(Kind::RunFailed));
    let Payload::RunFailed(end) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!((end.error_type.as_str(), end.retriable), ("crash_loop", Some(true)));
    stage.check(&run).await;
}
