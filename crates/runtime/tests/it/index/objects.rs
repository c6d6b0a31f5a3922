//! Approvals and artifacts, from their first event to their last.

use std::fs;

use r1_event::RunId;
use r1_protocol::api::{ApprovalStatus, RunStatus};
use r1_protocol::data::By;
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};
use r1_runtime::control::caller::Caller;
use r1_runtime::control::command::command;
use r1_runtime::control::patches::{Request, Verb, act};
use r1_runtime::index::{ApprovalQuery, ArtifactQuery, Index, RunQuery};
use r1_runtime::policy::ApprovalMode;
use r1_store::SharedStore;

use super::together::assert_same_from_nothing;
use super::{memory, on_each_store, prefixes};
use crate::engine::stage::Stage;

on_each_store! {
    an_approval_is_asked_answered_and_closed_with_its_run,
    a_patch_is_followed_through_its_life,
}

async fn asked(stage: &Stage, run: &RunId) -> String {
    stage.until(run, "approval.requested").await;
    loop {
        if let Some((id, _)) = stage.state(run).await.approvals().next() {
            return id.to_owned();
        }
    }
}

async fn an_approval_is_asked_answered_and_closed_with_its_run(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let mut new = stage.new_run("turns: [{tool_calls: [{tool: act, input: {x: 1}}, {tool: act, input: {x: 2}}]}]");
    new.spec.approval = ApprovalMode::Ask;
    let run = stage.create(new).await;
    let work = stage.start(&run);
    while stage.state(&run).await.approvals().count() < 2 {
        tokio::task::yield_now().await;
    }
    let first = asked(&stage, &run).await;
    let pending = |status| ApprovalQuery { status: Some(status), ..ApprovalQuery::default() };
    assert_eq!(index.approvals(pending(ApprovalStatus::Pending)).await.unwrap().data.len(), 2);
    let shown = index.run(run.as_str()).await.unwrap().unwrap();
    assert_eq!((shown.status, shown.pending_approvals), (RunStatus::AwaitingApproval, 2));
    let approval = index.approval(&first).await.unwrap().unwrap();
    assert_eq!((approval.run_id.as_str(), approval.task_id), (run.as_str(), shown.task_id.clone()));
    assert_eq!((approval.tool_name.as_deref(), approval.status), (Some("act"), ApprovalStatus::Pending));
    assert!(approval.resolved_at.is_none() && !approval.subject_hash.is_empty() && approval.argv.is_some());
    assert_eq!(index.run_of_approval(&first).await.unwrap(), Some(run.clone()));

    let answer = Command::Resolve(Resolution {
        approval_id: first.clone(),
        decision: Decision::Reject,
        comment: "not this".into(),
        scope: Scope::Once,
        subject_hash: None,
        edited_input: None,
    });
    command(&stage.engine, &run, answer, &Caller::default()).await.unwrap();
    let approval = index.approval(&first).await.unwrap().unwrap();
    assert_eq!((approval.status, approval.by.as_deref()), (ApprovalStatus::Rejected, Some("operator")));
    assert_eq!(approval.comment.as_deref(), Some("not this"));

    let cancel = Command::cancel("");
    command(&stage.engine, &run, cancel, &Caller::default()).await.unwrap();
    work.await.unwrap().unwrap();
    let closed = index.approvals(pending(ApprovalStatus::Cancelled)).await.unwrap().data;
    assert_eq!(closed.len(), 1);
    assert!(closed[0].resolved_at.is_some() && closed[0].id != first);
    let of_run = ApprovalQuery { run_id: Some(run.to_string()), ..ApprovalQuery::default() };
    assert_eq!(index.approvals(of_run).await.unwrap().data.len(), 2);
    let of_task = ApprovalQuery { task_id: shown.task_id, ..ApprovalQuery::default() };
    assert_eq!(index.approvals(of_task).await.unwrap().data.len(), 2);
    assert!(index.approvals(pending(ApprovalStatus::Pending)).await.unwrap().data.is_empty());
    assert_same_from_nothing(&store).await;
}

/// A run that has changed the file `a`.
async fn edited(stage: &Stage) -> RunId {
    fs::write(stage.workspace().join("a"), "one\n").unwrap();
    let edit = "{tool: edit, input: {path: a, old_string: one, new_string: two}}";
    stage.play(stage.new_run(&format!("turns: [{{tool_calls: [{edit}]}}, {{text: done}}]"))).await
}

fn request() -> Request {
    Request { by: By::Operator, reason: "because".into(), allow_offset: false, now: r1_runtime::world::now() }
}

async fn a_patch_is_followed_through_its_life(store: SharedStore) {
    let stage = Stage::on(store.clone());
    let index = Index::new(store.clone());
    let run = edited(&stage).await;
    let patches = |run: Option<&RunId>| ArtifactQuery {
        kind: Some("patch".into()),
        path: Some("a".into()),
        run_id: run.map(ToString::to_string),
        ..ArtifactQuery::default()
    };
    let found = index.artifacts(patches(Some(&run))).await.unwrap().data;
    assert_eq!(found.len(), 1);
    let patch = index.artifact(&found[0].id).await.unwrap().unwrap();
    assert_eq!(patch, found[0]);
    assert_eq!((patch.status.as_str(), patch.target_path.as_deref()), ("applied", Some("a")));
    assert_eq!(patch.stats.map(|stats| (stats.additions, stats.deletions)), Some((1, 1)));
    assert!(patch.applied_at.is_some() && patch.diff.is_none() && patch.base_revision != patch.result_revision);
    let diff = index.diff(&patch).await.unwrap().unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(index.run_of_artifact(&patch.id).await.unwrap(), Some(run.clone()));

    let undone = act(&stage.engine, &run, Verb::Revert, &patch.id, &request(), &Caller::default()).await.unwrap();
    let reverted = index.artifact(&patch.id).await.unwrap().unwrap();
    assert!(reverted.reverted_at.is_some() && reverted.status == "applied");
    let inverse = index.artifact(&undone.inverse_ids[0]).await.unwrap().unwrap();
    assert_eq!(inverse.reverts_artifact_id, Some(patch.id.clone()));
    assert_eq!(inverse.produced_by_run_id, undone.effect.unwrap().run_id);
    assert_eq!(inverse.task_id, patch.task_id);
    assert_eq!(index.artifacts(patches(None)).await.unwrap().data.len(), 2);
    let called = ArtifactQuery { tool_call_id: patch.produced_by_tool_call_id, ..ArtifactQuery::default() };
    assert!(!index.artifacts(called).await.unwrap().data.is_empty());
    assert_same_from_nothing(&store).await;
}

#[tokio::test]
async fn logs_that_come_in_another_order_say_the_same_of_an_artifact() {
    let stage = Stage::new();
    let run = edited(&stage).await;
    let index = Index::new(stage.store.clone());
    let query = || ArtifactQuery { kind: Some("patch".into()), ..ArtifactQuery::default() };
    let patch = index.artifacts(query()).await.unwrap().data.remove(0);
    let undone = act(&stage.engine, &run, Verb::Revert, &patch.id, &request(), &Caller::default()).await.unwrap();
    let operator_run: RunId = undone.effect.unwrap().run_id.parse().unwrap();

    let other = memory();
    let elsewhere = Index::new(other.clone());
    for part in [&operator_run, &run] {
        prefixes::append(&other, part, prefixes::log(&stage.store, part).await).await;
        elsewhere.catch_up().await.unwrap();
    }
    let (here, there) = (index.artifacts(query()).await.unwrap(), elsewhere.artifacts(query()).await.unwrap());
    assert_eq!(here.data, there.data);
    let tasks = |index: Index| async move { index.tasks(Default::default()).await.unwrap().data };
    assert_eq!(tasks(index.clone()).await, tasks(elsewhere.clone()).await);
    let runs = |index: Index| async move { index.runs(RunQuery::default()).await.unwrap().data };
    assert_eq!(runs(index).await, runs(elsewhere).await);
}
