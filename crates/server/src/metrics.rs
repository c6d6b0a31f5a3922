//! Figures for operators, in the text form of Prometheus. Labels come from closed sets: no id, no path that a
//! client made up.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// What is counted.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<Route, Histogram>,
    /// Requests whose answer has not begun.
    pub(crate) in_flight: Gauge,
    /// Streams that are open.
    pub(crate) subscribers: Gauge,
    /// Events that were sent, on streams and in lists.
    pub(crate) events_served: Counter,
    /// Runs that this node works on.
    pub(crate) busy_workers: Gauge,
    /// Runs that this node can work on at a time.
    pub(crate) worker_slots: Gauge,
    /// Runs that wait for any node.
    pub(crate) queue_depth: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("r1");
        let metrics = Self {
            requests: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            in_flight: Gauge::default(),
            subscribers: Gauge::default(),
            events_served: Counter::default(),
            busy_workers: Gauge::default(),
            worker_slots: Gauge::default(),
            queue_depth: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("build", "The version that runs", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("http_requests", "Requests that were answered", metrics.requests.clone());
        let latency = metrics.latency.clone();
        registry.register_with_unit("http_request_duration", "Until the answer began", Unit::Seconds, latency);
        registry.register("http_requests_in_flight", "Requests whose answer has not begun", metrics.in_flight.clone());
        registry.register("sse_subscribers", "Streams that are open", metrics.subscribers.clone());
        registry.register("events_served", "Events that were sent", metrics.events_served.clone());
        registry.register("runs_at_work", "Runs that this node works on", metrics.busy_workers.clone());
        registry.register("worker_slots", "Runs that this node can work on at a time", metrics.worker_slots.clone());
        registry.register("queue_depth", "Open runs that nobody works on", metrics.queue_depth.clone());
        Self { registry, ..metrics }
    }

    /// One request was answered.
    pub(crate) fn answered(&self, route: &'static str, method: &Method, status: StatusCode, took: Duration) {
        let labels = Request { route, method: known(method), status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
        self.latency.get_or_create(&Route { route }).observe(took.as_secs_f64());
    }

    /// All figures as text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// From a millisecond to half a minute.
const BUCKETS: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Methods are words that a client makes up.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Counts something for as long as it lives.
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn in_gauge(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
