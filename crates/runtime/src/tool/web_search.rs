//! Searching the web, with an engine of the user's choice.

pub mod engine;

use futures_util::future::BoxFuture;
use r1_protocol::data::{ArtifactKind, Object, ToolKind, ToolWebSearchRequested, ToolWebSearchResponse, WebSearchHit};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output::{Listing, line};
use super::web::request_failed;
use super::work::lost;
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};
use crate::artifact::NewArtifact;
use crate::net::NetClient;
use engine::SearchEngine;

/// The most hits that are told.
const MAX_HITS: usize = 50;
/// How many are asked for if the call does not say.
const DEFAULT_HITS: usize = 10;

/// Searches the web.
pub struct WebSearch {
    spec: ToolSpec,
    service: Option<Service>,
}

/// An engine, and the way to it.
pub struct Service {
    /// Whom to ask.
    pub engine: Box<dyn SearchEngine>,
    /// Through what; its own client, because an engine may be on a private network.
    pub net: NetClient,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    query: String,
    count: Option<usize>,
}

impl WebSearch {
    /// With this engine; without one each call fails and says what to set.
    #[must_use]
    pub fn new(service: Option<Service>) -> Self {
        let description = "Searches the web and returns titles, addresses and snippets. Read a page with `web_fetch`.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to search for." },
                "count": { "type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": "How many hits. Default: 10." },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "web_search".into(),
            kind: ToolKind::WebSearch,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Self { spec, service }
    }

    async fn search(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input = read(&call.input)?;
        let Some(Service { engine, net }) = &self.service else {
            return Err(ToolError::tool(
                "no search engine is configured: set `web_search.provider` in r1.toml to `brave`, `tavily` or `searxng`",
            ));
        };
        let requested = ToolWebSearchRequested {
            tool_call_id: call.call_id.clone(),
            query: input.query.clone(),
            provider: engine.name().to_owned(),
            ..Default::default()
        };
        context.events.emit(requested).await.map_err(lost)?;
        let count = input.count.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
        let response = tokio::select! {
            () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
            response = net.send(engine.request(&input.query, count)) => response.map_err(request_failed)?,
        };
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let mut hits = engine.hits(&answer);
        hits.truncate(count);
        let results_artifact_id = keep(call, context, &input.query, engine.name(), &hits).await?;
        let told = ToolWebSearchResponse {
            tool_call_id: call.call_id.clone(),
            status: response.status.as_u16().into(),
            duration_ms: u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
            hits: hits.clone(),
            results_artifact_id: results_artifact_id.clone(),
            ..Default::default()
        };
        context.events.emit(told).await.map_err(lost)?;
        if !response.status.is_success() {
            let message =
                format!("the search engine {} answered with status {}", engine.name(), response.status.as_u16());
            return Err(ToolError { artifact_id: results_artifact_id, ..ToolError::tool(message) });
        }
        let summary = line(&format!("{} hits for {}", hits.len(), input.query));
        let output = context.redactor.text(&listed(&hits)).into_owned().into();
        Ok(ToolOutput { output, summary, artifact_id: results_artifact_id })
    }
}

impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        read(input)?;
        // Not the engine's own address: a replay elsewhere, with another engine or none, must see the same.
        Ok(Subject::Network { method: "GET".to_owned(), url: "search://web/".to_owned() })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.search(call, context))
    }
}

fn read(input: &Value) -> Result<Input, BadInput> {
    let input: Input = input::read(input)?;
    if input.query.trim().is_empty() {
        return Err(BadInput("`query` is empty; say what to search for".into()));
    }
    Ok(input)
}

fn listed(hits: &[WebSearchHit]) -> String {
    let mut listing = Listing::new();
    for (number, hit) in hits.iter().enumerate() {
        let snippet = hit.snippet.split_whitespace().collect::<Vec<_>>().join(" ");
        if !listing.push(&format!("{}. {}\n   {}\n   {snippet}", number + 1, hit.title, hit.url)) {
            break;
        }
    }
    listing.finish(hits.is_empty().then_some("nothing found"))
}

async fn keep(
    call: &ToolCall,
    context: &ToolContext,
    query: &str,
    provider: &str,
    hits: &[WebSearchHit],
) -> Result<Option<String>, ToolError> {
    if hits.is_empty() {
        return Ok(None);
    }
    let body = serde_json::to_vec_pretty(hits).map_err(lost)?;
    let metadata = json!({ "query": query, "provider": provider, "result_count": hits.len() });
    let new = NewArtifact {
        kind: ArtifactKind::SearchResults,
        summary: line(&format!("results for {query}")),
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        mime: Some("application/json".to_owned()),
        metadata: Object::from_iter(metadata.as_object().cloned().unwrap_or_default()),
        ..Default::default()
    };
    Ok(Some(context.artifacts.put(new, body).await.map_err(lost)?.id))
}
