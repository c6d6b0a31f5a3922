//! Where spans and metrics go, in the words of the OpenTelemetry specification.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Where spans and metrics go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Takes spans.
    pub traces: Url,
    /// Takes metrics.
    pub metrics: Url,
    /// Sent with every request: a key of the collector, usually.
    pub headers: HeaderMap,
    /// Whether prompts, answers, and what tools were given and gave are told too.
    pub content: bool,
    /// What this service is called.
    pub service: String,
    /// What else is known of where it runs.
    pub resource: Vec<(String, String)>,
    /// How long the collector may take for an answer, and for the rest when this node ends.
    pub patience: Duration,
    /// How long spans wait for others to go with them.
    pub span_delay: Duration,
    /// How often metrics are told.
    pub metric_interval: Duration,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be used: {why}")]
pub struct BadSettings {
    /// Which one.
    pub name: String,
    /// Why, without its value: it may hold a key.
    pub why: String,
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

impl Settings {
    /// With a collector's base address, such as `http://127.0.0.1:4318`.
    pub fn new(endpoint: &str) -> Result<Self, BadSettings> {
        let at = |path: &str| url(ENDPOINT, &format!("{}/{path}", endpoint.trim_end_matches('/')));
        Ok(Self {
            traces: at("v1/traces")?,
            metrics: at("v1/metrics")?,
            headers: HeaderMap::new(),
            content: false,
            service: "r1".into(),
            resource: Vec::new(),
            patience: Duration::from_secs(10),
            span_delay: Duration::from_secs(1),
            metric_interval: Duration::from_secs(60),
        })
    }

    /// From the environment's variables; `None` if no endpoint is named or everything is switched off.
    /// `endpoint` and `content` are what a configuration file says; the environment wins.
    pub fn from_environment(
        variable: &dyn Fn(&str) -> Option<String>,
        endpoint: Option<&str>,
        content: bool,
    ) -> Result<Option<Self>, BadSettings> {
        let get = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let base = get(ENDPOINT).or_else(|| endpoint.map(Into::into));
        let traces = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let metrics = get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        let Some(base) = base.or_else(|| traces.clone()).or_else(|| metrics.clone()) else { return Ok(None) };
        if get("OTEL_SDK_DISABLED").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let mut settings = Self { content, ..Self::new(&base)? };
        if let Some(text) = traces {
            settings.traces = url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &text)?;
        }
        if let Some(text) = metrics {
            settings.metrics = url("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &text)?;
        }
        if let Some(text) = get("OTEL_EXPORTER_OTLP_HEADERS") {
            settings.headers = headers(&text)?;
        }
        if let Some(text) = get("OTEL_RESOURCE_ATTRIBUTES") {
            settings.resource = pairs(&text).collect();
        }
        if let Some(text) = get("OTEL_SERVICE_NAME") {
            settings.service = text;
        }
        if let Some(text) = get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") {
            settings.content =
                matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "span_only" | "span_and_event");
        }
        let milliseconds = |name: &str| match get(name).map(|text| text.trim().parse()) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(Duration::from_millis(number))),
            Some(Err(_)) => Err(bad(name, "it is no number of milliseconds")),
        };
        settings.patience = milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT")?.unwrap_or(settings.patience);
        settings.span_delay = milliseconds("OTEL_BSP_SCHEDULE_DELAY")?.unwrap_or(settings.span_delay);
        settings.metric_interval = milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?.unwrap_or(settings.metric_interval);
        Ok(Some(settings))
    }
}

fn bad(name: &str, why: &str) -> BadSettings {
    BadSettings { name: name.into(), why: why.into() }
}

fn url(name: &str, text: &str) -> Result<Url, BadSettings> {
    let url: Url = text.trim().parse().map_err(|_| bad(name, "it is no URL, such as `http://127.0.0.1:4318`"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(bad(name, "R1 speaks OTLP over `http://` and `https://` only")),
    }
}

/// `key1=value1,key2=value2`, with values in percent-encoding.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let decoded = |text: &str| {
        let as_query = text.trim().replace('+', "%2B");
        url::form_urlencoded::parse(as_query.as_bytes()).next().map(|(key, _)| key.into_owned()).unwrap_or_default()
    };
    text.split(',')
        .filter_map(move |pair| pair.split_once('='))
        .map(move |(key, value)| (key.trim().into(), decoded(value)))
}

fn headers(text: &str) -> Result<HeaderMap, BadSettings> {
    let name = "OTEL_EXPORTER_OTLP_HEADERS";
    let header = |(key, value): (String, String)| {
        let key = HeaderName::try_from(key).map_err(|_| bad(name, "a name in it cannot be a header"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad(name, "a value in it cannot be a header"))?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    pairs(text).map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, BadSettings> {
        let get = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::from_environment(&get, None, false)
    }

    #[test]
    fn nothing_is_told_unless_somebody_says_where() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[(ENDPOINT, " ")]).unwrap().is_none());
        assert!(read(&[(ENDPOINT, "http://c:4318"), ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
    }

    #[test]
    fn the_variables_of_the_specification_are_understood() {
        let settings = read(&[
            (ENDPOINT, "http://c:4318/base/"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m/metrics"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b%3D, x=1+1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.traces.as_str(), "http://c:4318/base/v1/traces");
        assert_eq!(settings.metrics.as_str(), "https://m/metrics");
        assert_eq!(
            (&settings.headers["api-key"], &settings.headers["x"]),
            (&"a b=".parse().unwrap(), &"1+1".parse().unwrap())
        );
        assert_eq!(settings.resource, [("deployment.environment.name".into(), "test".into())]);
        assert_eq!((settings.patience, settings.content), (Duration::from_millis(250), true));
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_value() {
        for (name, value) in [
            (ENDPOINT, "secret"),
            (ENDPOINT, "grpc://secret:1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "näme=secret"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "secret"),
        ] {
            let err = read(&[(name, value), (ENDPOINT, "http://c")]).unwrap_err().to_string();
            assert!(err.starts_with(name) && !err.contains("secret"), "{err}");
        }
    }
}
