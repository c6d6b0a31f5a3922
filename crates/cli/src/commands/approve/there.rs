//! Requests that a daemon keeps.

use r1_event::{RunId, UnixNanos};
use r1_protocol::api::{self, Approval, Artifact, List, Object, ResolveRequest};
use r1_protocol::data::{ApprovalKind, ApprovalRequested, Approver, EventData as _, Scope as EventScope};
use r1_runtime::agent::command::{Command, Decision, Resolution, Scope};

use super::Pending;
use crate::error::CliError;
use crate::follow;
use crate::remote::Remote;
use crate::render::live::Live;

pub(super) async fn pending(remote: &Remote) -> Result<Vec<Pending>, CliError> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("status", "pending")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page: List<Approval> = remote.get("approvals", &query).await?;
        for approval in page.data {
            found.push(shown(remote, approval).await?);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            found.reverse();
            return Ok(found);
        }
    }
}

pub(super) async fn answer(remote: &Remote, answer: Command) -> Result<(), CliError> {
    let Command::Resolve(Resolution { approval_id, decision, comment, scope, subject_hash, edited_input }) = answer
    else {
        return Err(CliError::new("a request is answered with yes or no"));
    };
    let body = ResolveRequest {
        decision: match decision {
            Decision::Approve => api::Decision::Approve,
            Decision::Reject => api::Decision::Reject,
        },
        comment: (!comment.is_empty()).then_some(comment),
        scope: Some(match scope {
            Scope::Once => api::Scope::Once,
            Scope::Session => api::Scope::Session,
        }),
        subject_hash,
        edited_input,
    };
    let _: Object<Approval> = remote.post(&format!("approvals/{approval_id}/resolve"), &body).await?;
    Ok(())
}

/// A request as it looks on a terminal: the same as if the run were here.
async fn shown(remote: &Remote, approval: Approval) -> Result<Pending, CliError> {
    let run: RunId = approval.run_id.parse().map_err(|err| CliError::new("the daemon named no run").because(err))?;
    let mut live = Live::new(run.clone(), follow::look(false, false));
    for id in &approval.patch_artifact_ids {
        let patch: Object<Artifact> = remote.get(&format!("artifacts/{id}"), &[]).await?;
        if let Some(diff) = patch.data.diff {
            live.learn_patch(id.clone(), diff);
        }
    }
    let at = approval.requested_at.nanos().unwrap_or(UnixNanos(0));
    let request = request(approval);
    let shown = live.take(at, &request.to_payload()).trim_start_matches('\n').to_owned();
    Ok(Pending { run, request, shown })
}

/// What the daemon keeps of a request, as the event that made it.
fn request(approval: Approval) -> ApprovalRequested {
    ApprovalRequested {
        approval_id: approval.id,
        kind: ApprovalKind::from(approval.kind.as_str()),
        summary: approval.summary,
        policy_reason: approval.policy_reason,
        subject_hash: approval.subject_hash,
        expires_at: approval.expires_at,
        scopes: approval.scopes.iter().map(|scope| EventScope::from(scope.as_str())).collect(),
        tool_call_id: approval.tool_call_id,
        tool_name: approval.tool_name,
        input: approval.input,
        argv: approval.argv,
        cwd: approval.cwd,
        patch_artifact_ids: Some(approval.patch_artifact_ids).filter(|ids| !ids.is_empty()),
        approver: Some(Approver::from(approval.approver.as_str())),
        ..ApprovalRequested::default()
    }
}
