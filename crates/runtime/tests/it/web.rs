//! The tools for the web, against a server of our own.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::Html;
use axum::routing::{get, post};
use r1_protocol::data::{
    ArtifactCreated, ToolHttpRequested, ToolHttpResponse, ToolWebFetchResponse, ToolWebSearchRequested,
    ToolWebSearchResponse,
};
use r1_runtime::net::{NetClient, NetConfig};
use r1_runtime::tool::http::Http;
use r1_runtime::tool::web_fetch::WebFetch;
use r1_runtime::tool::web_search::engine::by_name;
use r1_runtime::tool::web_search::{Service, WebSearch};
use r1_runtime::tool::{Failure, MAX_OUTPUT, Subject, Tool as _};
use serde_json::json;

use crate::net::serve;
use crate::tool_stage::ToolStage;

fn client() -> NetClient {
    NetClient::new(NetConfig { allow_private: vec!["127.0.0.1".to_owned()], ..NetConfig::default() }).unwrap()
}

#[tokio::test]
async fn a_request_is_told_without_its_secrets() {
    let server = serve(Router::new().route("/items", post(|body: String| async move { format!("got {body}") }))).await;
    let stage = ToolStage::new().await;
    let input = json!({
        "url": format!("http://alice:pass-word-1@{server}/items"),
        "method": "post",
        "headers": { "X-Key": "header-value-2" },
        "body": "milk",
    });
    let output = stage.run(&Http::new(client()), input).await.unwrap();
    let text = output.output.as_str().unwrap();
    assert!(text.starts_with("HTTP 200 OK\n") && text.ends_with("\n\ngot milk"), "{text}");
    let requested = &stage.events::<ToolHttpRequested>()[0];
    assert_eq!((&*requested.method, &*requested.url), ("POST", &*format!("http://{server}/items")));
    assert_eq!(requested.header_keys, ["x-key"]);
    let response = &stage.events::<ToolHttpResponse>()[0];
    assert_eq!((response.status, response.body_artifact_id.clone()), (200, output.artifact_id));
    assert_eq!(stage.artifact().await, "got milk");
    let everything = stage.everything();
    assert!(!everything.contains("pass-word-1") && !everything.contains("header-value-2"));
}

#[tokio::test]
async fn a_private_server_is_refused_and_nothing_but_the_request_is_told() {
    let stage = ToolStage::new().await;
    let http = Http::new(NetClient::new(NetConfig::default()).unwrap());
    let err = stage.run(&http, json!({ "url": "http://169.254.169.254/latest/meta-data/" })).await.unwrap_err();
    assert_eq!(err.failure, Failure::Denied);
    assert_eq!(stage.types(), ["tool.http.requested"]);
    for url in ["file:///etc/passwd", "ftp://example.com/", "no url", "data:text/plain,x"] {
        assert!(http.subject(&json!({ "url": url })).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_page_is_read_as_markdown() {
    let page =
        "<html><head><title>News</title></head><body><h1>Today</h1><script>bad()</script><p>All <em>well</em>.</p>";
    let server = serve(Router::new().route("/", get(move || async move { Html(page) }))).await;
    let stage = ToolStage::new().await;
    let output = stage.run(&WebFetch::new(client()), json!({ "url": format!("http://{server}/") })).await.unwrap();
    assert_eq!(output.output, "News\n\n# Today\n\nAll *well*.");
    let response = &stage.events::<ToolWebFetchResponse>()[0];
    assert!(response.body_artifact_id.is_some());
    assert_eq!(response.extracted_text_artifact_id, output.artifact_id);
    let mimes: Vec<_> = stage.events::<ArtifactCreated>().into_iter().map(|artifact| artifact.mime.unwrap()).collect();
    assert_eq!(mimes, ["text/html", "text/markdown"]);
}

#[tokio::test]
async fn a_long_page_is_read_in_parts_and_a_missing_one_is_an_error() {
    let text = (0..20_000).map(|number| format!("line {number}\n")).collect::<String>();
    let body = text.clone();
    let server =
        serve(Router::new().route("/", get(move || async move { ([(header::CONTENT_TYPE, "text/plain")], body) })))
            .await;
    let stage = ToolStage::new().await;
    let fetch = WebFetch::new(client());
    let first = stage.run(&fetch, json!({ "url": format!("http://{server}/") })).await.unwrap().output;
    let first = first.as_str().unwrap();
    assert!(first.len() < MAX_OUTPUT);
    let start: usize = first.rsplit("`start`: ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
    let second = stage.run(&fetch, json!({ "url": format!("http://{server}/"), "start": start })).await.unwrap().output;
    assert!(second.as_str().unwrap().starts_with(&text[start..start + 100]));
    let err = stage.run(&fetch, json!({ "url": format!("http://{server}/missing") })).await.unwrap_err();
    assert_eq!(err.message, "HTTP status 404");
}

#[tokio::test]
async fn a_search_lists_its_hits() {
    let answer =
        json!({ "web": { "results": [{ "title": "R1", "url": "https://r1.test/", "description": "a\nglass box" }] } });
    let server = serve(Router::new().route("/search", get(move || async move { axum::Json(answer) }))).await;
    let engine = by_name("brave", Some(&format!("http://{server}/search")), "the-api-key").unwrap().unwrap();
    let stage = ToolStage::new().await;
    let search = WebSearch::new(Some(Service { engine, net: client() }));
    let output = stage.run(&search, json!({ "query": "glass box" })).await.unwrap();
    assert_eq!(output.output, "1. R1\n   https://r1.test/\n   a glass box\n");
    assert_eq!(stage.events::<ToolWebSearchRequested>()[0].provider, "brave");
    assert_eq!(stage.events::<ToolWebSearchResponse>()[0].hits[0].title, "R1");
    assert!(!stage.everything().contains("the-api-key"));
}

#[tokio::test]
async fn a_search_engine_that_refuses_is_named() {
    let server = serve(Router::new().route("/", get(|| async { StatusCode::UNAUTHORIZED }))).await;
    let engine = by_name("searxng", Some(&format!("http://{server}/")), "").unwrap().unwrap();
    let stage = ToolStage::new().await;
    let search = WebSearch::new(Some(Service { engine, net: client() }));
    let err = stage.run(&search, json!({ "query": "x" })).await.unwrap_err();
    assert_eq!(err.message, "the search engine searxng answered with status 401");
}

#[tokio::test]
async fn without_a_search_engine_the_setting_is_named() {
    let stage = ToolStage::new().await;
    let search = WebSearch::new(None);
    let err = stage.run(&search, json!({ "query": "x" })).await.unwrap_err();
    assert!(err.message.contains("`web_search.provider`"), "{err}");
    let told = Subject::Network { method: "GET".into(), url: "search://web/".into() };
    assert_eq!(search.subject(&json!({ "query": "x" })), Ok(told));
}

#[tokio::test]
async fn a_type_that_is_too_long_to_be_one_is_none() {
    let odd = || async { ([(header::CONTENT_TYPE, format!("text/{}", "x".repeat(70_000)))], "hello") };
    let server = serve(Router::new().route("/", get(odd))).await;
    let stage = ToolStage::new().await;
    let output = stage.run(&WebFetch::new(client()), json!({ "url": format!("http://{server}/") })).await.unwrap();
    assert!(output.output.as_str().unwrap().contains("hello"), "{output:?}");
    assert!(
        stage.events::<ArtifactCreated>().iter().all(|made| made.mime.as_ref().is_none_or(|mime| mime.len() < 256))
    );
    assert!(!stage.everything().contains("xxxxxxxxxx"));
}
