//! Answers, made from what a request did and from nothing else: so the same request gets the same answer again
//! although the first was lost.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use r1_event::side_record::SideRecord;
use r1_event::{RunId, Seq};
use r1_protocol::api::{Approval, Artifact, Object as ObjectOf, Run, Task};
use r1_protocol::{Envelope, RunFacts, Thinking};
use r1_runtime::control::caller::Effect;
use r1_store::PageLimit;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::error::ApiError;

type Answer = BoxFuture<'static, Result<Response, ApiError>>;

/// A patch that was moved, and what moved with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Moved {
    object: &'static str,
    data: Artifact,
    /// The other members of its batch, and the patches that undo them.
    related: Vec<Artifact>,
}

/// The task of the run that tells of the effect.
pub(super) fn task(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move {
        let run = shown_run(&app, &effect.run_id).await?;
        let task_id = run.task_id.ok_or_else(|| gone("task"))?;
        let task: Task = app.index.task(&task_id).await?.ok_or_else(|| gone("task"))?;
        Ok(json(StatusCode::OK, &ObjectOf::new("task", task)))
    })
}

/// The run that tells of the effect.
pub(super) fn run(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move { run_with(&app, &effect.run_id, StatusCode::OK).await })
}

/// A run, with this status.
pub(super) async fn run_with(app: &App, run_id: &str, status: StatusCode) -> Result<Response, ApiError> {
    Ok(json(status, &ObjectOf::new("run", shown_run(app, run_id).await?)))
}

/// The event itself.
pub(super) fn event(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move {
        let envelope = envelope(&app, &effect).await?;
        // As it is served everywhere else, byte for byte.
        let mut body = br#"{"object":"event","data":"#.to_vec();
        envelope.write(&mut body);
        body.push(b'}');
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    })
}

/// The approval that the event is about.
pub(super) fn approval(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move {
        let id = member(&app, &effect, "approval_id").await?;
        approval_with(&app, &id).await
    })
}

/// An approval by its id.
pub(super) async fn approval_with(app: &App, id: &str) -> Result<Response, ApiError> {
    let approval: Approval = app.index.approval(id).await?.ok_or_else(|| gone("approval"))?;
    Ok(json(StatusCode::OK, &ObjectOf::new("approval", approval)))
}

/// The artifact that the event is about.
pub(super) fn artifact(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move {
        let id = member(&app, &effect, "artifact_id").await?;
        let artifact: Artifact = app.index.artifact(&id).await?.ok_or_else(|| gone("artifact"))?;
        Ok(json(StatusCode::OK, &ObjectOf::new("artifact", artifact)))
    })
}

/// The patch that was asked about, and all that moved with it.
pub(super) fn moved(app: Arc<App>, effect: Effect) -> Answer {
    Box::pin(async move {
        let subject = effect.subject.clone().ok_or_else(|| gone("artifact"))?;
        let others = moved_together(&app, &effect).await?;
        moved_with(&app, &subject, others).await
    })
}

/// A patch by its id, and others.
pub(super) async fn moved_with(app: &App, id: &str, others: Vec<String>) -> Result<Response, ApiError> {
    let data = app.index.artifact(id).await?.ok_or_else(|| gone("artifact"))?;
    let mut related = Vec::new();
    for other in others.iter().filter(|other| *other != id) {
        related.extend(app.index.artifact(other).await?);
    }
    Ok(json(StatusCode::OK, &Moved { object: "artifact", data, related }))
}

/// The patches that the events from the effect on are about.
async fn moved_together(app: &App, effect: &Effect) -> Result<Vec<String>, ApiError> {
    let (run, seq) = place(effect)?;
    let facts = facts(app, &run).await?;
    let mut found = Vec::new();
    for record in app.engine.store().read(&run, seq, PageLimit { events: 256, bytes: 4 << 20 }).await?.records {
        let Some(envelope) = facts.envelope(&record, None, Thinking::Hidden) else { break };
        let envelope = parsed(&envelope);
        let type_name = envelope["type"].as_str().unwrap_or_default();
        let tells = ["artifact.", "tool.edit.", "tool.multi_edit.", "tool.file_write."];
        if !tells.iter().any(|prefix| type_name.starts_with(prefix)) {
            break;
        }
        if let Some(id) = envelope["data"]["artifact_id"].as_str()
            && !found.iter().any(|known| known == id)
        {
            found.push(id.to_owned());
        }
    }
    Ok(found)
}

async fn shown_run(app: &App, run_id: &str) -> Result<Run, ApiError> {
    app.index.run(run_id).await?.ok_or_else(|| gone("run"))
}

/// A member of the data of the effect's event.
async fn member(app: &App, effect: &Effect, name: &str) -> Result<String, ApiError> {
    let envelope = parsed(&envelope(app, effect).await?);
    envelope["data"][name].as_str().map(str::to_owned).ok_or_else(|| gone("event"))
}

async fn envelope(app: &App, effect: &Effect) -> Result<Envelope, ApiError> {
    let (run, seq) = place(effect)?;
    let facts = facts(app, &run).await?;
    let record = app.engine.store().read(&run, seq, PageLimit::ONE).await?.records.into_iter().next();
    let side_records = app.engine.store().side_records(&run).await?;
    let erased = side_records.iter().find_map(|record| match record {
        SideRecord::Erase(erased) if erased.seq == seq => Some(erased),
        _ => None,
    });
    record.and_then(|record| facts.envelope(&record, erased, Thinking::Hidden)).ok_or_else(|| gone("event"))
}

async fn facts(app: &App, run: &RunId) -> Result<RunFacts, ApiError> {
    let first = app.engine.store().read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    first.first().and_then(|first| RunFacts::of_first(first, None)).ok_or_else(|| gone("run"))
}

fn place(effect: &Effect) -> Result<(RunId, Seq), ApiError> {
    let run = effect.run_id.parse().map_err(|_| gone("run"))?;
    Ok((run, Seq::new(effect.seq).ok_or_else(|| gone("event"))?))
}

fn parsed(envelope: &Envelope) -> Value {
    serde_json::to_value(envelope).unwrap_or_default()
}

/// What was done is in the log; what tells of it was pruned since.
fn gone(what: &str) -> ApiError {
    ApiError::not_found(format!("it was done, but the {what} that tells of it is not kept any more"))
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).unwrap_or_default();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
