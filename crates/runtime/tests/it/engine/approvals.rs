//! A person is asked.

use std::sync::atomic::Ordering;

use r1_event::Kind;
use r1_protocol::api::RunStatus;
use r1_runtime::agent::command::{Command, Decision, Refusal, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::create::NewRun;
use r1_runtime::engine::Outcome;
use r1_runtime::policy::ApprovalMode;

use super::stage::Stage;

fn asking(stage: &Stage, scenario: &str) -> NewRun {
    let mut new = stage.new_run(scenario);
    new.spec.approval = ApprovalMode::Ask;
    new
}

fn answer(approval_id: &str, decision: Decision, comment: &str, scope: Scope) -> Command {
    Command::Resolve(Resolution {
        approval_id: approval_id.into(),
        decision,
        comment: comment.into(),
        scope,
        subject_hash: None,
        edited_input: None,
    })
}

async fn pending(stage: &Stage, run: &r1_event::RunId) -> String {
    stage.until(run, "approval.requested").await;
    let state = stage.state(run).await;
    let (id, _) = state.approvals().next().expect("an approval is pending");
    id.to_owned()
}

#[tokio::test]
async fn ep_16_an_approved_call_runs() {
    let stage = Stage::new();
    let run = stage.create(asking(&stage, "turns: [{tool_calls: [{tool: act, input: {x: 1}}]}, {text: done}]")).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    assert_eq!(stage.state(&run).await.status(), RunStatus::AwaitingApproval);
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 0, "nothing runs before the answer");
    command(&stage.engine, &run, answer(&id, Decision::Approve, "", Scope::Once), &Caller::default()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 1);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_after_a_no_the_model_hears_the_comment_and_the_run_completes() {
    let stage = Stage::new();
    let scenario = "turns: [{tool_calls: [{tool: act}]}, {text: fine, when: too risky}]";
    let run = stage.create(asking(&stage, scenario)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    command(&stage.engine, &run, answer(&id, Decision::Reject, "too risky", Scope::Once), &Caller::default())
        .await
        .unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 0);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_a_yes_for_the_session_is_not_asked_again_and_twice_no_blocks() {
    let stage = Stage::new();
    let call = "{tool_calls: [{tool: act, input: {x: 1}}]}";
    let run = stage.create(asking(&stage, &format!("turns: [{call}, {call}, {{text: done}}]"))).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    command(&stage.engine, &run, answer(&id, Decision::Approve, "", Scope::Session), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 2);
    let types = stage.types(&run).await;
    assert_eq!(types.iter().filter(|name| *name == "approval.requested").count(), 1);
    assert_eq!(types.iter().filter(|name| *name == "policy.tool_allowed").count(), 1);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_twice_no_to_the_same_blocks_it() {
    let stage = Stage::new();
    let call = "{tool_calls: [{tool: act, input: {x: 1}}]}";
    let run = stage.create(asking(&stage, &format!("turns: [{call}, {call}, {call}, {{text: done}}]"))).await;
    let work = stage.start(&run);
    let first = pending(&stage, &run).await;
    command(&stage.engine, &run, answer(&first, Decision::Reject, "", Scope::Once), &Caller::default()).await.unwrap();
    let second = loop {
        let state = stage.state(&run).await;
        if let Some((id, _)) = state.approvals().next().filter(|(id, _)| *id != first) {
            break id.to_owned();
        }
        tokio::task::yield_now().await;
    };
    command(&stage.engine, &run, answer(&second, Decision::Reject, "", Scope::Once), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let types = stage.types(&run).await;
    assert_eq!(types.iter().filter(|name| *name == "policy.tool_blocked").count(), 1);
    assert_eq!(types.last().unwrap(), "run.finished");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_nobody_answers_and_the_run_goes_on() {
    let stage = Stage::new();
    let mut new = asking(&stage, "turns: [{tool_calls: [{tool: act}]}, {text: done, when: in time}]");
    new.spec.approval_timeout_s = 1;
    let run = stage.play(new).await;
    assert!(stage.types(&run).await.contains(&"approval.timed_out".to_owned()));
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_an_edited_input_is_what_runs_and_a_changed_subject_is_refused() {
    let stage = Stage::new();
    let run = stage.create(asking(&stage, "turns: [{tool_calls: [{tool: act, input: {x: 1}}]}, {text: done}]")).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    let mut wrong = answer(&id, Decision::Approve, "", Scope::Once);
    if let Command::Resolve(Resolution { subject_hash, .. }) = &mut wrong {
        *subject_hash = Some("00".repeat(32));
    }
    let refused = command(&stage.engine, &run, wrong, &Caller::default()).await;
    assert!(matches!(refused, Err(CommandError::Refused(Refusal::ChangedSubject { .. }))));
    let mut edited = answer(&id, Decision::Approve, "", Scope::Once);
    if let Command::Resolve(Resolution { edited_input, .. }) = &mut edited {
        *edited_input = Some(serde_json::json!({ "x": 2 }));
    }
    command(&stage.engine, &run, edited, &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let r1_event::Payload::ToolCallScheduled(invoked) = stage.last_of(&run, Kind::ToolCallScheduled).await else {
        panic!()
    };
    assert_eq!(r1_protocol::json::from_raw(&invoked.args), serde_json::json!({ "x": 2 }));
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_16_a_pending_question_survives_a_restart_and_is_answered_meanwhile() {
    let stage = Stage::new();
    let run = stage.create(asking(&stage, "turns: [{tool_calls: [{tool: act}]}, {text: done}]")).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    command(&stage.engine, &run, answer(&id, Decision::Approve, "", Scope::Once), &Caller::default()).await.unwrap();
    stage.work(&run).await.unwrap();
    assert_eq!(stage.world.runs.load(Ordering::SeqCst), 1);
    stage.check(&run).await;
}
