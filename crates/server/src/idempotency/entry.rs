//! What is kept under a key.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::response::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use r1_event::UnixNanos;
use r1_protocol::data::Object;
use r1_runtime::control::caller::Effect;
use r1_runtime::world;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ApiError;

/// Headers that belong to an answer itself, not to the connection that it went over.
const KEPT_HEADERS: [HeaderName; 2] = [CONTENT_TYPE, LOCATION];

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Of what was asked.
    pub(super) request_hash: String,
    /// Who carries it out; differs with each attempt.
    pub(super) owner: String,
    /// Since when, in nanoseconds.
    pub(super) begun_at: i64,
    /// What was done: written together with it, by the control layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<Effect>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Kept>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Entry {
    pub(super) fn running(request_hash: &str, owner: String, begun_at: UnixNanos) -> Self {
        Self { request_hash: request_hash.to_owned(), owner, begun_at: begun_at.0, effect: None, answer: None }
    }

    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        Value::Object(self.as_object()).to_string().into_bytes()
    }

    pub(super) fn as_object(&self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            // A struct of texts and numbers is always an object.
            Ok(_) | Err(_) => Object::new(),
        }
    }

    /// Whether nobody carries it out any more.
    pub(super) fn is_lost(&self, now: UnixNanos, after: Duration) -> bool {
        let since = u128::try_from(now.0.saturating_sub(self.begun_at)).unwrap_or(0);
        world::is_dead(&self.owner) || since >= after.as_nanos()
    }
}

impl Kept {
    /// `None` for what is not text.
    pub(super) fn new(parts: &Parts, body: &[u8]) -> Option<Self> {
        let body = str::from_utf8(body).ok()?.to_owned();
        let header = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        };
        let headers = KEPT_HEADERS.iter().filter_map(header).collect();
        Some(Self { status: parts.status.as_u16(), headers, body })
    }

    /// The answer as it was.
    pub(super) fn response(self) -> Result<Response, ApiError> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).map_err(|err| ApiError::internal(&err))?;
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }
}
