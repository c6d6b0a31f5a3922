//! The server about itself.

use reqwest::Method;

use crate::support::{Server, error_of, json_of};

#[tokio::test]
async fn anyone_may_know_that_it_is_alive_and_who_it_is() {
    let server = Server::start().await;
    assert_eq!(server.bare(Method::GET, "/healthz").send().await.unwrap().text().await.unwrap(), "ok\n");
    let health = json_of(server.bare(Method::GET, "/v1/health").send().await.unwrap(), 200).await;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(health, serde_json::json!({ "status": "ok", "version": version, "instance_id": "r1-00000001" }));
}

#[tokio::test]
async fn a_node_tells_how_it_does() {
    let server = Server::start().await;
    server.new_run("").await;
    let health = server.json("/hecate/v1/health").await["data"].clone();
    assert_eq!((&health["queue_depth"], &health["store"]["runs"]), (&1.into(), &1.into()));
    assert_eq!((&health["workers"]["slots"], &health["sandbox_layer"]), (&4.into(), &"none".into()));
}

#[tokio::test]
async fn figures_have_no_labels_that_a_client_makes_up() {
    let server = Server::start().await;
    server.get("/hecate/v1/runs/run_made_up").await;
    server.get("/made/up").await;
    let figures = server.get("/metrics").await.text().await.unwrap();
    assert!(figures.contains(r#"r1_http_requests_total{route="none",method="GET",status="404"} 1"#), "{figures}");
    assert!(figures.contains("r1_queue_depth 0") && figures.contains("r1_worker_slots 4"), "{figures}");
    assert!(!figures.contains("made_up") && !figures.contains("made/up"), "{figures}");
    assert!(figures.ends_with("# EOF\n"));
}

#[tokio::test]
async fn a_request_keeps_its_id() {
    let server = Server::start().await;
    let asked = server.request(Method::GET, "/nothing").header("x-request-id", "mine-1");
    let answer = asked.send().await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], "mine-1");
    assert_eq!(error_of(answer, 404, "not_found").await["request_id"], "mine-1");
    let unfit = server.request(Method::GET, "/nothing").header("x-request-id", "a b").send().await.unwrap();
    assert!(unfit.headers()["x-request-id"].to_str().unwrap().starts_with("req_"));
}

#[tokio::test]
async fn bulk_is_compressed_for_those_who_can_read_it() {
    let server = Server::start().await;
    let ask = |encoding: &'static str| {
        server.bare(Method::GET, "/hecate/v1/openapi.json").header("accept-encoding", encoding)
    };
    let packed = ask("gzip").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let plain = ask("identity").send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"));
    let run = server.new_run("").await;
    let stream =
        server.request(Method::GET, &format!("/hecate/v1/runs/{run}/events")).header("accept-encoding", "gzip");
    let stream = stream.header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(!stream.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn somebody_may_ask_it_to_end() {
    let server = Server::start().await;
    let answer = server.request(Method::POST, "/v1/daemon/shutdown").send().await.unwrap();
    assert_eq!(answer.status(), 202);
    assert!(server.app.shutdown_asked().is_cancelled());
}
