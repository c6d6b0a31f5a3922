//! Routes that do something: each reads its request, calls one verb of the control layer, and makes its answer
//! from what that did.

mod answer;
mod approvals;
mod patches;
mod runs;
mod tasks;

use r1_event::RunId;

use super::{Route, RunPath, run};
use crate::app::App;
use crate::error::ApiError;

pub(crate) fn table() -> Vec<Route> {
    let mut rows = tasks::table();
    rows.extend(runs::table());
    rows.extend(approvals::table());
    rows.extend(patches::table());
    rows
}

/// The run that a path names; one of another task is not found.
async fn run_at(app: &App, path: &RunPath) -> Result<RunId, ApiError> {
    let run = run::find(app, &path.run_id).await?;
    if let Some(task) = &path.task_id {
        let shown = app.index.run(run.as_str()).await?;
        let own = shown.and_then(|run| run.task_id);
        if own.is_none_or(|own| bare(&own) != bare(task)) {
            return Err(run::not_found(&path.run_id));
        }
    }
    Ok(run)
}

/// The task that a path names, as it is written in logs.
fn task_id(given: &str) -> String {
    format!("task_{}", bare(given))
}

fn bare(id: &str) -> String {
    id.strip_prefix("task_").unwrap_or(id).to_ascii_uppercase()
}
