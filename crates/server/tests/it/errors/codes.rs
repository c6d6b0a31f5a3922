//! Each code is produced by some route, with its status.

use std::time::Duration;

use r1_server::{Limits, Settings};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Server, TOKEN, error_of, json_of, settings};

#[tokio::test]
async fn ep_28_wrong_requests_are_named_by_their_place() {
    let server = Server::start().await;
    let error = error_of(server.get("/hecate/v1/runs?limit=0").await, 400, "validation").await;
    assert_eq!(error["details"][0]["path"], "?limit");
    let error = error_of(server.get("/hecate/v1/runs?limitt=5").await, 400, "validation").await;
    assert_eq!(error["details"][0]["path"], "?limitt");
    let error = error_of(server.post("/hecate/v1/tasks", &json!({ "promt": "x" })).await, 400, "validation").await;
    assert_eq!(error["details"][0]["path"], "/promt");
    let twice = server.request(Method::POST, "/hecate/v1/tasks").header("content-type", "application/json");
    let twice = twice.body(r#"{"prompt":"a","prompt":"b"}"#).send().await.unwrap();
    assert_eq!(error_of(twice, 400, "validation").await["details"][0]["path"], "/prompt");
}

#[tokio::test]
async fn ep_28_methods_kinds_and_sizes_have_their_own_status() {
    let server = Server::start().await;
    let answer = server.request(Method::PUT, "/hecate/v1/runs").send().await.unwrap();
    assert_eq!(answer.headers()["allow"], "GET, HEAD");
    error_of(answer, 405, "validation").await;
    let html = server.request(Method::POST, "/hecate/v1/tasks").header("content-type", "text/html");
    error_of(html.body("{}").send().await.unwrap(), 415, "validation").await;
    let large = json!({ "prompt": "x".repeat(1 << 20) });
    error_of(server.post("/hecate/v1/tasks", &large).await, 413, "validation").await;
    let run = server.new_run("").await;
    let picture = server.request(Method::GET, &format!("/hecate/v1/runs/{run}/events")).header("accept", "image/png");
    error_of(picture.send().await.unwrap(), 406, "validation").await;
}

#[tokio::test]
async fn ep_28_what_is_not_there_is_not_found() {
    let server = Server::start().await;
    for path in [
        "/hecate/v1/nothing",
        "/hecate/v1/runs/run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B",
        "/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B",
        "/hecate/v1/approvals/x",
        "/hecate/v1/artifacts/x",
        "/hecate/v1/schemas/events/v1/nothing.json",
    ] {
        error_of(server.get(path).await, 404, "not_found").await;
    }
}

#[tokio::test]
async fn ep_28_logs_only_grow() {
    let server = Server::start().await;
    let task = "/hecate/v1/tasks/task_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
    let answer = server.request(Method::DELETE, task).send().await.unwrap();
    error_of(answer, 405, "append_only_violation").await;
    let run = server.finished_run("turns: [{ text: done }]").await;
    let event = json!({ "type": "external.note", "data": {} });
    error_of(server.post(&format!("/hecate/v1/runs/{run}/events"), &event).await, 423, "append_only_violation").await;
}

#[tokio::test]
async fn ep_28_a_key_used_for_another_request_is_a_conflict() {
    let server = Server::start().await;
    let run = server.new_run("").await;
    let send = async |note: &str| {
        let request = server.request(Method::POST, &format!("/hecate/v1/runs/{run}/events"));
        let body = json!({ "type": "external.note", "data": { "note": note } }).to_string();
        request
            .header("idempotency-key", "k")
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap()
    };
    let first = json_of(send("a").await, 200).await;
    let again = send("a").await;
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(json_of(again, 200).await, first);
    error_of(send("b").await, 409, "conflict").await;
}

#[tokio::test]
async fn ep_28_versions_that_nobody_knows_yet_are_named() {
    let server = Server::start().await;
    error_of(server.get("/hecate/v2/runs").await, 422, "schema_version").await;
}

#[tokio::test]
async fn ep_28_too_much_at_once_is_asked_to_wait() {
    let limits = Limits { requests: 0, ..Limits::default() };
    let server = Server::with(Settings { limits, ..settings() }).await;
    let answer = server.get("/hecate/v1/health").await;
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_eq!(error_of(answer, 429, "budget_exceeded").await["retriable"], true);
}

#[tokio::test]
async fn ep_28_a_body_that_does_not_come_times_out() {
    let limits = Limits { patience: Duration::from_millis(50), ..Limits::default() };
    let server = Server::with(Settings { limits, ..settings() }).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /hecate/v1/tasks HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n{{"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains(r#""code":"timeout""#), "{answer}");
}

#[tokio::test]
async fn ep_28_a_node_that_is_about_to_end_says_so() {
    let server = Server::start().await;
    // One connection stays open, as a client's would.
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = |path: &str| client.get(format!("{}{path}", server.url)).bearer_auth(TOKEN).send();
    assert_eq!(ask("/readyz").await.unwrap().status(), 200);
    let unix = reqwest::Client::builder().unix_socket(server.unix_socket().as_path()).build().unwrap();
    assert_eq!(unix.get("http://localhost/healthz").send().await.unwrap().status(), 200);
    server.app.draining().cancel();
    // Whichever comes first: the last answer on the old connection, or no connection at all.
    if let Ok(answer) = ask("/hecate/v1/health").await {
        error_of(answer, 503, "crash_recovery").await;
    }
}
