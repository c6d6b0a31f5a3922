//! The life of patches after their call.

use r1_event::UnixNanos;
use r1_protocol::data::{ArtifactStatus, By, ToolEditReverted, ToolMultiEditReverted};
use r1_runtime::control::patches::{self, Done, PatchError, Request, Standing};
use r1_runtime::patch::ApplyError;
use serde_json::json;

use super::stage::Stage;

fn request() -> Request {
    Request { by: By::Operator, reason: "because".into(), allow_offset: false, now: UnixNanos(1_000_000_000) }
}

async fn revert(stage: &Stage, id: &str, request: &Request) -> Result<Done, PatchError> {
    let (workspace, index) = (&stage.context.workspace, stage.index());
    patches::revert(&stage.store, &stage.redactor, workspace, &index, id, request).await
}

async fn apply(stage: &Stage, id: &str, request: &Request) -> Result<Done, PatchError> {
    patches::apply(&stage.store, &stage.context.workspace, &stage.index(), id, request).await
}

#[tokio::test]
async fn ep_25_a_proposed_patch_is_applied_reverted_and_done_again() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    let input = json!({ "path": "a", "old_string": "one", "new_string": "two" });
    let id = stage.prepared("edit", input).await.unwrap().prepared.patches.remove(0);
    assert_eq!(stage.index().get(&id).unwrap().status, ArtifactStatus::Proposed);

    let done = apply(&stage, &id, &request()).await.unwrap();
    stage.append(done.events);
    assert_eq!(stage.read("a"), "two\n");
    let view = stage.index().get(&id).cloned().unwrap();
    assert_eq!(view.status, ArtifactStatus::Applied);
    assert_eq!(view.applied_at.unwrap().as_str(), "1970-01-01T00:00:01.000000000Z");
    assert_eq!(stage.types()[1..], ["tool.edit.applied", "artifact.updated", "artifact.updated"]);
    assert!(apply(&stage, &id, &request()).await.unwrap().events.is_empty(), "a reached state is no error");

    let done = revert(&stage, &id, &request()).await.unwrap();
    let inverse = done.inverse_ids[0].clone();
    stage.append(done.events);
    assert_eq!(stage.read("a"), "one\n");
    assert_eq!(stage.types()[4..], ["tool.edit.reverted", "artifact.created", "artifact.updated"]);
    let reverted = stage.events::<ToolEditReverted>().remove(0);
    assert_eq!((reverted.inverse_artifact_id.as_ref(), reverted.reason.as_str()), (Some(&inverse), "because"));
    let (view, inverse_view) =
        (stage.index().get(&id).cloned().unwrap(), stage.index().get(&inverse).cloned().unwrap());
    assert_eq!(view.status, ArtifactStatus::Applied);
    assert!(view.reverted_at.is_some());
    assert_eq!(inverse_view.status, ArtifactStatus::Applied);
    assert_eq!(inverse_view.patch.unwrap().reverts_artifact_id, Some(id.clone()));
    assert!(revert(&stage, &id, &request()).await.unwrap().events.is_empty());
    assert!(matches!(
        apply(&stage, &id, &request()).await,
        Err(PatchError::WrongState { standing: Standing::Reverted, .. })
    ));

    let done = revert(&stage, &inverse, &request()).await.unwrap();
    stage.append(done.events);
    assert_eq!(stage.read("a"), "two\n");
}

#[tokio::test]
async fn a_rejected_patch_stays_rejected() {
    let stage = Stage::new().await;
    let input = json!({ "path": "new", "content": "x" });
    let id = stage.prepared("file_write", input).await.unwrap().prepared.patches.remove(0);
    let done = patches::reject(&stage.index(), &id, &request()).unwrap();
    stage.append(done.events);
    assert_eq!(stage.types()[1..], ["tool.file_write.rejected", "artifact.updated", "artifact.updated"]);
    assert_eq!(stage.index().get(&id).unwrap().status, ArtifactStatus::Rejected);
    assert!(patches::reject(&stage.index(), &id, &request()).unwrap().events.is_empty());
    assert!(matches!(apply(&stage, &id, &request()).await, Err(PatchError::WrongState { .. })));
    assert!(matches!(revert(&stage, &id, &request()).await, Err(PatchError::WrongState { .. })));
    assert!(!stage.at("new").exists());
}

#[tokio::test]
async fn ep_25_members_of_a_batch_move_together() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    stage.write("b", "one\n");
    let edits = json!({ "edits": [
        { "path": "a", "old_string": "one", "new_string": "two" },
        { "path": "b", "old_string": "one", "new_string": "two" },
    ]});
    let call = stage.prepared("multi_edit", edits).await.unwrap();
    stage.run("multi_edit", &call).await.unwrap();
    let ids = call.prepared.patches;

    stage.write("b", "drifted\n");
    let Err(PatchError::Apply(ApplyError::Conflict(conflict))) = revert(&stage, &ids[0], &request()).await else {
        panic!("a file has drifted")
    };
    assert_eq!(conflict.paths.len(), 1);
    assert_eq!((stage.read("a"), stage.read("b")), ("two\n".into(), "drifted\n".into()));

    stage.write("b", "two\n");
    let done = revert(&stage, &ids[1], &request()).await.unwrap();
    assert_eq!((done.artifact_ids.len(), done.inverse_ids.len()), (2, 2));
    stage.append(done.events);
    assert_eq!((stage.read("a"), stage.read("b")), ("one\n".into(), "one\n".into()));
    let reverted = stage.events::<ToolMultiEditReverted>().remove(0);
    assert_eq!(reverted.patch_artifact_ids.len(), 2);
    let index = stage.index();
    assert!(ids.iter().all(|id| index.get(id).unwrap().reverted_at.is_some()));
    // The inverses are a batch of their own.
    let done = revert(&stage, &done.inverse_ids[0], &request()).await.unwrap();
    assert_eq!(done.artifact_ids.len(), 2);
    assert_eq!((stage.read("a"), stage.read("b")), ("two\n".into(), "two\n".into()));
}

#[tokio::test]
async fn ep_25_work_that_was_done_but_not_recorded_is_recorded_by_asking_again() {
    let stage = Stage::new().await;
    stage.write("a", "one\n");
    let input = json!({ "path": "a", "old_string": "one", "new_string": "two" });
    let id = stage.prepared("edit", input).await.unwrap().prepared.patches.remove(0);
    // Died between the work and the append.
    drop(apply(&stage, &id, &request()).await.unwrap());
    let done = apply(&stage, &id, &request()).await.unwrap();
    assert!(!done.events.is_empty());
    stage.append(done.events);
    drop(revert(&stage, &id, &request()).await.unwrap());
    let done = revert(&stage, &id, &request()).await.unwrap();
    assert!(!done.events.is_empty());
    assert_eq!(stage.read("a"), "one\n");
}

#[tokio::test]
async fn only_patches_that_are_there_can_be_moved() {
    let stage = Stage::new().await;
    assert!(matches!(apply(&stage, "art_nothing", &request()).await, Err(PatchError::Unknown { .. })));
    stage.write("long", "x\n".repeat(40_000));
    let read = stage.call("file_read", json!({ "path": "long", "limit": 40_000 })).await.unwrap();
    let id = read.artifact_id.unwrap();
    assert!(matches!(apply(&stage, &id, &request()).await, Err(PatchError::NotAPatch { .. })));
}
