//! Patches of a run: what becomes of them with their call, and what people do with them afterwards.

use std::fs;

use r1_event::{Kind, Record, RunId};
use r1_protocol::data::{ArtifactStatus, By};
use r1_runtime::agent::command::{Command, Decision, Recorded, Refusal, Resolution, Scope};
use r1_runtime::artifact::view::{ArtifactIndex, ArtifactView};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::create::NewRun;
use r1_runtime::control::operator;
use r1_runtime::control::patches::{self, ActError, Moved, PatchError, Request, Verb, act};
use r1_runtime::patch::ApplyError;
use r1_runtime::policy::ApprovalMode;
use serde_json::json;

use super::stage::{Stage, type_of};

const EDIT: &str = "{tool: edit, input: {path: a, old_string: one, new_string: two}}";

fn stage() -> Stage {
    let stage = Stage::new();
    fs::write(stage.workspace().join("a"), "one\n").unwrap();
    stage
}

fn editing(stage: &Stage, mode: ApprovalMode) -> NewRun {
    let mut new = stage.new_run(&format!("turns: [{{tool_calls: [{EDIT}]}}, {{text: done}}]"));
    new.spec.approval = mode;
    new
}

fn file(stage: &Stage) -> String {
    fs::read_to_string(stage.workspace().join("a")).unwrap()
}

fn request() -> Request {
    Request { by: By::Operator, reason: "because".into(), allow_offset: false, now: r1_runtime::world::now() }
}

fn answer(approval_id: &str, decision: Decision, edited_input: Option<serde_json::Value>) -> Command {
    Command::Resolve(Resolution {
        approval_id: approval_id.into(),
        decision,
        comment: "not so".into(),
        scope: Scope::Once,
        subject_hash: None,
        edited_input,
    })
}

async fn index(stage: &Stage, run: &RunId) -> ArtifactIndex {
    patches::artifacts(&stage.store, run).await.unwrap()
}

async fn only_patch(stage: &Stage, run: &RunId) -> ArtifactView {
    let index = index(stage, run).await;
    let mut patches = index.iter().filter(|artifact| artifact.patch.is_some());
    let patch = patches.next().expect("there is a patch").clone();
    assert_eq!(patches.next(), None);
    patch
}

async fn asked(stage: &Stage, run: &RunId) -> String {
    stage.until(run, "approval.requested").await;
    stage.state(run).await.approvals().next().expect("an approval is pending").0.to_owned()
}

/// The types that follow the first event of type `after`.
async fn following(stage: &Stage, run: &RunId, after: &str) -> Vec<String> {
    let types = stage.types(run).await;
    let at = types.iter().position(|name| name == after).expect("it is in the log");
    types[at + 1..].iter().take(3).cloned().collect()
}

#[tokio::test]
async fn ep_25_a_patch_whose_call_is_refused_is_rejected() {
    let stage = stage();
    let run = stage.create(editing(&stage, ApprovalMode::Ask)).await;
    let work = stage.start(&run);
    let approval = asked(&stage, &run).await;
    assert_eq!(only_patch(&stage, &run).await.status, ArtifactStatus::Proposed);
    command(&stage.engine, &run, answer(&approval, Decision::Reject, None), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let patch = only_patch(&stage, &run).await;
    assert_eq!((patch.status, patch.rejected_at.is_some()), (ArtifactStatus::Rejected, true));
    let next = following(&stage, &run, "approval.resolved").await;
    assert_eq!(next, ["tool.edit.rejected", "artifact.updated", "artifact.updated"]);
    assert_eq!(file(&stage), "one\n");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_a_refusal_while_nobody_works_on_the_run_rejects_the_patch_at_once() {
    let stage = stage();
    let run = stage.create(editing(&stage, ApprovalMode::Ask)).await;
    let work = stage.start(&run);
    let approval = asked(&stage, &run).await;
    work.abort();
    let _ = work.await;
    stage.expire(&run).await;
    command(&stage.engine, &run, answer(&approval, Decision::Reject, None), &Caller::default()).await.unwrap();
    assert_eq!(only_patch(&stage, &run).await.status, ArtifactStatus::Rejected);
    stage.work(&run).await.unwrap();
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_a_patch_that_nobody_answers_for_is_rejected() {
    let stage = stage();
    let mut new = editing(&stage, ApprovalMode::Ask);
    new.spec.approval_timeout_s = 1;
    let run = stage.play(new).await;
    assert_eq!(only_patch(&stage, &run).await.status, ArtifactStatus::Rejected);
    let next = following(&stage, &run, "approval.timed_out").await;
    assert_eq!(next[0], "tool.edit.rejected");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_patches_of_a_cancelled_run_are_rejected() {
    let stage = stage();
    let edits = "{edits: [{path: a, old_string: one, new_string: two}]}";
    let calls = format!("[{{tool: file_write, input: {{path: b, content: x}}}}, {{tool: multi_edit, input: {edits}}}]");
    let mut new = stage.new_run(&format!("turns: [{{tool_calls: {calls}}}, {{text: done}}]"));
    new.spec.approval = ApprovalMode::Ask;
    let run = stage.create(new).await;
    let work = stage.start(&run);
    while stage.state(&run).await.approvals().count() < 2 {
        tokio::task::yield_now().await;
    }
    let cancel = Command::cancel("enough");
    command(&stage.engine, &run, cancel, &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let index = index(&stage, &run).await;
    assert_eq!(index.iter().count(), 2);
    assert!(index.iter().all(|patch| patch.status == ArtifactStatus::Rejected));
    let types = stage.types(&run).await;
    assert!(
        ["tool.file_write.rejected", "tool.multi_edit.rejected"].iter().all(|name| types.iter().any(|t| t == name))
    );
    assert_eq!(types.last().unwrap(), "run.cancelled");
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_what_an_approver_changed_is_a_patch_of_its_own() {
    let stage = stage();
    let run = stage.create(editing(&stage, ApprovalMode::Ask)).await;
    let work = stage.start(&run);
    let approval = asked(&stage, &run).await;
    let edited = json!({ "path": "a", "old_string": "one", "new_string": "three" });
    command(&stage.engine, &run, answer(&approval, Decision::Approve, Some(edited)), &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    assert_eq!(file(&stage), "three\n");
    let index = index(&stage, &run).await;
    let statuses: Vec<_> = index.iter().map(|patch| patch.status.clone()).collect();
    assert_eq!(statuses, [ArtifactStatus::Rejected, ArtifactStatus::Applied]);
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_what_policy_denies_never_becomes_a_patch() {
    let stage = stage();
    let run = stage.play(editing(&stage, ApprovalMode::ReadOnly)).await;
    assert_eq!(index(&stage, &run).await.iter().count(), 0);
    assert!(stage.types(&run).await.contains(&"policy.tool_blocked".to_owned()));
    stage.check(&run).await;
}

#[tokio::test]
async fn ep_25_a_patch_that_turns_out_to_be_denied_is_rejected() {
    let stage = stage();
    // The script is in the log and so has no secrets, but the file that it edits has one.
    fs::write(stage.workspace().join("a"), format!("AKIA{}\none\n", "IOSFODNN7EXAMPLE")).unwrap();
    let mut new = editing(&stage, ApprovalMode::Full);
    new.spec.unattended = true;
    let run = stage.play(new).await;
    let next = following(&stage, &run, "policy.tool_blocked").await;
    assert_eq!(next[0], "tool.edit.rejected");
    assert_eq!(only_patch(&stage, &run).await.status, ArtifactStatus::Rejected);
    stage.check(&run).await;
}

/// A finished run whose edit was applied.
async fn edited(stage: &Stage) -> (RunId, String) {
    let run = stage.play(editing(stage, ApprovalMode::Full)).await;
    assert_eq!(file(stage), "two\n");
    let id = only_patch(stage, &run).await.id;
    (run, id)
}

async fn is_sound(stage: &Stage, run: &RunId) -> Vec<Record> {
    let records = stage.records(run).await;
    let mut validator = r1_event::validate::Validator::new(Default::default());
    records.iter().for_each(|record| validator.push(record));
    let findings = validator.finish().findings;
    assert!(findings.is_empty(), "{findings:#?}");
    let problems = r1_protocol::conformance::problems(&records, &[]);
    assert!(problems.is_empty(), "{problems:#?}");
    records
}

#[tokio::test]
async fn ep_25_a_finished_log_is_unchanged_and_an_operator_run_tells_of_revert_and_redo() {
    let stage = stage();
    let (run, id) = edited(&stage).await;
    let before = stage.records(&run).await;

    let undone = act(&stage.engine, &run, Verb::Revert, &id, &request(), &Caller::default()).await.unwrap();
    assert_eq!(file(&stage), "one\n");
    let operator_run: RunId = undone.effect.unwrap().run_id.parse().unwrap();
    let types: Vec<_> = is_sound(&stage, &operator_run).await.iter().map(type_of).collect();
    assert_eq!(types, ["run.queued", "tool.edit.reverted", "artifact.created", "artifact.updated", "run.finished"]);
    let (original, theirs) = (stage.state(&run).await, stage.records(&operator_run).await);
    let facts = r1_protocol::RunFacts::of_first(&theirs[0], None).unwrap();
    assert_eq!((facts.task_id, facts.session_id), (original.task_id, original.session_id));
    assert_eq!(operator::parent(&stage.store, &operator_run).await.unwrap(), Some(run.clone()));
    assert_eq!(patches::subject(&stage.store, &operator_run).await.unwrap(), run);

    let again = act(&stage.engine, &run, Verb::Revert, &id, &request(), &Caller::default()).await.unwrap();
    assert_eq!(again, Moved { artifact_ids: vec![id.clone()], ..Moved::default() }, "a reached state is no error");

    let inverse = &undone.inverse_ids[0];
    // Nothing but the operator run names these blobs.
    stage.store.collect_blobs(std::time::Duration::ZERO).await.unwrap();
    let redone = act(&stage.engine, &run, Verb::Revert, inverse, &request(), &Caller::default()).await.unwrap();
    assert_eq!(file(&stage), "two\n");
    assert_eq!(
        operator::about(&stage.store, &run).await.unwrap(),
        [operator_run, redone.effect.unwrap().run_id.parse().unwrap()]
    );
    assert!(index(&stage, &run).await.get(inverse).unwrap().reverted_at.is_some());
    assert_eq!(stage.records(&run).await, before);
}

#[tokio::test]
async fn ep_25_a_drifted_file_is_left_as_it_is_unless_hunks_may_move() {
    let stage = stage();
    let (run, id) = edited(&stage).await;
    fs::write(stage.workspace().join("a"), "zero\ntwo\n").unwrap();
    let refused = act(&stage.engine, &run, Verb::Revert, &id, &request(), &Caller::default()).await;
    let Err(ActError::Patch(PatchError::Apply(ApplyError::Conflict(conflict)))) = refused else { panic!() };
    assert_eq!(conflict.paths.len(), 1);
    assert_eq!(file(&stage), "zero\ntwo\n");
    assert!(operator::about(&stage.store, &run).await.unwrap().is_empty());
    let moving = Request { allow_offset: true, ..request() };
    act(&stage.engine, &run, Verb::Revert, &id, &moving, &Caller::default()).await.unwrap();
    assert_eq!(file(&stage), "zero\none\n");
}

#[tokio::test]
async fn ep_25_an_open_run_tells_itself_of_a_revert_and_keeps_the_inverse() {
    let stage = stage();
    let mut new =
        stage.new_run(&format!("turns: [{{tool_calls: [{EDIT}]}}, {{tool_calls: [{{tool: wait}}]}}, {{text: x}}]"));
    new.spec.approval = ApprovalMode::Full;
    let run = stage.create(new).await;
    let work = stage.start(&run);
    stage.world.begun.notified().await;
    let id = only_patch(&stage, &run).await.id;
    let undone = act(&stage.engine, &run, Verb::Revert, &id, &request(), &Caller::default()).await.unwrap();
    assert_eq!(undone.effect.unwrap().run_id, run.as_str());
    assert_eq!(file(&stage), "one\n");
    stage.world.go_on.notify_one();
    work.await.unwrap().unwrap();
    let next = following(&stage, &run, "tool.edit.reverted").await;
    assert_eq!(next[..2], ["artifact.created", "artifact.updated"]);
    stage.check(&run).await;
    stage.store.collect_blobs(std::time::Duration::ZERO).await.unwrap();
    act(&stage.engine, &run, Verb::Revert, &undone.inverse_ids[0], &request(), &Caller::default()).await.unwrap();
    assert_eq!(file(&stage), "two\n");
}

#[tokio::test]
async fn a_patch_of_a_call_that_waits_is_not_decided_behind_its_back() {
    let stage = stage();
    let run = stage.create(editing(&stage, ApprovalMode::Ask)).await;
    let work = stage.start(&run);
    let approval = asked(&stage, &run).await;
    let id = only_patch(&stage, &run).await.id;
    let refused = act(&stage.engine, &run, Verb::Reject, &id, &request(), &Caller::default()).await;
    assert!(matches!(refused, Err(ActError::InUse { .. })), "{refused:?}");
    command(&stage.engine, &run, answer(&approval, Decision::Approve, None), &Caller::default()).await.unwrap();
    assert_eq!(work.await.unwrap().unwrap(), r1_runtime::engine::Outcome::Ended(Kind::RunCompleted));
    assert_eq!(file(&stage), "two\n");
}

#[tokio::test]
async fn only_digests_name_blobs() {
    let stage = stage();
    let run = stage.create(editing(&stage, ApprovalMode::Full)).await;
    let event = Recorded { type_name: "artifact.updated".into(), data: json!({}), blobs: vec!["x".into()] };
    let refused = command(&stage.engine, &run, Command::Record { events: vec![event] }, &Caller::default()).await;
    assert!(matches!(refused, Err(CommandError::Refused(Refusal::NotABlob { .. }))));
}
