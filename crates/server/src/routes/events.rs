//! A run's events: as a stream, a page or lines.

mod accept;
mod params;
mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use r1_protocol::api::EventList;
use r1_runtime::control::events::{End, EventsError, Page, RunEvents};
use serde::Serialize;

use self::params::EventsQuery;
use super::{Content, Route, RunPath};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::Query;
use crate::sse;
use crate::stream_body;

pub(super) use self::accept::Format;
pub(super) use self::params::{TYPES, VIEW, last_event_id, types, view};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("{run}/events", Cap::Read, events)
            .summary("A run's events: a live stream, a page, or lines")
            .query(params::PARAMS)
            .answers::<EventList<serde_json::Value>>(StatusCode::OK)
            .answer(StatusCode::OK, Content::Other("text/event-stream"))
            .answer(StatusCode::OK, Content::Other("application/x-ndjson"))
            .answer(StatusCode::NO_CONTENT, Content::Empty),
    ]
}

async fn events(
    State(app): State<Arc<App>>,
    path: RunPath,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = Format::of(&query, headers.get_all(ACCEPT))?;
    let asked = EventsQuery::read(&query, &headers, app.streams.options.dialect)?;
    let events = open(&app, &path).await?;
    let mut response = match format {
        Format::Json => page(events, &asked).await?,
        Format::Sse => stream(&app, events, asked).await?,
        Format::Ndjson => lines(&app, events, asked).await?,
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The events of the run that a path names.
async fn open(app: &App, path: &RunPath) -> Result<RunEvents, ApiError> {
    let run = super::run::find(app, &path.run_id).await?;
    let events = RunEvents::open(app.engine.store().clone(), run).await.map_err(refuse)?;
    match &path.task_id {
        Some(task) if !super::run::is_of_task(events.facts(), task) => Err(super::run::not_found(&path.run_id)),
        Some(_) | None => Ok(events),
    }
}

async fn page(mut events: RunEvents, asked: &EventsQuery) -> Result<Response, ApiError> {
    let EventsQuery { cursor, limit, wanted, wait, .. } = asked;
    let page = events.page_within(*cursor, *limit, wanted, *wait).await.map_err(refuse)?;
    let Page { sheet, next_after_sequence, has_more, end } = page;
    #[derive(Serialize)]
    struct Tail {
        has_more: bool,
        next_after_sequence: Option<u64>,
        last_sequence: Option<u64>,
        terminal: bool,
    }
    let End { last_sequence, terminal } = end;
    let envelopes = sheet.items().iter().map(|item| sheet.envelope(item));
    Ok(json(list(envelopes, &Tail { has_more, next_after_sequence, last_sequence, terminal })))
}

async fn stream(app: &App, events: RunEvents, asked: EventsQuery) -> Result<Response, ApiError> {
    let EventsQuery { cursor, wanted, named, .. } = asked;
    if events.end().await.map_err(refuse)?.is_before(cursor.first()) {
        // The one answer on which a browser stops coming back.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let follower = app.streams.hub.follow(events, cursor.first(), wanted).await.map_err(refuse)?;
    let source = stream::RunSource::new(follower, named);
    Ok(sse::answer(source, app))
}

async fn lines(app: &App, events: RunEvents, asked: EventsQuery) -> Result<Response, ApiError> {
    let EventsQuery { cursor, wanted, follow, .. } = asked;
    let body = if follow {
        let follower = app.streams.hub.follow(events, cursor.first(), wanted).await.map_err(refuse)?;
        stream_body::of(stream::lines(follower, app.draining().clone()))
    } else {
        let last = events.end().await.map_err(refuse)?.last_sequence;
        let range = cursor.first()..last.map_or(0, |last| last + 1);
        stream_body::of(events.export(range, wanted).inspect(|part| {
            if let Err(err) = part {
                tracing::error!(error = %err, "an export broke off");
            }
        }))
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if follow {
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    }
    Ok(response)
}

/// A list whose items are envelopes, as they are in every other form, and then the members of `tail`.
pub(super) fn list<'a>(envelopes: impl Iterator<Item = &'a [u8]>, tail: &impl Serialize) -> Vec<u8> {
    let mut out = br#"{"object":"list","data":["#.to_vec();
    for (index, envelope) in envelopes.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(envelope);
    }
    out.extend_from_slice(b"],");
    // A struct of numbers and texts always becomes an object, and its brace is replaced by our comma.
    let tail = serde_json::to_vec(tail).unwrap_or_default();
    out.extend_from_slice(tail.strip_prefix(b"{").unwrap_or(b"}"));
    out
}

/// A JSON answer that nobody keeps.
pub(super) fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Why events cannot be had.
pub(super) fn refuse(err: EventsError) -> ApiError {
    match err {
        EventsError::NoRun { run } => super::run::not_found(run.as_str()),
        EventsError::Store(err) => err.into(),
    }
}
