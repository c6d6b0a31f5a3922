//! Requests to servers.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ToolHttpRequested, ToolHttpResponse, ToolKind};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::output::{fitting, line};
use super::web::{body_text, keep, request_failed, url};
use super::work::lost;
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};
use crate::net::{NetClient, NetRequest, NetResponse, without_user};

/// How much of a body the model receives, as JSON.
const SHOWN: usize = 48 << 10;

/// Headers of an answer that tell the model something it can use.
const TELLING: [&str; 8] =
    ["content-type", "content-length", "etag", "last-modified", "link", "location", "retry-after", "www-authenticate"];

/// Sends a request and shows the answer as it is.
#[derive(Debug)]
pub struct Http {
    spec: ToolSpec,
    net: NetClient,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
}

impl Http {
    /// Sends through `net`.
    #[must_use]
    pub fn new(net: NetClient) -> Self {
        let description = "Sends an HTTP request and returns status, headers and body as they are: for APIs. To read \
            a web page use `web_fetch`. Servers of private networks are not reachable unless a rule allows them. At \
            most five redirects are followed; headers are not sent on to another server.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "description": "An http or https URL." },
                "method": { "type": "string", "description": "GET, POST, PUT, PATCH, DELETE or HEAD. Default: GET." },
                "headers": {
                    "type": "object",
                    "additionalProperties": { "type": "string" },
                    "description": "Headers to send.",
                },
                "body": { "type": "string", "description": "Body to send." },
            },
            "required": ["url"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "http".into(),
            kind: ToolKind::Http,
            description: description.into(),
            input_schema,
            idempotent: false,
            prepares: false,
            mcp: None,
        };
        Self { spec, net }
    }

    async fn request(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let request = read(&call.input)?;
        let (method, address) = (request.method.to_string(), without_user(&request.url));
        let requested = ToolHttpRequested {
            tool_call_id: call.call_id.clone(),
            method: method.clone(),
            url: address.clone(),
            header_keys: request.headers.keys().map(ToString::to_string).collect(),
            ..Default::default()
        };
        context.events.emit(requested).await.map_err(lost)?;
        let response = tokio::select! {
            () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
            response = self.net.send(request) => response.map_err(request_failed)?,
        };
        let artifact_id = keep(call, context, &method, &response).await?;
        let told = ToolHttpResponse {
            tool_call_id: call.call_id.clone(),
            status: response.status.as_u16().into(),
            duration_ms: u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
            body_truncated: response.truncated,
            body_artifact_id: artifact_id.clone(),
            redirects: Some(response.redirects.clone()).filter(|redirects| !redirects.is_empty()),
            ..Default::default()
        };
        context.events.emit(told).await.map_err(lost)?;
        let summary = line(&format!("{method} {address}: {}", response.status.as_u16()));
        Ok(ToolOutput { output: context.redactor.text(&shown(&response)).into_owned().into(), summary, artifact_id })
    }
}

impl Tool for Http {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        let request = read(input)?;
        Ok(Subject::Network { method: request.method.to_string(), url: request.url.to_string() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.request(call, context))
    }
}

fn read(input: &Value) -> Result<NetRequest, BadInput> {
    let input: Input = input::read(input)?;
    let url: Url = url(&input.url)?;
    let method = input.method.as_deref().unwrap_or("GET").to_ascii_uppercase();
    let method = match &*method {
        "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" => {
            Method::from_bytes(method.as_bytes()).map_err(|err| BadInput(err.to_string()))?
        }
        other => return Err(BadInput(format!("`{other}` is not a method this tool sends; use GET, POST, PUT, …"))),
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &input.headers {
        let header = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let (name, mut value) = header.ok_or_else(|| BadInput(format!("`{name}` or its value is no valid header")))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(NetRequest { method, url, headers, body: input.body.map(Into::into) })
}

fn shown(response: &NetResponse) -> String {
    let mut text = format!("HTTP {}\n", response.status);
    if !response.redirects.is_empty() {
        text.push_str(&format!("answered by: {}\n", without_user(&response.url)));
    }
    for name in TELLING {
        for value in response.headers.get_all(name) {
            text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    text.push('\n');
    let body = body_text(response);
    let fits = fitting(&body, SHOWN);
    text = fitting(&text, 8 << 10).to_owned();
    text.push_str(fits);
    if fits.len() < body.len() || response.truncated {
        text.push_str("\n[… only the beginning is shown; what was received is kept as an artifact …]");
    }
    text
}
