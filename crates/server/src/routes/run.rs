//! From the id in a path to a run.

use r1_event::RunId;
use r1_protocol::RunFacts;
use r1_runtime::resolve::{ResolveError, resolve};

use super::RunPath;
use crate::app::App;
use crate::error::ApiError;

/// The run that an id names, in any of its written forms.
pub(crate) async fn find(app: &App, given: &str) -> Result<RunId, ApiError> {
    match resolve(app.engine.store(), given).await {
        Ok(run) if is_whole(given, &run) => return Ok(run),
        Ok(_)
        | Err(
            ResolveError::NotFound { .. }
            | ResolveError::Address
            | ResolveError::Ambiguous { .. }
            | ResolveError::NoRuns,
        ) => {}
        Err(ResolveError::Damaged(entry)) if !entry.id.parse().is_ok_and(|run| is_whole(given, &run)) => {}
        Err(err @ (ResolveError::Damaged(_) | ResolveError::Store(_))) => return Err(ApiError::internal(&err)),
    }
    // Only the index knows the ids under which logs of Starling are served.
    let found = app.index.find(given).await.map_err(|err| ApiError::internal(&err))?;
    found.ok_or_else(|| not_found(given))
}

/// The run that a path names; one of another task is not found.
pub(crate) async fn at(app: &App, path: &RunPath) -> Result<RunId, ApiError> {
    let run = find(app, &path.run_id).await?;
    if let Some(task) = &path.task_id {
        let shown = app.index.run(run.as_str()).await?;
        if !is_task(shown.and_then(|run| run.task_id).as_deref(), task) {
            return Err(not_found(&path.run_id));
        }
    }
    Ok(run)
}

/// A path names a run by its whole id: what is short for something today may be for something else tomorrow.
fn is_whole(given: &str, run: &RunId) -> bool {
    let digits = given.chars().filter(|c| *c != '-').count();
    let bare = ["run_", "chat_", "sess_"].iter().find_map(|prefix| given.strip_prefix(prefix)).unwrap_or(given);
    given == run.as_str() || bare.len() == 26 || (given != "last" && digits == 32)
}

/// Whether the run with these facts is of the task that a path names.
pub(crate) fn is_of_task(facts: &RunFacts, task: &str) -> bool {
    is_task(facts.task_id.as_deref(), task)
}

/// Whether a run's task is the one that a path names.
pub(crate) fn is_task(own: Option<&str>, task: &str) -> bool {
    own.is_some_and(|own| task_id(own) == task_id(task))
}

/// The task that a path names, as it is written in logs.
pub(crate) fn task_id(given: &str) -> String {
    format!("task_{}", given.strip_prefix("task_").unwrap_or(given).to_ascii_uppercase())
}

/// There is no such run, or none that the path leads to.
pub(crate) fn not_found(given: &str) -> ApiError {
    ApiError::not_found(format!("there is no run {given}")).hint("GET /hecate/v1/runs lists all runs")
}
