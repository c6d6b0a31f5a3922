//! The events of all runs, in the order in which they became visible.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use r1_protocol::api::{ErrorCode, List};
use r1_protocol::id;
use r1_runtime::control::events::{DEFAULT_LIMIT, EventsError, MAX_LIMIT};
use r1_runtime::control::feed::{Feed, FeedChunk, FeedWanted};
use r1_store::watch::FeedWatch;
use r1_store::{FeedCursor, PageLimit};
use serde::Serialize;

use super::events::{TYPES, VIEW, json, last_event_id, list, refuse, types, view};
use super::{Content, Route, run};
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};
use crate::sse::{self, Broken, Frames, Source, Step};

/// What a stream takes from the feed at a time.
const READ: PageLimit = PageLimit { events: 512, bytes: 128 << 10 };

const CURSOR: Param =
    Param::new("cursor", Shape::Text, "Where to go on, as it was given; `now` for what is yet to come.");
const AFTER: Param = Param::new("after_sequence", Shape::Integer(-1, 0), "From the beginning: 0 or -1.");
const EVENT_TYPE: Param = Param::new("event_type", Shape::List, "The same as types.");
const TASK: Param = Param::new("task_id", Shape::Text, "Only of this task's runs.");
const RUN: Param = Param::new("run_id", Shape::Text, "Only of this run.");
const SESSION: Param = Param::new("session_id", Shape::Text, "Only of this session's runs.");
const KIND: Param = Param::new("kind", Shape::Text, "Only of runs of this kind.");
const LIMIT: Param = Param::new("limit", Shape::Integer(1, 2000), "How many at most; 500 if not given.");
const SSE_EVENT: Param = Param::new("sse_event", Shape::Word(&["type"]), "Name each event of the stream by its type.");

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/hecate/v1/events", Cap::Read, page)
            .summary("A page of the events of all runs")
            .query(&[CURSOR, AFTER, LIMIT, TYPES, EVENT_TYPE, TASK, RUN, SESSION, KIND, VIEW[0], VIEW[1]])
            .answers::<List<serde_json::Value>>(StatusCode::OK),
        Route::get("/hecate/v1/events/stream", Cap::Read, stream)
            .summary("The events of all runs, as they come")
            .query(&[CURSOR, AFTER, SSE_EVENT, TYPES, EVENT_TYPE, TASK, RUN, SESSION, KIND, VIEW[0], VIEW[1]])
            .answer(StatusCode::OK, Content::Other("text/event-stream")),
    ]
}

async fn page(State(app): State<Arc<App>>, query: Query, headers: HeaderMap) -> Result<Response, ApiError> {
    let feed = &app.streams.feed;
    let cursor = cursor(feed, &query, &headers).await?;
    let Some(wanted) = wanted(&app, &query).await? else { return Ok(answer(&nothing(cursor))) };
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    Ok(answer(&feed.page(cursor, limit, &wanted).await.map_err(refuse)?))
}

fn answer(page: &FeedChunk) -> Response {
    #[derive(Serialize)]
    struct Tail {
        has_more: bool,
        next_cursor: String,
    }
    let envelopes = page.events.iter().map(|event| &event.event.bytes[..]);
    json(list(envelopes, &Tail { has_more: page.has_more, next_cursor: page.next.to_string() }))
}

const fn nothing(cursor: FeedCursor) -> FeedChunk {
    FeedChunk { events: Vec::new(), next: cursor, has_more: false }
}

async fn stream(State(app): State<Arc<App>>, query: Query, headers: HeaderMap) -> Result<Response, ApiError> {
    let feed = app.streams.feed.clone();
    // Before the first look, so that nothing falls between the two.
    let watch = feed.watch();
    let cursor = cursor(&feed, &query, &headers).await?;
    let wanted = wanted(&app, &query).await?.ok_or_else(|| run::not_found(query.text("run_id").unwrap_or_default()))?;
    let source = FeedSource { feed, watch, cursor, wanted, named: query.has("sse_event"), told: true };
    Ok(sse::answer(source, &app))
}

/// The place that a request names. What a client that comes back had last is later than where it began.
async fn cursor(feed: &Feed, query: &Query, headers: &HeaderMap) -> Result<FeedCursor, ApiError> {
    if query.integer::<i64>("after_sequence")?.is_some_and(|after| !matches!(after, -1 | 0)) {
        return Err(ApiError::invalid("?after_sequence", "sequences are counted per run, not over all runs")
            .hint("go on with the next_cursor of the page before as `cursor`"));
    }
    let parse = |place: &str, text: &str| {
        text.parse::<FeedCursor>().map_err(|err| ApiError::invalid(place.to_owned(), err.to_string()))
    };
    let header = last_event_id(headers)?.map(|id| parse("Last-Event-ID", id)).transpose()?;
    let given = match query.text("cursor") {
        Some("now") if header.is_none() => feed.end().await.map_err(refuse)?,
        Some("now") | None => FeedCursor::START,
        Some(text) => parse("?cursor", text)?,
    };
    Ok(header.map_or(given, |header| header.max(given)))
}

/// What is asked for; `None` if it names a run that is not there.
async fn wanted(app: &App, query: &Query) -> Result<Option<FeedWanted>, ApiError> {
    let run = match query.text("run_id") {
        Some(given) => match run::find(app, given).await {
            Ok(run) => Some(run),
            Err(err) if err.code() == ErrorCode::NotFound => return Ok(None),
            Err(err) => return Err(err),
        },
        None => None,
    };
    let session = |given: &str| id::session_id(given).unwrap_or_else(|| given.to_owned());
    Ok(Some(FeedWanted {
        types: types(query, &["types", "event_type"])?,
        run,
        task_id: query.text("task_id").map(str::to_owned),
        session_id: query.text("session_id").map(session),
        kind: query.text("kind").map(str::to_owned),
        view: view(query, app.streams.options.dialect),
    }))
}

/// The feed for a stream.
struct FeedSource {
    feed: Feed,
    watch: FeedWatch,
    cursor: FeedCursor,
    wanted: FeedWanted,
    named: bool,
    /// Whether the client knows how far we looked.
    told: bool,
}

impl Source for FeedSource {
    async fn next(&mut self, frames: &mut Frames) -> Result<Step, Broken> {
        let chunk = self.feed.chunk(self.cursor, READ, &self.wanted).await.map_err(broken)?;
        if chunk.next == self.cursor {
            if !self.watch.grown().await {
                return Err(Broken(ErrorCode::CrashRecovery));
            }
            return Ok(Step::More);
        }
        self.cursor = chunk.next;
        self.told = false;
        for event in &chunk.events {
            let name = self.named.then(|| self.wanted.view.dialect.name_of(&event.event.type_name));
            frames.event(event.cursor, name.as_deref(), &event.event.bytes);
            self.told = event.cursor == self.cursor;
        }
        Ok(Step::More)
    }

    fn beat(&mut self, frames: &mut Frames) {
        if self.told {
            frames.comment("alive");
        } else {
            frames.place(self.cursor);
            self.told = true;
        }
    }
}

fn broken(err: EventsError) -> Broken {
    tracing::error!(error = %err, "a stream broke off");
    Broken(ErrorCode::Internal)
}
