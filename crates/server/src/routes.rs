//! All routes, from one table.
//!
//! Each file below has the rows of its handlers. From a row come the route in both of its forms, the check of
//! caps and query parameters, the methods that a path has, and its part of the OpenAPI document.

mod events;
mod feed;
mod gate;
mod meta;
mod objects;
mod path;
mod run;
mod verbs;

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Version};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use futures_util::future::BoxFuture;
use r1_runtime::control::caller::Effect;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate as _, SizeAbove};

use crate::access::{self, Cap, Identity};
use crate::app::App;
use crate::error::ApiError;
use crate::query::Param;
use crate::request;

pub(crate) use gate::Served;
pub(crate) use path::{PathIds, RunPath};

/// Makes the part of a document that describes a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Makes the answer to a request from what it did, as if nothing else were known of it.
pub(crate) type AnswerOf = fn(Arc<App>, Effect) -> BoxFuture<'static, Result<Response, ApiError>>;

/// One row: a method of a path.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// As axum writes paths. `{run}` in front stands for both forms that a run's path has.
    pub(crate) path: &'static str,
    pub(crate) cap: Cap,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Param],
    pub(crate) body: Option<BodyShape>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) answer_of: Option<AnswerOf>,
    handler: MethodRouter<Arc<App>>,
}

/// What a request brings.
#[derive(Clone, Copy)]
pub(crate) enum BodyShape {
    /// JSON of this type.
    Json(SchemaOf),
    /// Any bytes.
    Bytes,
}

/// What a request may get, if all is well.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content: Content,
}

/// What is in an answer.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// Nothing.
    Empty,
    /// JSON of this type.
    Json(SchemaOf),
    /// Something of another media type.
    Other(&'static str),
}

impl Route {
    /// A row for GET (and HEAD).
    pub(crate) fn get<H, T>(path: &'static str, cap: Cap, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        Self::new(Method::GET, path, cap, on(MethodFilter::GET, handler))
    }

    /// A row for POST.
    pub(crate) fn post<H, T>(path: &'static str, cap: Cap, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        Self::new(Method::POST, path, cap, on(MethodFilter::POST, handler))
    }

    /// A row for PATCH.
    pub(crate) fn patch<H, T>(path: &'static str, cap: Cap, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        Self::new(Method::PATCH, path, cap, on(MethodFilter::PATCH, handler))
    }

    /// A row for DELETE.
    pub(crate) fn delete<H, T>(path: &'static str, cap: Cap, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        Self::new(Method::DELETE, path, cap, on(MethodFilter::DELETE, handler))
    }

    fn new(method: Method, path: &'static str, cap: Cap, handler: MethodRouter<Arc<App>>) -> Self {
        let (summary, query, body, answers, answer_of) = ("", &[][..], None, Vec::new(), None);
        Self { method, path, cap, summary, query, body, answers, answer_of, handler }
    }

    /// What it does, in a sentence.
    pub(crate) fn summary(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// The query parameters that it takes; it takes none if this is not called.
    pub(crate) fn query(self, query: &'static [Param]) -> Self {
        Self { query, ..self }
    }

    /// It takes JSON of type `T`.
    pub(crate) fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(BodyShape::Json(SchemaGenerator::subschema_for::<T>)), ..self }
    }

    /// It takes any bytes.
    pub(crate) fn bytes(self) -> Self {
        Self { body: Some(BodyShape::Bytes), ..self }
    }

    /// It answers with JSON of type `T`.
    pub(crate) fn answers<T: JsonSchema>(self, status: StatusCode) -> Self {
        self.answer(status, Content::Json(SchemaGenerator::subschema_for::<T>))
    }

    /// It answers with something else.
    pub(crate) fn answer(mut self, status: StatusCode, content: Content) -> Self {
        self.answers.push(Answer { status, content });
        self
    }

    /// How its answer is made from its effect. With this a request can be repeated under its key.
    pub(crate) fn answer_of(self, answer_of: AnswerOf) -> Self {
        Self { answer_of: Some(answer_of), ..self }
    }

    /// The paths that it has.
    pub(crate) fn paths(&self) -> Vec<String> {
        match self.path.strip_prefix("{run}") {
            Some(rest) => vec![
                format!("/hecate/v1/tasks/{{task_id}}/runs/{{run_id}}{rest}"),
                format!("/hecate/v1/runs/{{run_id}}{rest}"),
            ],
            None => vec![self.path.to_owned()],
        }
    }
}

/// All rows.
pub(crate) fn table() -> Vec<Route> {
    let mut rows = Vec::new();
    rows.extend(meta::table());
    rows.extend(events::table());
    rows.extend(feed::table());
    rows.extend(verbs::table());
    rows.extend(objects::table());
    rows
}

/// The whole server as a service.
pub(crate) fn router(app: Arc<App>) -> axum::Router {
    let mut router = axum::Router::new();
    for route in table() {
        let paths = route.paths();
        let (handler, gate) = gate::split(route);
        let guarded = handler.layer(from_fn_with_state((app.clone(), gate), gate::pass));
        for path in paths {
            router = router.route(&path, guarded.clone());
        }
    }
    router
        .method_not_allowed_fallback(wrong_method)
        .fallback(wrong_path)
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(1024).and(is_bulk)))
        .layer(from_fn_with_state(app.clone(), access::identify))
        .layer(from_fn_with_state(app.clone(), request::around))
        .with_state(app)
}

/// What is worth compressing, and may wait until there is enough of it: never a stream that somebody follows.
fn is_bulk(_status: StatusCode, _version: Version, headers: &HeaderMap, _extensions: &Extensions) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let text = ["application/json", "application/x-ndjson", "application/schema+json", "text/"];
    let followed = kind.starts_with("text/event-stream") || headers.contains_key("x-accel-buffering");
    // The tag of an artifact names its bytes, and ranges count them: they go out as they are.
    !followed && !headers.contains_key(ETAG) && text.iter().any(|text| kind.starts_with(text))
}

async fn wrong_path(request: Request) -> ApiError {
    if request.extensions().get::<Identity>().is_none() {
        return access::no_token();
    }
    let path = request.uri().path();
    let version = path.strip_prefix("/hecate/v").and_then(|rest| rest.split('/').next());
    match version {
        Some(version) if version != "1" && version.parse::<u32>().is_ok() => {
            ApiError::schema_version(format!("this build does not serve version {version} of the API"))
                .hint("it serves /hecate/v1")
        }
        _ => ApiError::not_found("there is nothing at this path").hint("GET /hecate/v1/openapi.json lists all paths"),
    }
}

async fn wrong_method(request: Request) -> ApiError {
    if request.extensions().get::<Identity>().is_none() {
        return access::no_token();
    }
    let allowed = allowed_at(request.uri().path());
    let error = ApiError::validation(format!("{} is not a method of this path", request.method()))
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
        .hint(format!("it has: {allowed}"));
    match HeaderValue::from_str(&allowed) {
        Ok(allow) => error.allow(allow),
        Err(_) => error,
    }
}

/// The methods that the table has for a path.
fn allowed_at(path: &str) -> String {
    let fits = |pattern: &str| {
        let (mut given, mut wanted) = (path.split('/'), pattern.split('/'));
        given.by_ref().zip(wanted.by_ref()).all(|(given, wanted)| wanted.starts_with('{') || given == wanted)
            && path.split('/').count() == pattern.split('/').count()
    };
    let mut methods = Vec::new();
    for route in table() {
        if route.paths().iter().any(|pattern| fits(pattern)) {
            methods.push(route.method.to_string());
            if route.method == Method::GET {
                methods.push(Method::HEAD.to_string());
            }
        }
    }
    methods.join(", ")
}
