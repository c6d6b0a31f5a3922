//! What can be asked of a run: to hear something, to end, to go on.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use r1_event::Seq;
use r1_protocol::api::{
    Artifact, CancelRequest, ExternalEvent, ForkRequest, MessageRequest, Object, ResumeRequest, RetryRequest, Run,
};
use r1_runtime::agent::command::Command;
use r1_runtime::control::attach::{self, Upload, attach};
use r1_runtime::control::caller::Effect;
use r1_runtime::control::command::{CommandError, command};
use r1_runtime::control::go_on::{self, Changes, Point};
use r1_runtime::control::task;

use super::answer;
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::body::{self, Json};
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};
use crate::routes::{Route, RunPath, run};

const ATTACH: [Param; 2] = [
    Param::new("kind", Shape::Word(&attach::KINDS), "What it is; told from its type if not given."),
    Param::new("name", Shape::Text, "What people call it."),
];

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::post("{run}/events", Cap::Append, tell)
            .summary("Adds an event from outside: `external.…`")
            .body::<ExternalEvent>()
            .answers::<Object<serde_json::Value>>(StatusCode::OK)
            .answer_of(answer::event),
        Route::post("{run}/messages", Cap::Write, say)
            .summary("Says something to the agent")
            .body::<MessageRequest>()
            .answers::<Object<serde_json::Value>>(StatusCode::OK)
            .answer_of(answer::event),
        Route::post("{run}/artifacts", Cap::Write, upload)
            .summary("Adds a file that can come with a message")
            .query(&ATTACH)
            .bytes()
            .answers::<Object<Artifact>>(StatusCode::OK)
            .answer_of(answer::artifact),
        Route::post("{run}/cancel", Cap::Write, cancel)
            .summary("Ends a run; 202 if that takes longer than 10 s")
            .body::<CancelRequest>()
            .answers::<Object<Run>>(StatusCode::OK)
            .answers::<Object<Run>>(StatusCode::ACCEPTED)
            .answer_of(answer::run),
        Route::post("{run}/interrupt", Cap::Write, interrupt)
            .summary("Stops the current exchange: a session goes idle, any other run is cancelled")
            .body::<CancelRequest>()
            .answers::<Object<Run>>(StatusCode::OK)
            .answer_of(answer::run),
        Route::post("{run}/retry", Cap::Write, retry)
            .summary("Begins again: the same task in a fresh workspace, without history")
            .body::<RetryRequest>()
            .answers::<Object<Run>>(StatusCode::OK)
            .answer_of(answer::run),
        Route::post("{run}/resume", Cap::Write, resume)
            .summary("Goes on: the same run if it is open, else a new one")
            .body::<ResumeRequest>()
            .answers::<Object<Run>>(StatusCode::OK)
            .answer_of(answer::run),
        Route::post("{run}/fork", Cap::Write, fork)
            .summary("Goes another way from some event on, in a workspace as it was then")
            .body::<ForkRequest>()
            .answers::<Object<Run>>(StatusCode::OK)
            .answer_of(answer::run),
    ]
}

async fn tell(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(event): Json<ExternalEvent>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let effect = task::tell(&app.engine, &run, event, &caller.for_control()).await?;
    answer::event(app, effect).await
}

async fn say(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(message): Json<MessageRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let MessageRequest { text, client_message_id, artifact_ids } = message;
    if text.trim().is_empty() && artifact_ids.is_empty() {
        return Err(ApiError::invalid("/text", "say something"));
    }
    let say = Command::Message { text, client_message_id, artifact_ids };
    let said = command(&app.engine, &run, say, &caller.for_control()).await?;
    answer::event(app, said.effect).await
}

async fn upload(
    State(app): State<Arc<App>>,
    path: RunPath,
    query: Query,
    headers: HeaderMap,
    caller: Caller,
    body: Body,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let content = body::read(body, app.limits.upload_bytes, app.limits.patience).await?;
    let mime = headers.get(CONTENT_TYPE).and_then(|mime| mime.to_str().ok()).filter(|mime| mime.contains('/'));
    let Some(mime) = mime else {
        return Err(ApiError::validation("say what the body is")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .hint("send a `Content-Type`"));
    };
    let text = |name: &str| query.text(name).map(str::to_owned);
    let upload = Upload { kind: text("kind"), name: text("name"), mime: mime.to_owned(), content };
    let effect = attach(&app.engine, &run, upload, &caller.for_control()).await?;
    answer::artifact(app, effect).await
}

async fn cancel(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(request): Json<CancelRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let cancel = Command::cancel(request.reason.unwrap_or_default());
    match command(&app.engine, &run, cancel, &caller.for_control()).await {
        Ok(ended) => answer::run(app, ended.effect).await,
        Err(CommandError::StillStopping { run }) => answer::run_with(&app, run.as_str(), StatusCode::ACCEPTED).await,
        Err(err) => Err(err.into()),
    }
}

async fn interrupt(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(request): Json<CancelRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let interrupt = Command::Interrupt { reason: request.reason.unwrap_or_default(), by: "operator".into() };
    let stopped = command(&app.engine, &run, interrupt, &caller.for_control()).await?;
    answer::run(app, stopped.effect).await
}

async fn retry(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(request): Json<RetryRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let changes = Changes { reason: request.reason, ..Changes::default() };
    let made = go_on::retry(&app.engine, &run, changes, &caller.for_control()).await?;
    answer::run(app, Effect::new(&made, Seq::FIRST)).await
}

async fn resume(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(request): Json<ResumeRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let ResumeRequest { checkpoint_id, from_sequence, message, budget, reason } = request;
    let from = match (checkpoint_id, from_sequence) {
        (Some(_), Some(_)) => return Err(ApiError::invalid("/from_sequence", "give it or a checkpoint, not both")),
        (Some(id), None) => Some(Point::Checkpoint(id)),
        (None, Some(sequence)) => Some(Point::Event(seq("/from_sequence", sequence)?)),
        (None, None) => None,
    };
    let changes = Changes { message, model: None, budget: budget.map(Into::into), reason, from };
    let caller = caller.for_control();
    let head = app.engine.store().head(&run).await?;
    if head.is_some_and(|head| head.terminal.is_none()) {
        let effect = go_on::reopen(&app.engine, app.workers()?, &run, changes, &caller).await?;
        return answer::run(app, effect).await;
    }
    let made = go_on::resume(&app.engine, &run, changes, &caller).await?;
    answer::run(app, Effect::new(&made, Seq::FIRST)).await
}

async fn fork(
    State(app): State<Arc<App>>,
    path: RunPath,
    caller: Caller,
    Json(request): Json<ForkRequest>,
) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let ForkRequest { at_sequence, message, model, reason } = request;
    let at = seq("/at_sequence", at_sequence)?;
    let changes = Changes { message, model, reason, ..Changes::default() };
    let made = go_on::fork(&app.engine, &run, at, changes, &caller.for_control()).await?;
    answer::run(app, Effect::new(&made, Seq::FIRST)).await
}

/// A sequence of the protocol as a place in the log.
fn seq(path: &str, sequence: u64) -> Result<Seq, ApiError> {
    sequence.checked_add(1).and_then(Seq::new).ok_or_else(|| ApiError::invalid(path, "no log is so long"))
}
