//! Approvals.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::{Approval, ApprovalStatus, List, Object};
use r1_runtime::index::ApprovalQuery;

use super::super::{PathIds, Route, RunPath};
use super::{MOST, USUAL, list, object, refuse, served, task_id, text};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{CURSOR, LIMIT, Param, Query, Shape};

const PARAMS: &[Param] = &[
    Param::new(
        "status",
        Shape::Word(&["pending", "approved", "rejected", "timed_out", "cancelled"]),
        "Only those of which this came.",
    ),
    CURSOR,
    LIMIT,
];

pub(super) fn table() -> Vec<Route> {
    let row = |row: Route, summary| row.summary(summary).query(PARAMS).answers::<List<Approval>>(StatusCode::OK);
    vec![
        row(Route::get("/hecate/v1/approvals", Cap::Read, all), "Approvals, newest first"),
        row(Route::get("/hecate/v1/tasks/{task_id}/approvals", Cap::Read, of_task), "A task's approvals, newest first"),
        row(Route::get("{run}/approvals", Cap::Read, of_run), "A run's approvals, newest first"),
        Route::get("/hecate/v1/approvals/{approval_id}", Cap::Read, one)
            .summary("An approval")
            .answers::<Object<Approval>>(StatusCode::OK),
    ]
}

async fn all(State(app): State<Arc<App>>, query: Query) -> Result<Response, ApiError> {
    page(&app, &query, ApprovalQuery::default()).await
}

async fn of_task(State(app): State<Arc<App>>, ids: PathIds, query: Query) -> Result<Response, ApiError> {
    let task_id = Some(task_id(&app, ids.id("task_id")?).await?);
    page(&app, &query, ApprovalQuery { task_id, ..ApprovalQuery::default() }).await
}

async fn of_run(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let run_id = Some(served(&app, &path).await?.id);
    page(&app, &query, ApprovalQuery { run_id, ..ApprovalQuery::default() }).await
}

async fn page(app: &App, query: &Query, asked: ApprovalQuery) -> Result<Response, ApiError> {
    let statuses = [
        ApprovalStatus::Pending,
        ApprovalStatus::Approved,
        ApprovalStatus::Rejected,
        ApprovalStatus::TimedOut,
        ApprovalStatus::Cancelled,
    ];
    let word = query.text("status");
    let asked = ApprovalQuery {
        status: statuses.into_iter().find(|status| Some(status.as_str()) == word),
        cursor: text(query, "cursor"),
        limit: query.limit(USUAL, MOST)?,
        ..asked
    };
    Ok(list(&app.index.approvals(asked).await.map_err(refuse)?))
}

async fn one(State(app): State<Arc<App>>, ids: PathIds) -> Result<Response, ApiError> {
    let id = ids.id("approval_id")?;
    let found = app.index.approval(id).await?;
    let none = || {
        ApiError::not_found(format!("there is no approval {id}")).hint("GET /hecate/v1/approvals lists all approvals")
    };
    Ok(object("approval", found.ok_or_else(none)?))
}
