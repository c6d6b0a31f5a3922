//! What every request goes through: it gets an id, and its error gets its shape.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use r1_protocol::api::ErrorCode;
use r1_runtime::{trace, world};

use crate::access::TOKEN_PREFIX;
use crate::app::App;
use crate::error::ApiError;
use crate::metrics::Counted;
use crate::routes::Served;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Leads from an answer to the server's own log.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(String);

impl RequestId {
    /// The client's own, if it is fit to be shown; otherwise a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        let fit = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
        Self(given.filter(fit).map_or_else(|| world::new_id("req"), str::to_owned))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The place in somebody's trace that a request has: its `traceparent`, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent(String);

impl TraceParent {
    /// `None` for one that is not as it must be: a trace is no reason to refuse a request.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let given = headers.get("traceparent")?.to_str().ok()?;
        trace::TraceParent::parse(given).map(|_| Self(given.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

/// The outermost layer.
pub(crate) async fn around(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let (id, begun) = (RequestId::of(request.headers()), Instant::now());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());
    if let Some(trace) = TraceParent::of(request.headers()) {
        request.extensions_mut().insert(trace);
    }
    let answer = AssertUnwindSafe(answer(&app, request, next)).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|_| {
        // The panic itself is on stderr, with its place.
        tracing::error!(request = id.as_str(), "a handler panicked");
        ApiError::new(ErrorCode::Internal, "something went wrong here").into_response()
    });
    response = shaped(response, &id);
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    if method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    let (status, took) = (response.status(), begun.elapsed());
    let route = response.extensions().get::<Served>().map_or("none", |served| served.0);
    app.metrics.answered(route, &method, status, took);
    // Neither the query nor a path that holds a token: some of what people put there is nobody's business.
    let path = if path.contains(TOKEN_PREFIX) { "…" } else { &path };
    tracing::info!(
        request = id.as_str(), %method, path, status = status.as_u16(), ms = took.as_millis() as u64, "answered"
    );
    response
}

/// Lets only so many in at a time: what waits in memory must be bounded.
async fn answer(app: &App, request: Request, next: Next) -> Response {
    let in_flight = Counted::in_gauge(&app.metrics.in_flight);
    if usize::try_from(app.metrics.in_flight.get()).is_ok_and(|others| others > app.limits.requests) {
        return ApiError::too_many("the server has too much to do at once", 1).into_response();
    }
    let response = next.run(request).await;
    drop(in_flight);
    response
}

/// Gives an error its bytes.
fn shaped(mut response: Response, id: &RequestId) -> Response {
    match response.extensions_mut().remove::<ApiError>() {
        Some(error) => {
            let extensions = std::mem::take(response.extensions_mut());
            let mut rendered = error.render(id);
            *rendered.extensions_mut() = extensions;
            rendered
        }
        None => match unshaped(&response) {
            Some(error) => error.render(id),
            None => response,
        },
    }
}

/// Errors that come from the libraries below us, not from our own handlers.
fn unshaped(response: &Response) -> Option<ApiError> {
    let status = response.status();
    let json = response.headers().get("content-type").is_some_and(|kind| kind == "application/json");
    if json || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    let code = match status {
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        status if status.is_client_error() => ErrorCode::Validation,
        _ => ErrorCode::Internal,
    };
    let reason = status.canonical_reason().unwrap_or("error").to_lowercase();
    Some(ApiError::new(code, reason).with_status(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_kept_as_it_came_and_what_is_none_is_passed_over() {
        let of = |text: &str| {
            let headers = HeaderMap::from_iter([(HeaderName::from_static("traceparent"), text.parse().unwrap())]);
            TraceParent::of(&headers).map(|trace| trace.as_str().to_owned())
        };
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let later = format!("01{}-more", &good[2..]);
        assert_eq!((of(good).as_deref(), of(&later).as_deref()), (Some(good), Some(later.as_str())));
        assert_eq!((of(""), of(&good[..52]), of(&good.to_uppercase())), (None, None, None));
        assert_eq!(TraceParent::of(&HeaderMap::new()), None);
    }
}
