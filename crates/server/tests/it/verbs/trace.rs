//! The trace of whoever asks for a task is the trace of its run.

use r1_event::id::to_hex;
use r1_server::Telemetry;
use reqwest::Method;
use serde_json::json;

use super::node::Node;
use crate::support::json_of;
use crate::telemetry::Collector;

#[tokio::test]
async fn an_incoming_traceparent_is_honoured_from_the_request_to_the_collector() {
    let (collector, node) = (Collector::start().await, Node::start("turns: [{ text: done }]").await);
    let telemetry = Telemetry::start(node.store.clone(), node.engine.instance(), collector.settings()).await.unwrap();
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let request = node.request(Method::POST, "/tasks").header("traceparent", format!("00-{trace}-{parent}-01"));
    let request = request.header("content-type", "application/json").body(json!({ "prompt": "go" }).to_string());
    let task = json_of(request.send().await.unwrap(), 200).await["data"].clone();
    let run = node.until(task["latest_run_id"].as_str().unwrap(), "completed").await;
    assert_eq!(run["trace_id"], trace);
    telemetry.close().await;
    let spans = collector.spans();
    assert_eq!(spans.len(), 2, "{spans:?}");
    assert!(spans.iter().all(|span| to_hex(&span.trace_id) == trace));
    let root = spans.iter().find(|span| span.name == "invoke_agent r1").unwrap();
    assert_eq!(to_hex(&root.parent_span_id), parent);
}
