//! A session stays open: it answers, waits, is interrupted, and outlives a failed turn.

use r1_event::{Kind, RunId};
use r1_protocol::api::RunStatus;
use r1_runtime::agent::command::Command;
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::control::create::NewRun;
use r1_runtime::engine::{Claim, Outcome};
use tokio_util::sync::CancellationToken;

use super::stage::Stage;

fn session(stage: &Stage, scenario: &str) -> NewRun {
    let mut new = stage.new_run(scenario);
    new.spec.interactive = true;
    new
}

fn say(text: &str) -> Command {
    Command::Message { text: text.into(), client_message_id: None, artifact_ids: Vec::new() }
}

fn cancel() -> Command {
    Command::cancel("")
}

async fn until_idle(stage: &Stage, run: &RunId, turns: u64) {
    while {
        let state = stage.state(run).await;
        state.status() != RunStatus::Idle || state.spent.turns < turns
    } {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_answers_waits_and_answers_again() {
    let stage = Stage::new();
    let run = stage.create(session(&stage, "turns: [{text: one}, {text: two, when: more}]")).await;
    let work = stage.start(&run);
    until_idle(&stage, &run, 1).await;
    command(&stage.engine, &run, say("more"), &Caller::default()).await.unwrap();
    until_idle(&stage, &run, 2).await;
    assert_eq!(stage.state(&run).await.final_text, "two");
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCancelled));
    stage.check(&run).await;
}

#[tokio::test]
async fn an_interrupted_session_is_idle_and_forgets_the_half_answer() {
    let stage = Stage::new();
    let scenario = "turns: [{text: half, chunk_chars: 1, failures: [{kind: hang}]}, {text: whole}]";
    let run = stage.create(session(&stage, scenario)).await;
    let work = stage.start(&run);
    stage.until(&run, "turn.started").await;
    let stop = Command::Interrupt { reason: "wait".into(), by: "operator".into() };
    command(&stage.engine, &run, stop, &Caller::default()).await.unwrap();
    assert_eq!(stage.state(&run).await.status(), RunStatus::Idle);
    command(&stage.engine, &run, say("go on"), &Caller::default()).await.unwrap();
    until_idle(&stage, &run, 2).await;
    let heard = format!("{:?}", stage.state(&run).await.conversation.messages());
    assert!(!heard.contains("half") && heard.contains("whole"), "{heard}");
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn a_session_outlives_a_turn_that_failed() {
    let stage = Stage::new();
    let run = stage
        .create(session(&stage, "turns: [{text: no, failures: [{kind: status, status: 400}]}, {text: yes}]"))
        .await;
    let work = stage.start(&run);
    until_idle(&stage, &run, 1).await;
    command(&stage.engine, &run, say("again"), &Caller::default()).await.unwrap();
    until_idle(&stage, &run, 2).await;
    assert_eq!(stage.state(&run).await.final_text, "yes");
    command(&stage.engine, &run, cancel(), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_19_a_session_that_was_cut_off_waits_for_a_person() {
    let stage = Stage::new();
    let run = stage.create(session(&stage, "turns: [{tool_calls: [{tool: wait}]}, {text: done}]")).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    r1_runtime::engine::pause_abandoned(&stage.engine, &run).await.unwrap();
    assert_eq!(stage.state(&run).await.status(), RunStatus::Paused);
    assert!(
        command(&stage.engine, &run, say("hello?"), &Caller::default()).await.is_err(),
        "a paused session is resumed first"
    );
    let stop = CancellationToken::new();
    let (engine, named, stopped) = (stage.engine.clone(), run.clone(), stop.clone());
    let claim = Claim { by_operator: true, message: Some("go on".into()), ..Claim::default() };
    let work = tokio::spawn(async move { engine.work(&named, claim, stopped).await });
    until_idle(&stage, &run, 2).await;
    stop.cancel();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Idle);
    stage.check(&run).await;
}
