//! What a collector hears of the runs of a node.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use r1_server::{Telemetry, TelemetrySettings};

use crate::support::Server;

const SCENARIO: &str = r"
turns:
  - text: I look.
    tool_calls: [{ tool: echo, input: { word: secret-content } }]
    usage: { input_tokens: 100, output_tokens: 20 }
  - text: Done.
    usage: { input_tokens: 150, output_tokens: 5 }
";

/// A collector that keeps what it hears.
pub(crate) struct Collector {
    url: String,
    heard: Arc<Heard>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Heard {
    spans: Mutex<Vec<Span>>,
    metrics: Mutex<Vec<ExportMetricsServiceRequest>>,
    resources: Mutex<Vec<String>>,
    keys: Mutex<Vec<Option<String>>>,
    /// So many requests are turned away before one is taken.
    busy: Mutex<u32>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let heard = Arc::new(Heard::default());
        let routes = Router::new().route("/v1/traces", post(traces)).route("/v1/metrics", post(metrics));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = routes.with_state(heard.clone());
        let task = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self { url, heard, task }
    }

    pub(crate) fn settings(&self) -> TelemetrySettings {
        let mut settings = TelemetrySettings::new(&self.url).unwrap();
        settings.span_delay = Duration::from_millis(10);
        settings
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.heard.spans.lock().unwrap().clone()
    }

    fn names(&self) -> Vec<String> {
        self.spans().into_iter().map(|span| span.name).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn traces(State(heard): State<Arc<Heard>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let mut busy = heard.busy.lock().unwrap();
    if *busy > 0 {
        *busy -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let key = headers.get("api-key").map(|value| value.to_str().unwrap().to_owned());
    heard.keys.lock().unwrap().push(key);
    for resource in ExportTraceServiceRequest::decode(body).unwrap().resource_spans {
        heard.resources.lock().unwrap().push(format!("{:?}", resource.resource));
        heard.spans.lock().unwrap().extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
    StatusCode::OK
}

async fn metrics(State(heard): State<Arc<Heard>>, body: Bytes) -> StatusCode {
    heard.metrics.lock().unwrap().push(ExportMetricsServiceRequest::decode(body).unwrap());
    StatusCode::OK
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    span.attributes.iter().find(|attribute| attribute.key == key).map(|attribute| format!("{:?}", attribute.value))
}

#[tokio::test]
async fn a_collector_hears_of_each_run_turn_and_call_once() {
    let (collector, server) = (Collector::start().await, Server::start().await);
    let mut settings = collector.settings();
    settings.headers.insert("api-key", "k".parse().unwrap());
    let telemetry = Telemetry::start(server.store.clone(), server.engine.instance(), settings).await.unwrap();
    server.finished_run(SCENARIO).await;
    telemetry.close().await;

    let mut names = collector.names();
    names.sort();
    assert_eq!(names, ["chat script", "chat script", "execute_tool echo", "invoke_agent r1"]);
    let spans = collector.spans();
    let run = spans.iter().find(|span| span.name == "invoke_agent r1").unwrap();
    assert!(spans.iter().all(|span| span.trace_id == run.trace_id && span.trace_id.len() == 16));
    assert!(!format!("{spans:?}").contains("secret-content"), "nobody asked for content");
    assert!(collector.heard.resources.lock().unwrap()[0].contains("service.instance.id"));
    assert_eq!(collector.heard.keys.lock().unwrap()[0].as_deref(), Some("k"));

    let metrics = collector.heard.metrics.lock().unwrap();
    let last = metrics.last().unwrap().resource_metrics[0].scope_metrics[0].metrics.clone();
    let histogram = |name: &str| match last.iter().find(|metric| metric.name == name).unwrap().data.clone() {
        Some(Data::Histogram(histogram)) => histogram.data_points,
        other => panic!("{other:?} is no histogram"),
    };
    let tokens = histogram("gen_ai.client.token.usage");
    assert_eq!(tokens.iter().map(|point| point.count).sum::<u64>(), 4, "input and output of two turns");
    assert_eq!(tokens.iter().filter_map(|point| point.sum).sum::<f64>(), 275.0);
    assert_eq!(histogram("gen_ai.client.operation.duration").iter().map(|point| point.count).sum::<u64>(), 4);
}

#[tokio::test]
async fn telling_again_tells_the_same() {
    let (collector, server) = (Collector::start().await, Server::start().await);
    let start = || Telemetry::start(server.store.clone(), server.engine.instance(), collector.settings());
    let (one, other) = (start().await.unwrap(), start().await.unwrap());
    server.finished_run(SCENARIO).await;
    one.close().await;
    other.close().await;
    let mut spans = collector.spans();
    spans.sort_by_key(|span| (span.span_id.clone(), span.start_time_unix_nano));
    assert_eq!(spans.len(), 8);
    for pair in spans.chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
}

#[tokio::test]
async fn content_is_told_to_those_who_ask_for_it() {
    let (collector, server) = (Collector::start().await, Server::start().await);
    let settings = TelemetrySettings { content: true, ..collector.settings() };
    let telemetry = Telemetry::start(server.store.clone(), server.engine.instance(), settings).await.unwrap();
    server.finished_run(SCENARIO).await;
    telemetry.close().await;
    let spans = collector.spans();
    let call = spans.iter().find(|span| span.name == "execute_tool echo").unwrap();
    assert!(attribute(call, "gen_ai.tool.call.arguments").unwrap().contains("secret-content"));
    assert!(attribute(call, "gen_ai.tool.call.result").is_some());
}

#[tokio::test]
async fn each_node_tells_of_its_own_runs_alone() {
    let (here, there) = (Collector::start().await, Collector::start().await);
    let one = Server::start().await;
    let other = one.another_node().await;
    let first = Telemetry::start(one.store.clone(), one.engine.instance(), here.settings()).await.unwrap();
    let second = Telemetry::start(other.store.clone(), other.engine.instance(), there.settings()).await.unwrap();
    one.finished_run(SCENARIO).await;
    other.finished_run("turns: [{ text: Only this. }]").await;
    first.close().await;
    second.close().await;
    assert_eq!(here.spans().len(), 4);
    let mut names = there.names();
    names.sort();
    assert_eq!(names, ["chat script", "invoke_agent r1"]);
}

#[tokio::test]
async fn a_busy_collector_is_asked_again_and_a_missing_one_stops_nobody() {
    let (collector, server) = (Collector::start().await, Server::start().await);
    *collector.heard.busy.lock().unwrap() = 1;
    let telemetry =
        Telemetry::start(server.store.clone(), server.engine.instance(), collector.settings()).await.unwrap();
    server.finished_run("turns: [{ text: Hello. }]").await;
    telemetry.close().await;
    assert_eq!(collector.spans().len(), 2);

    let nobody = TelemetrySettings {
        patience: Duration::from_millis(50),
        ..TelemetrySettings::new("http://127.0.0.1:9").unwrap()
    };
    let telemetry = Telemetry::start(server.store.clone(), server.engine.instance(), nobody).await.unwrap();
    server.finished_run("turns: [{ text: Hello. }]").await;
    telemetry.close().await;
}
