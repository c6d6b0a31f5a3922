//! What a request for events asks for.

use std::time::Duration;

use axum::http::HeaderMap;
use r1_protocol::dialect::Dialect;
use r1_protocol::{Thinking, View};
use r1_runtime::control::events::{Cursor, CursorError, DEFAULT_LIMIT, Filter, MAX_LIMIT, MAX_WAIT, Wanted};

use super::accept::FORMAT;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};

/// `types`, as every list of events takes it.
pub(crate) const TYPES: Param =
    Param::new("types", Shape::List, "Only events of these types; a family is written like tool.*");
/// How events are shown.
pub(crate) const VIEW: [Param; 2] = [
    Param::new("include", Shape::Words(&["thinking"]), "Also show: thinking, the model's reasoning."),
    Param::new("dialect", Shape::Word(&["turn", "model_call"]), "With which names."),
];

pub(super) const PARAMS: &[Param] = &[
    Param::new("from_sequence", Shape::Integer(0, i64::MAX), "The first event."),
    Param::new(
        "after_sequence",
        Shape::Integer(-1, i64::MAX),
        "The event before the first; -1 for all. With 0, event 0 comes too.",
    ),
    Param::new("limit", Shape::Integer(1, 2000), "How many at most; 500 if not given. Pages only."),
    Param::new("wait_ms", Shape::Integer(0, 30_000), "How long to wait for an event if there is none. Pages only."),
    Param::new("follow", Shape::Flag, "Go on until the run ends. Lines only."),
    Param::new("sse_event", Shape::Word(&["type"]), "Name each event of the stream by its type."),
    FORMAT,
    TYPES,
    VIEW[0],
    VIEW[1],
];

/// What is asked for.
#[derive(Debug)]
pub(super) struct EventsQuery {
    pub(super) cursor: Cursor,
    pub(super) limit: usize,
    pub(super) wanted: Wanted,
    pub(super) wait: Duration,
    pub(super) follow: bool,
    /// Whether a stream names its events by their types.
    pub(super) named: bool,
}

impl EventsQuery {
    pub(super) fn read(query: &Query, headers: &HeaderMap, dialect: Dialect) -> Result<Self, ApiError> {
        let (from, after) = (query.integer("from_sequence")?, query.integer("after_sequence")?);
        let cursor = Cursor::new(from, after, last_event_id(headers)?.map(sequence).transpose()?).map_err(refuse)?;
        let wait = query.integer::<i64>("wait_ms")?.unwrap_or(0);
        let wait = u64::try_from(wait).map_err(|_| ApiError::invalid("?wait_ms", "must be at least 0"))?;
        Ok(Self {
            cursor,
            limit: query.limit(DEFAULT_LIMIT, MAX_LIMIT)?,
            wanted: Wanted { filter: types(query, &["types"])?, view: view(query, dialect) },
            wait: Duration::from_millis(wait).min(MAX_WAIT),
            follow: query.flag("follow")?,
            named: query.has("sse_event"),
        })
    }
}

/// The types that the parameters of these names ask for together.
pub(crate) fn types(query: &Query, names: &[&str]) -> Result<Filter, ApiError> {
    let mut filter = Filter::default();
    for name in names.iter().filter(|name| query.has(name)) {
        let listed = query.list(name).join(",");
        let listed = Filter::parse(&listed).map_err(|err| ApiError::invalid(format!("?{name}"), err.to_string()))?;
        filter = filter.or(listed);
    }
    Ok(filter)
}

/// How events are to be shown; `dialect` is the server's own.
pub(crate) fn view(query: &Query, dialect: Dialect) -> View {
    View {
        thinking: if query.list("include").contains(&"thinking") { Thinking::Shown } else { Thinking::Hidden },
        dialect: match query.text("dialect") {
            Some("model_call") => Dialect::ModelCall,
            Some("turn") => Dialect::Turn,
            _ => dialect,
        },
    }
}

/// What a client that comes back says it had last.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let id = id.to_str().map_err(|_| ApiError::validation("the header Last-Event-ID is not plain text"))?;
    // A client that had nothing yet says so.
    Ok(Some(id).filter(|id| !id.is_empty()))
}

fn sequence(id: &str) -> Result<u64, ApiError> {
    let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| id.parse().ok()).flatten().ok_or_else(|| {
        ApiError::validation("the header Last-Event-ID is not the sequence of an event")
            .hint("send the id of the last event that you had, or no such header")
    })
}

fn refuse(err: CursorError) -> ApiError {
    let reason = err.to_string();
    match err {
        CursorError::Both | CursorError::TooSmall { .. } => ApiError::invalid("?after_sequence", reason),
        CursorError::Negative { .. } => ApiError::invalid("?from_sequence", reason),
    }
}
