//! Artifacts: what is known of them. Their bytes are in `raw.rs`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::{Artifact, List, Object};
use r1_runtime::artifact::ArtifactError;
use r1_runtime::index::ArtifactQuery;
use r1_store::BlobError;

use super::super::{Content, PathIds, Route, RunPath};
use super::{MOST, USUAL, list, object, raw, refuse, served, task_id, text};
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::error::ApiError;
use crate::query::{CURSOR, LIMIT, Param, Query, Shape};

const KIND: Param = Param::new("kind", Shape::Text, "Only artifacts of this kind.");
const STATUS: Param =
    Param::new("status", Shape::Word(&["created", "proposed", "applied", "rejected"]), "Only those that stand so.");
const CALL: Param = Param::new("tool_call_id", Shape::Text, "Only artifacts of this call.");
const PATH: Param = Param::new("path", Shape::Text, "Only artifacts about this file.");

const PARAMS: &[Param] = &[
    KIND,
    STATUS,
    Param::new("run_id", Shape::Text, "Only artifacts of this run."),
    Param::new("task_id", Shape::Text, "Only artifacts of this task."),
    CALL,
    PATH,
    CURSOR,
    LIMIT,
];

/// Where the path says already whose artifacts they are.
const OF_ONE: &[Param] = &[KIND, STATUS, CALL, PATH, CURSOR, LIMIT];

pub(super) fn table() -> Vec<Route> {
    let row = |row: Route, summary| row.summary(summary).answers::<List<Artifact>>(StatusCode::OK);
    vec![
        row(Route::get("/hecate/v1/artifacts", Cap::Read, all), "Artifacts, newest first").query(PARAMS),
        row(Route::get("/hecate/v1/tasks/{task_id}/artifacts", Cap::Read, of_task), "A task's artifacts, newest first")
            .query(OF_ONE),
        row(Route::get("{run}/artifacts", Cap::Read, of_run), "A run's artifacts, newest first").query(OF_ONE),
        Route::get("/hecate/v1/artifacts/{artifact_id}", Cap::Read, one)
            .summary("An artifact")
            .answers::<Object<Artifact>>(StatusCode::OK),
        Route::get("/hecate/v1/artifacts/{artifact_id}/raw", Cap::Read, raw::raw)
            .summary("An artifact's bytes; those that may hold a secret need the cap write")
            .answer(StatusCode::OK, Content::Other("application/octet-stream"))
            .answer(StatusCode::PARTIAL_CONTENT, Content::Other("application/octet-stream"))
            .answer(StatusCode::NOT_MODIFIED, Content::Empty),
    ]
}

async fn all(State(app): State<Arc<App>>, query: Query) -> Result<Response, ApiError> {
    let (run_id, task_id) = (text(&query, "run_id"), text(&query, "task_id"));
    page(&app, &query, ArtifactQuery { run_id, task_id, ..ArtifactQuery::default() }).await
}

async fn of_task(State(app): State<Arc<App>>, ids: PathIds, query: Query) -> Result<Response, ApiError> {
    let task_id = Some(task_id(&app, ids.id("task_id")?).await?);
    page(&app, &query, ArtifactQuery { task_id, ..ArtifactQuery::default() }).await
}

async fn of_run(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let run_id = Some(served(&app, &path).await?.id);
    page(&app, &query, ArtifactQuery { run_id, ..ArtifactQuery::default() }).await
}

async fn page(app: &App, query: &Query, asked: ArtifactQuery) -> Result<Response, ApiError> {
    let asked = ArtifactQuery {
        kind: text(query, "kind"),
        status: text(query, "status"),
        tool_call_id: text(query, "tool_call_id"),
        path: text(query, "path"),
        cursor: text(query, "cursor"),
        limit: query.limit(USUAL, MOST)?,
        ..asked
    };
    Ok(list(&app.index.artifacts(asked).await.map_err(refuse)?))
}

async fn one(State(app): State<Arc<App>>, caller: Caller, ids: PathIds) -> Result<Response, ApiError> {
    let mut artifact = found(&app, ids.id("artifact_id")?).await?;
    if !artifact.contains_secrets || caller.may(Cap::Write) {
        artifact.diff = app.index.diff(&artifact).await.or_else(without_body)?;
    }
    Ok(object("artifact", artifact))
}

/// What is known of an artifact outlives its body.
fn without_body(err: ArtifactError) -> Result<Option<String>, ApiError> {
    match err {
        ArtifactError::Blob(BlobError::NotFound { .. }) => Ok(None),
        ArtifactError::Blob(err) => Err(err.into()),
        err => Err(ApiError::internal(&err)),
    }
}

/// The artifact with this id.
pub(super) async fn found(app: &App, id: &str) -> Result<Artifact, ApiError> {
    let found = app.index.artifact(id).await?;
    found.ok_or_else(|| {
        ApiError::not_found(format!("there is no artifact {id}")).hint("GET /hecate/v1/artifacts lists all artifacts")
    })
}
