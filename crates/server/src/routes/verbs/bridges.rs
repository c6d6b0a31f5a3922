//! What bridges tell that drive no run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_protocol::api::{ExternalEvent, Object};
use r1_runtime::control::beacon;

use super::answer;
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::body::Json;
use crate::error::ApiError;
use crate::routes::Route;

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::post("/hecate/v1/events", Cap::Append, tell)
            .summary("Records what a bridge tells that drives no run, in the run of its session")
            .body::<ExternalEvent>()
            .answers::<Object<serde_json::Value>>(StatusCode::OK)
            .answer_of(answer::event),
    ]
}

async fn tell(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(event): Json<ExternalEvent>,
) -> Result<Response, ApiError> {
    let effect = beacon::tell(&app.engine, event, &caller.for_control()).await?;
    answer::event(app, effect).await
}
