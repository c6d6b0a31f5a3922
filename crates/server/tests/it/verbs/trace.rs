//! The trace of whoever asks for a task is the trace of its run.

use r1_event::id::to_hex;
use r1_event::payload::RunStarted;
use r1_event::{Kind, Payload, Seq};
use r1_server::Telemetry;
use r1_store::PageLimit;
use reqwest::Method;
use serde_json::json;

use super::node::Node;
use crate::support::json_of;
use crate::telemetry::Collector;

#[tokio::test]
async fn stoke_08_an_incoming_traceparent_is_honoured_from_the_request_to_the_collector() {
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

/// What the first event of a run says that was asked for with this header.
async fn started(node: &Node, traceparent: &str) -> RunStarted {
    let request = node.request(Method::POST, "/tasks").header("traceparent", traceparent);
    let request = request.header("content-type", "application/json").body(json!({ "prompt": "go" }).to_string());
    let task = json_of(request.send().await.unwrap(), 200).await["data"].clone();
    let run = task["latest_run_id"].as_str().unwrap().parse().unwrap();
    let first = node.store.read(&run, Seq::FIRST, PageLimit::ONE).await.unwrap().records;
    match Payload::decode(Kind::RunStarted, first[0].payload.as_ref().unwrap()) {
        Ok(Payload::RunStarted(started)) => *started,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn stoke_08_a_request_that_is_in_no_trace_begins_one() {
    let node = Node::start("turns: [{ text: done }]").await;
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let given = format!("00-{trace}-{parent}-00");
    let later = format!("42-{trace}-{parent}-00-and-more");
    for good in [given.as_str(), later.as_str()] {
        let started = started(&node, good).await;
        let own = started.trace_parent.unwrap();
        assert!(own.starts_with(&format!("00-{trace}-")) && own.ends_with("-00") && !own.contains(parent), "{own}");
        assert_eq!(started.trace_parent_in.as_deref(), Some(good), "as it came");
    }
    let zero = format!("00-{}-{parent}-01", "0".repeat(32));
    let reserved = format!("ff-{trace}-{parent}-01");
    for bad in ["nonsense", &zero, &reserved, &given.to_uppercase(), &format!("{given}-more")] {
        let started = started(&node, bad).await;
        let own = started.trace_parent.unwrap();
        assert!(own.len() == 55 && own.ends_with("-01") && !own.contains(trace), "{bad}: {own}");
        assert_eq!(started.trace_parent_in, None, "{bad}");
    }
}
