//! How many tokens and how much time the model calls and tool calls took: two histograms.

use std::collections::HashMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Histogram, HistogramDataPoint, Metric};
use r1_event::UnixNanos;

use super::attribute::attribute;
use super::spans::{About, Ended};

/// So many combinations of attributes are kept apart; more are counted together.
const MAX_SERIES: usize = 500;

const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Counts what has ended since this node was started.
#[derive(Debug)]
pub(super) struct Meter {
    since: UnixNanos,
    tokens: HashMap<Option<(About, &'static str)>, Series>,
    durations: HashMap<Option<(About, Option<String>)>, Series>,
}

/// One line of a histogram.
#[derive(Clone, Debug, Default)]
struct Series {
    count: u64,
    sum: f64,
    buckets: Vec<u64>,
}

impl Meter {
    pub(super) fn new(since: UnixNanos) -> Self {
        Self { since, tokens: HashMap::new(), durations: HashMap::new() }
    }

    /// Counts a span.
    pub(super) fn count(&mut self, ended: &Ended) {
        let Ended { span, about, tokens, error } = ended;
        if let Some((read, written)) = tokens {
            for (kind, number) in [("input", *read), ("output", *written)] {
                #[expect(clippy::cast_precision_loss, reason = "a histogram is no account")]
                series(&mut self.tokens, (about.clone(), kind)).add(number as f64, &TOKENS);
            }
        }
        let nanos = span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano);
        let seconds = std::time::Duration::from_nanos(nanos).as_secs_f64();
        series(&mut self.durations, (about.clone(), error.clone())).add(seconds, &SECONDS);
    }

    /// What was counted, as it stands now.
    pub(super) fn metrics(&self, now: UnixNanos) -> Vec<Metric> {
        let token_type = |key: &Option<(About, &'static str)>| match key {
            Some((about, kind)) => labels(about, [attribute("gen_ai.token.type", *kind)]),
            None => overflow(),
        };
        let error_type = |key: &Option<(About, Option<String>)>| match key {
            Some((about, error)) => labels(about, error.as_deref().map(|error| attribute("error.type", error))),
            None => overflow(),
        };
        let tokens = self.tokens.iter().map(|(key, series)| self.point(token_type(key), series, &TOKENS, now));
        let durations = self.durations.iter().map(|(key, series)| self.point(error_type(key), series, &SECONDS, now));
        let metrics = [
            histogram("gen_ai.client.token.usage", "{token}", tokens.collect()),
            histogram("gen_ai.client.operation.duration", "s", durations.collect()),
        ];
        metrics.into_iter().flatten().collect()
    }

    fn point(&self, attributes: Vec<KeyValue>, series: &Series, bounds: &[f64], now: UnixNanos) -> HistogramDataPoint {
        let nanos = |at: UnixNanos| u64::try_from(at.0).unwrap_or(0);
        HistogramDataPoint {
            attributes,
            start_time_unix_nano: nanos(self.since),
            time_unix_nano: nanos(now),
            count: series.count,
            sum: Some(series.sum),
            bucket_counts: series.buckets.clone(),
            explicit_bounds: bounds.to_vec(),
            ..HistogramDataPoint::default()
        }
    }
}

impl Series {
    fn add(&mut self, value: f64, bounds: &[f64]) {
        self.buckets.resize(bounds.len() + 1, 0);
        let bucket = bounds.partition_point(|bound| *bound < value);
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum += value;
    }
}

/// The series of `key`, or that of all the rest when there are too many.
fn series<K: std::hash::Hash + Eq>(all: &mut HashMap<Option<K>, Series>, key: K) -> &mut Series {
    let key = Some(key);
    let key = if all.len() < MAX_SERIES || all.contains_key(&key) { key } else { None };
    all.entry(key).or_default()
}

fn labels(about: &About, more: impl IntoIterator<Item = KeyValue>) -> Vec<KeyValue> {
    let About { operation, provider, model } = about;
    let mut labels = vec![
        attribute("gen_ai.operation.name", *operation),
        attribute("gen_ai.provider.name", provider.as_str()),
        attribute("gen_ai.request.model", model.as_str()),
    ];
    labels.extend(more);
    labels
}

fn overflow() -> Vec<KeyValue> {
    vec![attribute("otel.metric.overflow", true)]
}

fn histogram(name: &str, unit: &str, points: Vec<HistogramDataPoint>) -> Option<Metric> {
    let temporality = AggregationTemporality::Cumulative as i32;
    let data = Histogram { data_points: points, aggregation_temporality: temporality };
    (!data.data_points.is_empty()).then(|| Metric {
        name: name.into(),
        unit: unit.into(),
        data: Some(Data::Histogram(data)),
        ..Metric::default()
    })
}
