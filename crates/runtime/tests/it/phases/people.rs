//! What people say at gates, and who counts as one.

use r1_event::{Kind, Payload};
use r1_protocol::api::RunStatus;
use r1_protocol::data::{Actor, ActorKind, ApprovalRequested, GateOverride, PhaseTransitionRefused, Via};
use r1_runtime::agent::command::{Command, Decision, Refusal};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::engine::Outcome;
use serde_json::json;

use super::support::{answer, any_operator, events, operator, pending, phased, receipt, with_gates};
use crate::engine::stage::Stage;

/// A gate that wants a person until a file is there.
const ASKS: &str = "  - { id: asks, threshold: 1, blocker: true, command: 'test -f fine || exit 10', at: [PLAN.exit] }";
const ANSWERS: &str = "{turns: [], default: {text: done}}";

#[tokio::test]
async fn stoke_25_an_operator_overrides_and_the_receipt_says_who_and_why() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(ASKS), ANSWERS)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    assert_eq!(stage.state(&run).await.status(), RunStatus::AwaitingApproval);
    let asked = events::<ApprovalRequested>(&stage, &run).await.remove(0);
    assert_eq!((asked.kind.as_str(), asked.approver.unwrap().as_str()), ("gate", "human"));
    let silent = command(&stage.engine, &run, answer(&id, Decision::Approve, " ", None), &operator()).await;
    assert!(matches!(silent, Err(CommandError::Refused(Refusal::NoReason))), "an override says why");
    let yes = answer(&id, Decision::Approve, "the plan is fine", None);
    command(&stage.engine, &run, yes, &operator()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    let given = events::<GateOverride>(&stage, &run).await.remove(0);
    assert_eq!((given.actor, given.approval_id.as_ref()), (any_operator(), Some(&id)));
    assert_eq!(given.of, asked.input.unwrap()["gate_decision"]);
    let report = receipt(&stage, &run).await.report;
    assert_eq!(report.verdict().to_string(), "VALID");
    assert_eq!(
        (report.overrides[0].actor.as_str(), report.overrides[0].reason.as_str()),
        ("operator:ada", "the plan is fine")
    );
    stage.check(&run).await;
}

#[tokio::test]
async fn stoke_25_an_agent_an_mcp_client_and_a_recorder_cannot_override() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(ASKS), ANSWERS)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    let actor = |kind, via| Some(Actor { kind, id: Some("x".into()), via: Some(via), ..Actor::default() });
    let strangers = [
        actor(ActorKind::Agent, Via::Cli),
        actor(ActorKind::Agent, Via::Mcp),
        actor(ActorKind::Operator, Via::Mcp),
        actor(ActorKind::System, Via::Http),
        None,
    ];
    for actor in strangers {
        let caller = Caller { actor, note: None };
        let overrule = Command::Override { decision: "asks".into(), reason: "let me".into() };
        let retry = answer(&id, Decision::Approve, "", Some(json!({ "action": "retry" })));
        for asked in [overrule, answer(&id, Decision::Approve, "let me", None), retry] {
            let refused = command(&stage.engine, &run, asked, &caller).await;
            assert!(matches!(refused, Err(CommandError::Refused(Refusal::HumanOnly))), "{caller:?}: {refused:?}");
        }
    }
    assert!(events::<GateOverride>(&stage, &run).await.is_empty());
    let overrule = Command::Override { decision: "asks".into(), reason: "it is fine".into() };
    command(&stage.engine, &run, overrule, &operator()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    stage.check(&run).await;
}

#[tokio::test]
async fn an_override_is_for_one_decision_of_the_round_that_is_under_way() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(ASKS), ANSWERS)).await;
    let overrule = |decision: &str| Command::Override { decision: decision.into(), reason: "fine".into() };
    let early = command(&stage.engine, &run, overrule("asks"), &operator()).await;
    assert!(matches!(early, Err(CommandError::Refused(Refusal::NoOpenRound))), "{early:?}");
    let work = stage.start(&run);
    pending(&stage, &run).await;
    for name in ["tests", "sha256:", "PLAN.exit/other", ""] {
        let unknown = command(&stage.engine, &run, overrule(name), &operator()).await;
        assert!(matches!(unknown, Err(CommandError::Refused(Refusal::UnknownDecision { .. }))), "{name}: {unknown:?}");
    }
    let passes = command(&stage.engine, &run, overrule("PLAN.exit/always"), &operator()).await;
    assert!(matches!(passes, Err(CommandError::Refused(Refusal::LetsPass { .. }))), "{passes:?}");
    let asked = events::<ApprovalRequested>(&stage, &run).await.remove(0);
    let node = asked.input.unwrap()["gate_decision"].as_str().unwrap().to_owned();
    command(&stage.engine, &run, overrule(&node["sha256:".len()..][..12]), &operator()).await.unwrap();
    work.await.unwrap().unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn the_gates_look_again_if_a_person_wants_that() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(ASKS), ANSWERS)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    std::fs::write(stage.workspace().join("fine"), "").unwrap();
    let retry = answer(&id, Decision::Approve, "", Some(json!({ "action": "retry" })));
    command(&stage.engine, &run, retry, &operator()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCompleted));
    let refused: Vec<PhaseTransitionRefused> = events(&stage, &run).await;
    assert_eq!(refused.iter().map(|refused| refused.round).collect::<Vec<_>>(), [2], "the round is over");
    assert!(events::<GateOverride>(&stage, &run).await.is_empty());
    assert_eq!(receipt(&stage, &run).await.report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_no_ends_the_task_and_withdraws_what_else_was_asked() {
    let stage = Stage::new();
    let two = format!("{ASKS}\n{}", ASKS.replace("id: asks", "id: asks-too"));
    let run = stage.create(phased(&stage, with_gates(&two), ANSWERS)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    command(&stage.engine, &run, answer(&id, Decision::Reject, "no such plan", None), &operator()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunFailed));
    let Payload::RunFailed(failed) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(failed.error_type, "gate_refused");
    assert!(failed.error.contains("no such plan"), "{}", failed.error);
    let types = stage.types(&run).await;
    let end = &types[types.len() - 4..];
    assert_eq!(end, ["approval.resolved", "approval.resolved", "phase.transition_refused", "run.failed"]);
    stage.check(&run).await;
}

#[tokio::test]
async fn nobody_answers_and_the_task_fails() {
    let stage = Stage::new();
    let mut new = phased(&stage, with_gates(ASKS), ANSWERS);
    new.spec.approval_timeout_s = 1;
    let run = stage.play(new).await;
    let Payload::RunFailed(failed) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(failed.error_type, "gate_refused");
    assert!(stage.types(&run).await.contains(&"approval.timed_out".to_owned()));
    stage.check(&run).await;
}

#[tokio::test]
async fn where_nobody_is_there_the_task_fails_at_once() {
    let stage = Stage::new();
    let mut new = phased(&stage, with_gates(ASKS), ANSWERS);
    new.spec.unattended = true;
    let run = stage.play(new).await;
    let Payload::RunFailed(failed) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(failed.error_type, "gate_failed");
    assert!(failed.error.contains("PLAN.exit/asks"), "{}", failed.error);
    stage.check(&run).await;
}

#[tokio::test]
async fn a_question_at_a_gate_survives_a_restart_and_is_answered_meanwhile() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(ASKS), ANSWERS)).await;
    let work = stage.start(&run);
    let id = pending(&stage, &run).await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    command(&stage.engine, &run, answer(&id, Decision::Approve, "fine", None), &operator()).await.unwrap();
    stage.work(&run).await.unwrap();
    assert_eq!(stage.types(&run).await.last().unwrap(), "run.finished");
    assert_eq!(receipt(&stage, &run).await.report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}
