//! Making, changing and starting tasks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_event::Seq;
use r1_protocol::api::{NewTask, Object, PatchTask, Run, Task};
use r1_runtime::control::caller::Effect;
use r1_runtime::control::task;

use super::answer;
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::body::Json;
use crate::error::ApiError;
use crate::routes::{PathIds, Route, run};

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::post("/hecate/v1/tasks", Cap::Write, make)
            .summary("Makes a task and its first run")
            .body::<NewTask>()
            .answers::<Object<Task>>(StatusCode::OK)
            .answer_of(answer::task),
        Route::patch("/hecate/v1/tasks/{task_id}", Cap::Write, change)
            .summary("Changes title, priority, tags or budget of a task")
            .body::<PatchTask>()
            .answers::<Object<Task>>(StatusCode::OK)
            .answer_of(answer::task),
        Route::post("/hecate/v1/tasks/{task_id}/start", Cap::Write, start)
            .summary("Releases the held run of a task, or begins again after the last")
            .answers::<Object<Run>>(StatusCode::OK)
            .answer_of(answer::run),
    ]
}

async fn make(State(app): State<Arc<App>>, caller: Caller, Json(wanted): Json<NewTask>) -> Result<Response, ApiError> {
    let trace = caller.trace_parent.as_ref().map(|trace| trace.as_str().to_owned());
    let run = task::make(&app.engine, app.shop()?, wanted, trace, &caller.for_control()).await?;
    answer::task(app, Effect::new(&run, Seq::FIRST)).await
}

async fn change(
    State(app): State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    Json(wanted): Json<PatchTask>,
) -> Result<Response, ApiError> {
    let effect = task::change(&app.engine, &run::task_id(ids.id("task_id")?), wanted, &caller.for_control()).await?;
    answer::task(app, effect).await
}

async fn start(State(app): State<Arc<App>>, ids: PathIds, caller: Caller) -> Result<Response, ApiError> {
    let started = task::start(&app.engine, &run::task_id(ids.id("task_id")?), &caller.for_control()).await?;
    answer::run(app, started.effect).await
}
