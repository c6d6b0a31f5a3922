//! Tasks, runs, approvals and artifacts, and a run's log as a whole: everything that is only looked at.

mod approvals;
mod artifacts;
mod disposition;
mod log;
mod proof;
mod range;
mod raw;
mod receipt;
mod runs;
mod tasks;

use axum::response::Response;
use r1_protocol::api::{List, Object};
use r1_runtime::index::IndexError;
use serde::Serialize;

use super::events::json;
use super::{Route, RunPath, run};
use crate::app::App;
use crate::error::ApiError;
use crate::query::Query;

pub(crate) fn table() -> Vec<Route> {
    let mut rows = tasks::table();
    rows.extend(runs::table());
    rows.extend(approvals::table());
    rows.extend(artifacts::table());
    rows.extend(log::table());
    rows.extend(proof::table());
    rows.extend(receipt::table());
    rows
}

/// One object.
fn object<T: Serialize>(kind: &str, data: T) -> Response {
    // Objects of the API are structs of text and numbers: there is nothing that could fail.
    json(serde_json::to_vec(&Object::new(kind, data)).unwrap_or_default())
}

/// A page of objects.
fn list<T: Serialize>(list: &List<T>) -> Response {
    json(serde_json::to_vec(list).unwrap_or_default())
}

/// The run that a path names, if it is of the task that the path names.
async fn served(app: &App, path: &RunPath) -> Result<r1_protocol::api::Run, ApiError> {
    let found = app.index.run(&path.run_id).await?;
    let found =
        found.filter(|found| path.task_id.as_deref().is_none_or(|task| run::is_task(found.task_id.as_deref(), task)));
    found.ok_or_else(|| run::not_found(&path.run_id))
}

/// The id of a task that is there.
async fn task_id(app: &App, given: &str) -> Result<String, ApiError> {
    Ok(tasks::found(app, given).await?.id)
}

/// What a parameter says, as an owned text.
fn text(query: &Query, name: &str) -> Option<String> {
    query.text(name).map(str::to_owned)
}

fn refuse(err: IndexError) -> ApiError {
    match err {
        IndexError::BadCursor { .. } => ApiError::invalid("?cursor", err.to_string()),
        IndexError::Store(err) => err.into(),
    }
}

/// How many objects a page has, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;
