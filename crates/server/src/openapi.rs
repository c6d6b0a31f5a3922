//! The OpenAPI 3.1 document, made from the table of routes and the types that they speak of.

use std::sync::LazyLock;

use axum::http::Method;
use r1_protocol::api::ApiErrorBody;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::access::Cap;
use crate::query::{Param, Shape};
use crate::routes::{Answer, BodyShape, Content, Route, table};

/// The document: the same for every server of this version.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ApiErrorBody>();
    let mut paths: Map<String, Value> = Map::new();
    for route in table() {
        for path in route.paths() {
            let operation = operation(&route, &path, &mut generator);
            let methods = paths.entry(path).or_insert_with(|| json!({}));
            methods[route.method.as_str().to_lowercase()] = operation;
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "R1",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A glass box for coding agents: tasks, runs, and every event of them, live and resumable",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "security": [{ "bearer": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http", "scheme": "bearer",
                    "description": "The operator's token, or one of `r1 ctl token create`",
                },
                "cookie": {
                    "type": "apiKey", "in": "cookie", "name": crate::access::COOKIE_NAME,
                    "description": "A browser's session, opened with a ticket",
                },
            },
            "responses": {
                "error": {
                    "description": "Refused or failed; the same shape everywhere",
                    "content": { "application/json": { "schema": error } },
                },
            },
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(route: &Route, path: &str, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for answer in &route.answers {
        add_answer(&mut responses, answer, generator);
    }
    responses.insert("default".into(), json!({ "$ref": "#/components/responses/error" }));
    let mut operation = json!({
        "operationId": operation_id(&route.method, path),
        "summary": route.summary,
        "tags": [group(path)],
        "x-r1-cap": cap(route.cap),
        "parameters": parameters(route, path),
        "responses": responses,
    });
    if route.cap == Cap::Public {
        operation["security"] = json!([]);
    }
    match route.body {
        None => {}
        Some(BodyShape::Json(schema)) => {
            operation["requestBody"] = json!({ "content": { "application/json": { "schema": schema(generator) } } });
        }
        Some(BodyShape::Bytes) => {
            operation["requestBody"] = json!({ "required": true, "content": { "application/octet-stream": {} } });
        }
    }
    operation
}

fn add_answer(responses: &mut Map<String, Value>, answer: &Answer, generator: &mut SchemaGenerator) {
    let status = answer.status;
    let description = status.canonical_reason().unwrap_or("Done");
    let response = responses.entry(status.as_str()).or_insert_with(|| json!({ "description": description }));
    match answer.content {
        Content::Empty => {}
        Content::Json(schema) => response["content"]["application/json"] = json!({ "schema": schema(generator) }),
        Content::Other(kind) => response["content"][kind] = json!({}),
    }
}

fn parameters(route: &Route, path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let ids = names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let query = route.query.iter().map(query_parameter);
    let key = route.answer_of.map(|_| {
        json!({
            "name": "Idempotency-Key", "in": "header",
            "description": "The same key and body again: the first answer again, and nothing done twice.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        })
    });
    ids.chain(query).chain(key).collect()
}

fn query_parameter(param: &Param) -> Value {
    let many = |items: Value| (json!({ "type": "array", "items": items }), true);
    let (schema, list) = match param.shape {
        Shape::Text => (json!({ "type": "string" }), false),
        Shape::Integer(least, most) => (json!({ "type": "integer", "minimum": least, "maximum": most }), false),
        Shape::Flag => (json!({ "type": "boolean" }), false),
        Shape::Word(words) => (json!({ "type": "string", "enum": words }), false),
        Shape::List => many(json!({ "type": "string" })),
        Shape::Words(words) => many(json!({ "type": "string", "enum": words })),
    };
    let mut parameter = json!({ "name": param.name, "in": "query", "description": param.about, "schema": schema });
    if list {
        parameter["style"] = "form".into();
        parameter["explode"] = false.into();
    }
    parameter
}

const fn cap(cap: Cap) -> &'static str {
    match cap {
        Cap::Public => "none",
        Cap::Read => "read",
        Cap::Write | Cap::Append => "write",
    }
}

/// Method and path as one word: ids become `by_…`.
fn operation_id(method: &Method, path: &str) -> String {
    let path = path.strip_prefix("/hecate/v1").unwrap_or(path);
    let word = |segment: &str| match segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}')) {
        Some(id) => format!("by_{id}"),
        None => segment.replace(['.', '-'], "_"),
    };
    let words = path.split('/').filter(|segment| !segment.is_empty()).map(word);
    std::iter::once(method.as_str().to_lowercase()).chain(words).collect::<Vec<_>>().join("_")
}

/// The noun that a path is about: the last one that is followed by an id or a verb.
fn group(path: &str) -> &'static str {
    let Some(path) = path.strip_prefix("/hecate/v1/") else { return "server" };
    let has = |noun: &str| path.split('/').any(|segment| segment == noun);
    match () {
        () if has("schemas") || path == "openapi.json" || path == "health" => "server",
        () if has("approvals") => "approvals",
        () if has("artifacts") => "artifacts",
        () if has("events") => "events",
        () if has("runs") => "runs",
        () => "tasks",
    }
}
