//! Tasks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use r1_protocol::api::{List, Object, Run, Task};
use r1_runtime::index::{RunQuery, TaskQuery};

use super::super::{PathIds, Route};
use super::runs::{STATUS, run_query, status};
use super::{MOST, USUAL, list, object, refuse, runs, task_id, text};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{CURSOR, LIMIT, Param, Query, Shape};

const PARAMS: &[Param] = &[STATUS, Param::new("tag", Shape::Text, "A tag's key, or key:value."), CURSOR, LIMIT];

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("/hecate/v1/tasks", Cap::Read, all)
            .summary("Tasks, newest first")
            .query(PARAMS)
            .answers::<List<Task>>(StatusCode::OK),
        Route::get("/hecate/v1/tasks/{task_id}", Cap::Read, one)
            .summary("A task")
            .answers::<Object<Task>>(StatusCode::OK),
        Route::delete("/hecate/v1/tasks/{task_id}", Cap::Write, never)
            .summary("Refused: what happened stays; `r1 prune` lets go of finished runs"),
        Route::get("/hecate/v1/tasks/{task_id}/runs", Cap::Read, own_runs)
            .summary("A task's runs, newest first")
            .query(runs::PARAMS)
            .answers::<List<Run>>(StatusCode::OK),
    ]
}

async fn all(State(app): State<Arc<App>>, query: Query) -> Result<Response, ApiError> {
    let asked = TaskQuery {
        status: status(&query),
        tag: text(&query, "tag"),
        cursor: text(&query, "cursor"),
        limit: query.limit(USUAL, MOST)?,
    };
    Ok(list(&app.index.tasks(asked).await.map_err(refuse)?))
}

async fn one(State(app): State<Arc<App>>, ids: PathIds) -> Result<Response, ApiError> {
    Ok(object("task", found(&app, ids.id("task_id")?).await?))
}

async fn never() -> ApiError {
    ApiError::append_only("tasks are not deleted")
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
        .hint("`r1 prune` lets go of the beginning of finished runs")
        .allow(HeaderValue::from_static("GET, HEAD, PATCH"))
}

async fn own_runs(State(app): State<Arc<App>>, ids: PathIds, query: Query) -> Result<Response, ApiError> {
    let task_id = Some(task_id(&app, ids.id("task_id")?).await?);
    let asked = RunQuery { task_id, ..run_query(&query)? };
    Ok(list(&app.index.runs(asked).await.map_err(refuse)?))
}

/// The task with this id, in any of its forms.
pub(super) async fn found(app: &App, given: &str) -> Result<Task, ApiError> {
    let found = app.index.task(given).await?;
    found.ok_or_else(|| {
        ApiError::not_found(format!("there is no task {given}")).hint("GET /hecate/v1/tasks lists all tasks")
    })
}
