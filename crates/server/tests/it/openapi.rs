//! The document that describes the API (check 28).

use std::collections::BTreeSet;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::Value;

use crate::support::{Server, error_of};

fn checked_in() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

#[tokio::test]
async fn ep_28_the_checked_in_document_is_what_the_server_serves() {
    let served = Server::start().await.json("/hecate/v1/openapi.json").await;
    let text = format!("{}\n", serde_json::to_string_pretty(&served).unwrap());
    if std::env::var_os("R1_UPDATE_GOLDEN").is_some() {
        std::fs::write(checked_in(), &text).unwrap();
    }
    let found = std::fs::read_to_string(checked_in()).unwrap_or_default();
    assert!(found == text, "docs/openapi.json is stale: R1_UPDATE_GOLDEN=1 cargo test -p r1-server openapi");
}

/// The table of the specification, as it is served.
const PROMISED: [(&str, &str); 42] = [
    ("POST", "/hecate/v1/tasks"),
    ("GET", "/hecate/v1/tasks"),
    ("GET", "/hecate/v1/tasks/{task_id}"),
    ("PATCH", "/hecate/v1/tasks/{task_id}"),
    ("DELETE", "/hecate/v1/tasks/{task_id}"),
    ("POST", "/hecate/v1/tasks/{task_id}/start"),
    ("GET", "/hecate/v1/tasks/{task_id}/runs"),
    ("GET", "/hecate/v1/runs"),
    ("GET", "/hecate/v1/tasks/{task_id}/approvals"),
    ("GET", "/hecate/v1/approvals"),
    ("GET", "/hecate/v1/approvals/{approval_id}"),
    ("POST", "/hecate/v1/approvals/{approval_id}/resolve"),
    ("POST", "/hecate/v1/tasks/{task_id}/approvals/{approval_id}/resolve"),
    ("GET", "/hecate/v1/artifacts"),
    ("GET", "/hecate/v1/tasks/{task_id}/artifacts"),
    ("GET", "/hecate/v1/events"),
    ("GET", "/hecate/v1/events/stream"),
    ("GET", "/hecate/v1/health"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/hecate/v1/openapi.json"),
    ("GET", "/hecate/v1/schemas/events/v1"),
    ("GET", "{run}"),
    ("GET", "{run}/children"),
    ("GET", "{run}/events"),
    ("POST", "{run}/events"),
    ("POST", "{run}/messages"),
    ("POST", "{run}/cancel"),
    ("POST", "{run}/interrupt"),
    ("POST", "{run}/retry"),
    ("POST", "{run}/resume"),
    ("POST", "{run}/fork"),
    ("GET", "{run}/approvals"),
    ("GET", "{run}/artifacts"),
    ("POST", "{run}/artifacts"),
    ("GET", "{run}/receipt"),
    ("GET", "{run}/log"),
    ("GET", "{run}/proof"),
    ("GET", "{run}/verdict"),
    ("GET", "/v1/health"),
    ("POST", "/v1/tickets"),
];

#[tokio::test]
async fn ep_28_every_promised_route_is_there_in_all_its_forms() {
    let document = Server::start().await.json("/hecate/v1/openapi.json").await;
    for (method, path) in PROMISED {
        let paths = match path.strip_prefix("{run}") {
            Some(rest) => {
                vec![
                    format!("/hecate/v1/runs/{{run_id}}{rest}"),
                    format!("/hecate/v1/tasks/{{task_id}}/runs/{{run_id}}{rest}"),
                ]
            }
            None => vec![path.to_owned()],
        };
        for path in paths {
            let operation = &document["paths"][&path][method.to_lowercase()];
            assert!(operation.is_object(), "{method} {path}");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn ep_27_every_post_of_the_api_takes_a_key() {
    let document = Server::start().await.json("/hecate/v1/openapi.json").await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if path.starts_with("/hecate/") && methods["post"].is_object() {
            let parameters = methods["post"]["parameters"].as_array().unwrap();
            assert!(parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key"), "{path}");
        }
    }
}

#[tokio::test]
async fn ep_28_every_reference_leads_somewhere_and_every_operation_has_a_name_of_its_own() {
    let document = Server::start().await.json("/hecate/v1/openapi.json").await;
    let (mut references, mut names) = (BTreeSet::new(), BTreeSet::new());
    collect(&document, &mut references);
    for reference in references {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} twice");
        }
    }
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn ep_28_every_schema_of_the_document_is_a_schema() {
    let document = Server::start().await.json("/hecate/v1/openapi.json").await;
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        let mut schema = document.clone();
        schema["$ref"] = format!("#/components/schemas/{name}").into();
        jsonschema::validator_for(&schema).unwrap_or_else(|err| panic!("{name}: {err}"));
    }
}

#[tokio::test]
async fn every_event_type_has_a_schema_that_can_be_had() {
    let server = Server::start().await;
    let list = server.json("/hecate/v1/schemas/events/v1").await;
    let schemas = list["data"].as_array().unwrap();
    assert!(schemas.len() > 100, "{}", schemas.len());
    for schema in schemas {
        let found = server.bare(Method::GET, schema["path"].as_str().unwrap()).send().await.unwrap();
        assert_eq!(found.status(), 200, "{schema}");
        let found: Value = found.json().await.unwrap();
        jsonschema::validator_for(&found).unwrap_or_else(|err| panic!("{schema}: {err}"));
    }
    error_of(server.get("/hecate/v1/schemas/events/v1/run.queued").await, 404, "not_found").await;
}

#[tokio::test]
async fn the_page_runs_nothing_and_loads_nothing_from_elsewhere() {
    let server = Server::start().await;
    let answer = server.bare(Method::GET, "/docs").send().await.unwrap();
    let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{policy}");
    let page = answer.text().await.unwrap();
    for unwanted in ["<script", "style=", "onclick", "http://", "https://"] {
        assert!(!page.contains(unwanted), "{unwanted}");
    }
    assert!(page.contains("/hecate/v1/runs/{run_id}/events"));
    assert_eq!(server.bare(Method::GET, "/docs/style.css").send().await.unwrap().status(), 200);
}
