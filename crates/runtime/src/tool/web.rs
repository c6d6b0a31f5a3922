//! What the tools for the web have in common.

use r1_protocol::data::{ArtifactKind, Object};
use reqwest::header::CONTENT_ENCODING;
use serde_json::json;
use url::Url;

use super::output::line;
use super::work::lost;
use super::{BadInput, Failure, ToolCall, ToolContext, ToolError};
use crate::artifact::NewArtifact;
use crate::net::{NetError, NetResponse, without_user};

/// A URL that can be talked to.
pub(super) fn url(text: &str) -> Result<Url, BadInput> {
    let url = Url::parse(text).map_err(|err| BadInput(format!("`{text}` is not a URL: {err}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(BadInput(format!("`{other}:` is not talked to; give an http or https URL"))),
    }
}

/// The body as text, or a word about what it is instead.
pub(super) fn body_text(response: &NetResponse) -> String {
    let encoding = response.headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return format!("[{} bytes, compressed with {encoding} although we did not ask for it]", response.body.len());
    }
    match std::str::from_utf8(&response.body) {
        Ok(text) => text.to_owned(),
        Err(err) if err.error_len().is_none() && response.truncated => {
            String::from_utf8_lossy(&response.body[..err.valid_up_to()]).into_owned()
        }
        Err(_) if is_text(&response.mime()) => String::from_utf8_lossy(&response.body).into_owned(),
        Err(_) => format!("[{} bytes of {}]", response.body.len(), response.mime()),
    }
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || mime.ends_with("json") || mime.ends_with("xml")
}

/// Stores the body; an answer without one leaves nothing.
pub(super) async fn keep(
    call: &ToolCall,
    context: &ToolContext,
    method: &str,
    response: &NetResponse,
) -> Result<Option<String>, ToolError> {
    if response.body.is_empty() {
        return Ok(None);
    }
    let address = without_user(&response.url);
    let metadata = json!({
        "url": address,
        "method": method,
        "status": response.status.as_u16(),
        "header_keys": response.headers.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "truncated": response.truncated,
    });
    let new = NewArtifact {
        kind: ArtifactKind::FetchedResource,
        summary: line(&format!("{method} {address}")),
        created_by_event_id: call.event_id.clone(),
        tool_call_id: Some(call.call_id.clone()),
        mime: Some(response.mime()).filter(|mime| !mime.is_empty()),
        metadata: Object::from_iter(metadata.as_object().cloned().unwrap_or_default()),
        ..Default::default()
    };
    let stored = context.artifacts.put(new, response.body.clone()).await.map_err(lost)?;
    Ok(Some(stored.id))
}

/// No answer came.
pub(super) fn request_failed(err: NetError) -> ToolError {
    let failure = match &err {
        NetError::Timeout(limit) => {
            Failure::TimedOut { after_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
        }
        NetError::Private { .. } => Failure::Denied,
        NetError::Scheme(_) | NetError::Redirects | NetError::BadRedirect(_) | NetError::Failed(_) => Failure::Tool,
    };
    ToolError { failure, ..ToolError::tool(err.to_string()) }
}
