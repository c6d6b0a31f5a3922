//! Errors, in the one shape that every route gives them.

mod from_control;
mod from_store;

use std::error::Error as StdError;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use r1_protocol::api::{ApiErrorBody, ErrorCode, ErrorDetail, ErrorObject};

use crate::request::RequestId;

pub(crate) use from_store::still_running;

/// Why a request was not done, and what to do next.
///
/// As a response it is a mark: what every request goes through (`request.rs`) turns it into bytes, because
/// only there the request's id is known.
#[derive(Clone, Debug)]
pub struct ApiError {
    code: ErrorCode,
    status: StatusCode,
    message: String,
    hint: Option<String>,
    details: Vec<ErrorDetail>,
    retry_after: Option<u32>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// An error with the status that its code usually has.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(code.usual_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let message = message.into();
        Self { code, status, message, hint: None, details: Vec::new(), retry_after: None, headers: Vec::new() }
    }

    /// The request is not as it must be.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Validation, message)
    }

    /// One part of the request is not as it must be; `path` as in [`ErrorDetail`].
    pub fn invalid(path: impl Into<String>, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.into(), reason.into());
        let place = if path.is_empty() { "the body" } else { &path };
        Self::validation(format!("{place}: {reason}")).detail(path.clone(), reason)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// It does not fit the state of things.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    /// Logs only grow, and finished ones not at all.
    pub fn append_only(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::AppendOnlyViolation, message)
    }

    /// Not with this token, or from this place.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::PermissionDenied, message)
    }

    /// Nobody we know.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::permission_denied(message).with_status(StatusCode::UNAUTHORIZED)
    }

    /// A quota is used up for now.
    pub fn too_many(message: impl Into<String>, retry_after: u32) -> Self {
        Self::new(ErrorCode::BudgetExceeded, message)
            .with_status(StatusCode::TOO_MANY_REQUESTS)
            .retry_after(retry_after)
    }

    /// It took too long; nothing was done.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Timeout, message)
    }

    /// The node starts, recovers or drains.
    pub fn crash_recovery(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::CrashRecovery, message).retry_after(1)
    }

    /// A version that this build does not know.
    pub fn schema_version(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::SchemaVersion, message)
    }

    /// Our fault. What went wrong is for the server's own log, not for the client.
    pub fn internal(cause: &dyn StdError) -> Self {
        tracing::error!(cause = in_full(cause), "a request failed");
        Self::new(ErrorCode::Internal, "something went wrong here")
            .hint("the server's log tells more under this request id")
    }

    /// With another status than the usual.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// With what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With one more part of the request that is wrong.
    #[must_use]
    pub fn detail(mut self, path: impl Into<String>, reason: impl Into<String>) -> Self {
        self.details.push(ErrorDetail { path: path.into(), reason: reason.into() });
        self
    }

    /// With the seconds after which the same request may work.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// With the methods that the path has.
    #[must_use]
    pub(crate) fn allow(self, allow: HeaderValue) -> Self {
        self.header(ALLOW, allow)
    }

    /// With a header that belongs to its status.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What kind of error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether the same request may work later.
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        self.retry_after.is_some() || matches!(self.code, ErrorCode::Timeout | ErrorCode::CrashRecovery)
    }

    /// The error as it is sent.
    pub(crate) fn render(self, request_id: &RequestId) -> Response {
        let retriable = self.is_retriable();
        let body = ApiErrorBody {
            error: ErrorObject {
                code: self.code,
                message: self.message,
                hint: self.hint,
                details: self.details,
                retriable,
                request_id: request_id.as_str().to_owned(),
            },
        };
        // A struct of strings and flags always becomes JSON.
        let mut response = Response::new(Body::from(serde_json::to_vec(&body).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers.extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }
}

/// An error and its causes, in one line.
fn in_full(err: &dyn StdError) -> String {
    let (mut said, mut below) = (err.to_string(), err.source());
    while let Some(cause) = below {
        said = format!("{said}: {cause}");
        below = cause.source();
    }
    said
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
