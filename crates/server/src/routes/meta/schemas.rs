//! What the API and its events look like, for programs.

use std::sync::LazyLock;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use bytes::Bytes;
use r1_protocol::api::List;
use r1_protocol::registry;
use r1_protocol::schema::{self, Strictness};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Content, PathIds, Route};
use crate::access::Cap;
use crate::error::ApiError;
use crate::openapi::DOCUMENT;
use crate::page::{PAGE, STYLE};

const SCHEMA: &str = "application/schema+json";

/// The one that every event fits, whatever its type.
const ENVELOPE: &str = "envelope";

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("/hecate/v1/openapi.json", Cap::Public, openapi)
            .summary("This API as an OpenAPI 3.1 document")
            .answer(StatusCode::OK, Content::Other("application/json")),
        Route::get("/docs", Cap::Public, docs)
            .summary("This API as a page")
            .answer(StatusCode::OK, Content::Other("text/html")),
        Route::get("/docs/style.css", Cap::Public, style)
            .summary("How that page looks")
            .answer(StatusCode::OK, Content::Other("text/css")),
        Route::get("/hecate/v1/schemas/events/v1", Cap::Public, list)
            .summary("The schemas of all event types")
            .answers::<List<SchemaInfo>>(StatusCode::OK),
        Route::get("/hecate/v1/schemas/events/v1/{name}", Cap::Public, one)
            .summary("The JSON Schema of an event type: its name and `.json`")
            .answer(StatusCode::OK, Content::Other(SCHEMA)),
    ]
}

async fn openapi() -> impl IntoResponse {
    static BYTES: LazyLock<Bytes> = LazyLock::new(|| DOCUMENT.to_string().into());
    ([(CONTENT_TYPE, "application/json")], BYTES.clone())
}

/// Nothing but our own style may be loaded, and nothing may run.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn docs() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, PAGE.as_str())
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")], STYLE)
}

/// One schema in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaInfo {
    /// The event type.
    name: String,
    /// What it tells.
    summary: String,
    /// Where its schema is.
    path: String,
}

async fn list() -> Json<List<SchemaInfo>> {
    let info = |name: &str, summary: &str| SchemaInfo {
        name: name.to_owned(),
        summary: summary.to_owned(),
        path: format!("/hecate/v1/schemas/events/v1/{name}.json"),
    };
    let envelope = info(ENVELOPE, "Any event, whatever its type");
    let types = registry::all().map(|row| info(row.name, row.summary));
    Json(List::new(std::iter::once(envelope).chain(types).collect(), None))
}

async fn one(ids: PathIds) -> Result<impl IntoResponse, ApiError> {
    let missing =
        || ApiError::not_found("there is no such schema").hint("GET /hecate/v1/schemas/events/v1 lists all of them");
    let name = ids.id("name")?.strip_suffix(".json").ok_or_else(missing)?;
    let schema = match name {
        ENVELOPE => schema::any_envelope(Strictness::Open),
        name => {
            let row = registry::all().find(|row| row.name == name).ok_or_else(missing)?;
            schema::schema(row, Strictness::Open)
        }
    };
    Ok(([(CONTENT_TYPE, SCHEMA)], schema.to_string()))
}
