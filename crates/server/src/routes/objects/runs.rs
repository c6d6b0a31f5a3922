//! Runs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::{List, Object, Run, RunStatus};
use r1_runtime::index::RunQuery;

use super::super::{Route, RunPath};
use super::{MOST, USUAL, list, object, refuse, served, text};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{CURSOR, LIMIT, Param, Query, Shape};

/// How a run stands.
pub(super) const STATUS: Param = Param::new(
    "status",
    Shape::Word(&[
        "not_started",
        "queued",
        "running",
        "awaiting_approval",
        "idle",
        "paused",
        "completed",
        "failed",
        "cancelled",
    ]),
    "Only those that stand so.",
);

pub(super) const PARAMS: &[Param] = &[
    STATUS,
    Param::new("kind", Shape::Text, "Only runs of this kind; operator and control runs are listed only so."),
    Param::new("session_id", Shape::Text, "Only runs of this session."),
    Param::new("parent_run_id", Shape::Text, "Only runs that this one started."),
    Param::new("source", Shape::Text, "Only runs recorded from this agent."),
    Param::new("q", Shape::Text, "Only runs whose title, prompt or id has this text."),
    CURSOR,
    LIMIT,
];

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("/hecate/v1/runs", Cap::Read, all)
            .summary("Runs, newest first")
            .query(PARAMS)
            .answers::<List<Run>>(StatusCode::OK),
        Route::get("{run}", Cap::Read, one).summary("A run").answers::<Object<Run>>(StatusCode::OK),
        Route::get("{run}/children", Cap::Read, children)
            .summary("The runs that a run started as a part of its own work, newest first")
            .query(&[CURSOR, LIMIT])
            .answers::<List<Run>>(StatusCode::OK),
    ]
}

/// The runs that a query asks for.
pub(super) fn run_query(query: &Query) -> Result<RunQuery, ApiError> {
    Ok(RunQuery {
        status: status(query),
        kind: text(query, "kind"),
        session_id: text(query, "session_id"),
        parent_run_id: text(query, "parent_run_id"),
        source: text(query, "source"),
        task_id: None,
        q: text(query, "q"),
        cursor: text(query, "cursor"),
        limit: query.limit(USUAL, MOST)?,
    })
}

/// The status that a query asks for; that it is one was checked before.
pub(super) fn status(query: &Query) -> Option<RunStatus> {
    let word = query.text("status")?;
    RunStatus::ALL.into_iter().find(|status| status.as_str() == word)
}

async fn all(State(app): State<Arc<App>>, query: Query) -> Result<Response, ApiError> {
    Ok(list(&app.index.runs(run_query(&query)?).await.map_err(refuse)?))
}

async fn one(State(app): State<Arc<App>>, path: RunPath) -> Result<Response, ApiError> {
    Ok(object("run", served(&app, &path).await?))
}

async fn children(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let parent_run_id = Some(served(&app, &path).await?.id);
    let (cursor, limit) = (text(&query, "cursor"), query.limit(USUAL, MOST)?);
    let asked = RunQuery { parent_run_id, cursor, limit, ..RunQuery::default() };
    Ok(list(&app.index.runs(asked).await.map_err(refuse)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_can_be_asked_for() {
        let Shape::Word(words) = STATUS.shape else { panic!("a status is a word") };
        assert_eq!(words, RunStatus::ALL.map(RunStatus::as_str));
    }
}
