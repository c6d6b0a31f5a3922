//! Phased tasks on an engine, with gates that run.

use std::fs;

use r1_event::{Kind, Payload};
use r1_protocol::data::{GateDecision, PhaseTransition, PhaseTransitionRefused, PolicyToolBlocked};
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::command;
use r1_runtime::engine::{Claim, Outcome};
use tokio_util::sync::CancellationToken;

use super::support::{events, operator, phased, receipt, with_gates};
use crate::engine::stage::Stage;

const DONE: &str =
    "  - { id: done, threshold: 1, blocker: true, command: 'echo looking; test -f done.txt', at: [VERIFY.exit] }";

fn steps(transitions: &[PhaseTransition]) -> Vec<String> {
    transitions.iter().map(|step| format!("{}>{}", step.from, step.to)).collect()
}

#[tokio::test]
async fn stoke_22_a_task_goes_through_all_phases_and_its_receipt_is_valid() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - { when: Phase PLAN, text: "I will write it.\n\n```files\ndone.txt\n```" }
  - { when: Phase EXECUTE, tool_calls: [{ tool: file_write, input: { path: done.txt, content: "yes\n" } }] }
  - { text: It is written. }
  - { when: Phase VERIFY, text: "It is there.\n\n```commit\nWrite it\n```" }
  - { when: nothing to commit, text: Done. }
"#;
    let run = stage.play(phased(&stage, with_gates(DONE), scenario)).await;
    let made: Vec<PhaseTransition> = events(&stage, &run).await;
    assert_eq!(steps(&made), ["START>PLAN", "PLAN>EXECUTE", "EXECUTE>VERIFY", "VERIFY>COMMIT", "COMMIT>END"]);
    assert_eq!(
        made[3].required,
        ["COMMIT.entry/always", "VERIFY.exit/always", "VERIFY.exit/composite", "VERIFY.exit/done"]
    );
    assert_eq!(stage.types(&run).await.last().unwrap(), "run.finished");
    let report = receipt(&stage, &run).await.report;
    assert_eq!(report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}

#[tokio::test]
async fn what_does_not_hold_goes_back_to_execute_with_the_reason() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - { text: I will write it. }
  - { text: It is written. }
  - { text: It is there. }
  - { when: "VERIFY.exit/done: block below_threshold", tool_calls: [{ tool: file_write, input: { path: done.txt, content: "yes\n" } }] }
  - { text: Now it is. }
  - { text: It is there. }
  - { text: Done. }
"#;
    let run = stage.play(phased(&stage, with_gates(DONE), scenario)).await;
    let made: Vec<PhaseTransition> = events(&stage, &run).await;
    assert_eq!(
        steps(&made),
        [
            "START>PLAN",
            "PLAN>EXECUTE",
            "EXECUTE>VERIFY",
            "VERIFY>EXECUTE",
            "EXECUTE>VERIFY",
            "VERIFY>COMMIT",
            "COMMIT>END"
        ]
    );
    let refused: Vec<PhaseTransitionRefused> = events(&stage, &run).await;
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].round, refused[0].missing.as_slice()), (4, ["VERIFY.exit/done".to_owned()].as_slice()));
    assert_eq!(made.iter().map(|step| step.round).collect::<Vec<_>>(), [1, 2, 3, 5, 6, 7, 8]);
    let state = stage.state(&run).await;
    let heard = format!("{:?}", state.conversation.messages());
    assert!(heard.contains("looking"), "the model hears what the gate saw");
    assert_eq!(receipt(&stage, &run).await.report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}

#[tokio::test]
async fn files_are_changed_in_execute_and_in_no_other_phase() {
    let stage = Stage::new();
    let write = r#"{ tool_calls: [{ tool: file_write, input: { path: a.txt, content: a } }] }"#;
    let scenario = format!(
        "turns: [{write}, {{ when: not changed in the PLAN phase, text: plan }}, {{ text: done }}, \
         {write}, {{ when: not changed in the VERIFY phase, text: fine }}, {write}, {{ text: done }}]"
    );
    let run = stage.play(phased(&stage, with_gates(""), &scenario)).await;
    let blocked: Vec<PolicyToolBlocked> = events(&stage, &run).await;
    assert_eq!(blocked.len(), 3);
    assert!(!stage.workspace().join("a.txt").exists());
    assert_eq!(stage.types(&run).await.last().unwrap(), "run.finished");
    stage.check(&run).await;
}

#[tokio::test]
async fn the_model_may_ask_to_go_back() {
    let stage = Stage::new();
    let scenario = r#"
turns:
  - { text: plan }
  - { text: "the plan is wrong\n```phase\nPLAN\n```" }
  - { when: Phase PLAN, text: another plan }
  - { text: done }
  - { text: "no, it is not\n```phase\nEXECUTE\n```" }
  - { when: Phase EXECUTE, text: now it is }
  - { text: yes }
  - { text: done }
"#;
    let run = stage.play(phased(&stage, with_gates(""), scenario)).await;
    let made: Vec<PhaseTransition> = events(&stage, &run).await;
    let back: Vec<_> =
        steps(&made).into_iter().filter(|step| step == "EXECUTE>PLAN" || step == "VERIFY>EXECUTE").collect();
    assert_eq!(back, ["EXECUTE>PLAN", "VERIFY>EXECUTE"]);
    assert_eq!(receipt(&stage, &run).await.report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}

/// The second gate of the first round hangs until a file is there.
const SLOW: &str =
    "  - { id: slow, threshold: 1, blocker: true, command: 'test -f go || sleep 600', at: [PLAN.entry] }";

#[tokio::test]
async fn a_round_that_was_cut_off_goes_on_with_the_gates_that_are_missing() {
    let stage = Stage::new();
    let scenario = "{turns: [], default: {text: done}}";
    let run = stage.create(phased(&stage, with_gates(SLOW), scenario)).await;
    let work = stage.start(&run);
    stage.until(&run, "gate.decision").await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    fs::write(stage.workspace().join("go"), "").unwrap();
    let outcome = stage.successor().work(&run, Claim::default(), CancellationToken::new()).await.unwrap();
    assert_eq!(outcome, Outcome::Ended(Kind::RunCompleted));
    let first: Vec<_> =
        events::<GateDecision>(&stage, &run).await.into_iter().filter(|decision| decision.round == 1).collect();
    assert_eq!(first.iter().map(|decision| decision.gate_id.as_str()).collect::<Vec<_>>(), ["always", "slow"]);
    assert_eq!(receipt(&stage, &run).await.report.verdict().to_string(), "VALID");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_run_is_cancelled_while_a_gate_looks() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(SLOW), "turns: []")).await;
    let work = stage.start(&run);
    stage.until(&run, "gate.decision").await;
    let cancel = Command::cancel("enough");
    command(&stage.engine, &run, cancel, &operator()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::Ended(Kind::RunCancelled));
    assert!(events::<PhaseTransition>(&stage, &run).await.is_empty());
    stage.check(&run).await;
}

#[tokio::test]
async fn a_gate_that_looks_when_the_process_is_asked_to_stop_is_asked_again() {
    let stage = Stage::new();
    let run = stage.create(phased(&stage, with_gates(SLOW), "{turns: [], default: {text: done}}")).await;
    let stop = CancellationToken::new();
    let work = {
        let (engine, run, stop) = (stage.engine.clone(), run.clone(), stop.clone());
        tokio::spawn(async move { engine.work(&run, Claim::default(), stop).await })
    };
    stage.until(&run, "gate.decision").await;
    stop.cancel();
    assert_eq!(work.await.unwrap().unwrap(), Outcome::HandedOver);
    fs::write(stage.workspace().join("go"), "").unwrap();
    stage.work(&run).await.unwrap();
    assert_eq!(stage.types(&run).await.last().unwrap(), "run.finished");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_run_without_an_end_of_its_phases_is_never_completed() {
    let stage = Stage::new();
    let mut new = phased(&stage, with_gates(DONE), "{turns: [], default: {text: done}}");
    new.spec.max_turns = 4;
    let run = stage.play(new).await;
    let Payload::RunFailed(failed) = stage.last_of(&run, Kind::RunFailed).await else { panic!() };
    assert_eq!(failed.error_type, "max_turns");
    stage.check(&run).await;
}

#[tokio::test]
async fn a_run_that_goes_on_from_another_one_begins_at_start_and_sees_all_changes() {
    use r1_runtime::control::go_on::{Changes, resume};
    let stage = Stage::new();
    let scenario = r#"
turns:
  - { text: plan }
  - { tool_calls: [{ tool: file_write, input: { path: a.txt, content: a } }] }
"#;
    let failed = stage.play(phased(&stage, with_gates(""), scenario)).await;
    assert_eq!(stage.types(&failed).await.last().unwrap(), "run.failed");
    let next = resume(&stage.engine, &failed, Changes::default(), &operator()).await.unwrap();
    let (before, after) = (stage.state(&failed).await.phases.unwrap(), stage.state(&next).await.phases.unwrap());
    assert_eq!(after.phase(), r1_runtime::gate::Phase::Start);
    assert!(before.base().is_some());
    assert_eq!(after.base(), before.base(), "what the task changed before is still its change");
    stage.work(&next).await.unwrap();
    let made: Vec<PhaseTransition> = events(&stage, &next).await;
    assert_eq!((steps(&made)[0].as_str(), made[0].round), ("START>PLAN", 1));
    stage.check(&next).await;
}
