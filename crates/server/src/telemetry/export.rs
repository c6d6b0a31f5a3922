//! Sending spans and metrics to a collector: OTLP over HTTP, in protobuf.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use r1_runtime::world;
use reqwest::{StatusCode, Url};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::attribute::attribute;
use super::meter::Meter;
use super::settings::Settings;

/// Spans in one request at most.
const BATCH: usize = 512;
/// How often a request is tried.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The version of the conventions that names and attributes are taken from.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

/// Sends what is in its queue.
pub(super) struct Exporter {
    client: reqwest::Client,
    settings: Settings,
    resource: Resource,
    meter: Arc<Mutex<Meter>>,
}

impl Exporter {
    pub(super) fn new(settings: Settings, instance: &str, meter: Arc<Mutex<Meter>>) -> Self {
        let given = settings.resource.iter().map(|(key, value)| attribute(key, value.as_str()));
        let own = [
            attribute("service.name", settings.service.as_str()),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
            attribute("service.instance.id", instance),
        ];
        let resource = Resource { attributes: own.into_iter().chain(given).collect(), ..Resource::default() };
        Self { client: reqwest::Client::new(), settings, resource, meter }
    }

    /// Sends until the queue is closed and empty.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Span>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut metrics_due = Instant::now() + self.settings.metric_interval;
        loop {
            let batch_due = Instant::now() + self.settings.span_delay;
            let mut open = true;
            while open && batch.len() < BATCH {
                let room = BATCH - batch.len();
                tokio::select! {
                    received = queue.recv_many(&mut batch, room) => open = received > 0,
                    () = tokio::time::sleep_until(batch_due), if !batch.is_empty() => break,
                    () = tokio::time::sleep_until(metrics_due) => break,
                }
            }
            if !batch.is_empty() {
                self.send_spans(std::mem::take(&mut batch)).await;
            }
            if !open || Instant::now() >= metrics_due {
                self.send_metrics().await;
                metrics_due = Instant::now() + self.settings.metric_interval;
            }
            if !open {
                return;
            }
        }
    }

    async fn send_spans(&self, spans: Vec<Span>) {
        let count = spans.len();
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, schema_url: SCHEMA.into() }];
        let resource = Some(self.resource.clone());
        let resource_spans = vec![ResourceSpans { resource, scope_spans, schema_url: SCHEMA.into() }];
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        if let Err(why) = self.send(&self.settings.traces, body).await {
            tracing::warn!(spans = count, why, "the collector did not take spans: they are dropped");
        }
    }

    async fn send_metrics(&self) {
        // A count is never left half done, so one that was interrupted is as good as any.
        let metrics = self.meter.lock().unwrap_or_else(PoisonError::into_inner).metrics(world::now());
        if metrics.is_empty() {
            return;
        }
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, schema_url: SCHEMA.into() }];
        let resource = Some(self.resource.clone());
        let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, schema_url: SCHEMA.into() }];
        let body = ExportMetricsServiceRequest { resource_metrics }.encode_to_vec();
        if let Err(why) = self.send(&self.settings.metrics, body).await {
            // The next ones say all that these would have said.
            tracing::warn!(why, "the collector did not take metrics");
        }
    }

    /// Sends a request, again and again if the collector is only busy or away.
    async fn send(&self, to: &Url, body: Vec<u8>) -> Result<(), String> {
        let body = bytes::Bytes::from(body);
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let (why, wait) = match self.try_once(to, body.clone()).await {
                Ok(()) => return Ok(()),
                Err(Refusal::Final(why)) => return Err(why),
                Err(Refusal::Later(why, wait)) => (why, wait),
            };
            if attempt == ATTEMPTS {
                return Err(why);
            }
            tokio::time::sleep(wait.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    async fn try_once(&self, to: &Url, body: bytes::Bytes) -> Result<(), Refusal> {
        let request = self.client.post(to.clone()).headers(self.settings.headers.clone());
        let request = request.header("content-type", "application/x-protobuf").timeout(self.settings.patience);
        let answer =
            request.body(body).send().await.map_err(|err| Refusal::Later(err.without_url().to_string(), None))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let why = format!("it answered {status}");
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let seconds = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
                Err(Refusal::Later(why, seconds.map(Duration::from_secs)))
            }
            _ => Err(Refusal::Final(why)),
        }
    }
}

/// Why a collector did not take a request.
enum Refusal {
    /// It will not take it later either.
    Final(String),
    /// It may, after that long.
    Later(String, Option<Duration>),
}

fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "r1".into(), version: env!("CARGO_PKG_VERSION").into(), ..Default::default() }
}
