//! Applying, rejecting and reverting patches.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::PatchRequest;
use r1_protocol::data::By;
use r1_runtime::control::patches::{self, Request, Verb};
use r1_runtime::world;

use super::answer::{self, Moved};
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::body::Json;
use crate::error::ApiError;
use crate::routes::{PathIds, Route};

pub(super) fn table() -> Vec<Route> {
    let row = |route: Route, summary| {
        route.summary(summary).body::<PatchRequest>().answers::<Moved>(StatusCode::OK).answer_of(answer::moved)
    };
    vec![
        row(
            Route::post("/hecate/v1/artifacts/{id}/apply", Cap::Write, apply),
            "Makes the change that a patch proposes",
        ),
        row(
            Route::post("/hecate/v1/artifacts/{id}/reject", Cap::Write, reject),
            "Decides that a patch will not be made",
        ),
        row(Route::post("/hecate/v1/artifacts/{id}/revert", Cap::Write, revert), "Undoes a patch that was applied"),
    ]
}

async fn apply(
    app: State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    body: Json<PatchRequest>,
) -> Result<Response, ApiError> {
    act(app, ids, caller, body, Verb::Apply).await
}

async fn reject(
    app: State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    body: Json<PatchRequest>,
) -> Result<Response, ApiError> {
    act(app, ids, caller, body, Verb::Reject).await
}

async fn revert(
    app: State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    body: Json<PatchRequest>,
) -> Result<Response, ApiError> {
    act(app, ids, caller, body, Verb::Revert).await
}

async fn act(
    State(app): State<Arc<App>>,
    ids: PathIds,
    caller: Caller,
    Json(request): Json<PatchRequest>,
    verb: Verb,
) -> Result<Response, ApiError> {
    let id = ids.id("id")?;
    let unknown = || ApiError::not_found(format!("there is no artifact {id}"));
    let made_in = app.index.run_of_artifact(id).await?.ok_or_else(unknown)?;
    let run = patches::subject(app.engine.store(), &made_in).await?;
    let request = Request {
        by: By::Operator,
        reason: request.reason.unwrap_or_else(|| "requested".into()),
        allow_offset: request.allow_offset.unwrap_or(false),
        now: world::now(),
    };
    let caller = caller.for_control().about(id);
    let moved = patches::act(&app.engine, &run, verb, id, &request, &caller).await?;
    let mut together = moved.artifact_ids;
    together.extend(moved.inverse_ids);
    answer::moved_with(&app, id, together).await
}
