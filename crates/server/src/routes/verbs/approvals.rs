//! Answering requests for approval.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::{Approval, Object, ResolveRequest};
use r1_runtime::agent::command::{Command, Resolution};
use r1_runtime::control::command::command;

use super::answer;
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::body::Json;
use crate::error::ApiError;
use crate::routes::{PathIds, Route, run};

pub(super) fn table() -> Vec<Route> {
    let row = |path| {
        Route::post(path, Cap::Write, resolve)
            .summary("Answers a request for approval")
            .body::<ResolveRequest>()
            .answers::<Object<Approval>>(StatusCode::OK)
            .answer_of(answer::approval)
    };
    vec![
        row("/hecate/v1/approvals/{approval_id}/resolve"),
        row("/hecate/v1/tasks/{task_id}/approvals/{approval_id}/resolve"),
    ]
}

async fn resolve(
    State(app): State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    Json(request): Json<ResolveRequest>,
) -> Result<Response, ApiError> {
    let approval_id = ids.id("approval_id")?;
    let unknown = || {
        ApiError::not_found(format!("there is no approval {approval_id}")).hint("GET /hecate/v1/approvals lists them")
    };
    let approval = app.index.approval(approval_id).await?.ok_or_else(unknown)?;
    if let Some(task) = ids.get("task_id")
        && !run::is_task(approval.task_id.as_deref(), task)
    {
        return Err(unknown());
    }
    let run = approval.run_id.parse().map_err(|_| unknown())?;
    let ResolveRequest { decision, comment, scope, subject_hash, edited_input } = request;
    if edited_input.as_ref().is_some_and(|input| !input.is_object()) {
        return Err(ApiError::invalid("/edited_input", "the input of a call is an object"));
    }
    let resolution = Resolution {
        approval_id: approval.id,
        decision,
        comment: comment.unwrap_or_default(),
        scope: scope.unwrap_or_default(),
        subject_hash,
        edited_input,
    };
    let resolved = command(&app.engine, &run, Command::Resolve(resolution), &caller.for_control()).await?;
    answer::approval(app, resolved.effect).await
}
