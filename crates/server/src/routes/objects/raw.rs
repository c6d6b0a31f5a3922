//! The bytes of an artifact.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use r1_event::Digest;
use r1_protocol::api::Artifact;
use r1_store::{BlobContent, BlobError, BlobInfo};

use super::super::PathIds;
use super::artifacts::found;
use super::disposition::attachment;
use super::range::Wanted;
use crate::access::{Caller, Cap};
use crate::app::App;
use crate::error::ApiError;
use crate::stream_body;

pub(super) async fn raw(
    State(app): State<Arc<App>>,
    method: Method,
    caller: Caller,
    ids: PathIds,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let artifact = found(&app, ids.id("artifact_id")?).await?;
    if artifact.contains_secrets && !caller.may(Cap::Write) {
        return Err(ApiError::permission_denied(
            "this artifact seems to hold a secret; its bytes need the cap `write`",
        ));
    }
    let (digest, size) = stored(&app, &artifact).await?;
    let etag = format!("\"blake3:{digest}\"");
    let range = match Wanted::of(&headers, &etag, size) {
        Wanted::Unchanged => return Ok(dressed(Body::empty(), StatusCode::NOT_MODIFIED, &artifact, &etag)),
        Wanted::Unsatisfiable => {
            return Err(ApiError::validation("the range is not one range of bytes that the artifact has")
                .with_status(StatusCode::RANGE_NOT_SATISFIABLE)
                .hint(format!("it has {size} bytes; ask for one range, as in `bytes=0-99`"))
                .header(CONTENT_RANGE, value(&format!("bytes */{size}"))));
        }
        Wanted::Whole => None,
        Wanted::Part(range) => Some(range),
    };
    let sent = range.clone().unwrap_or(0..size);
    let body = if method == Method::HEAD { Body::empty() } else { body(&app, digest, sent.clone()).await? };
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = dressed(body, status, &artifact, &etag);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(sent.end - sent.start));
    if let Some(Range { start, end }) = range {
        headers.insert(CONTENT_RANGE, value(&format!("bytes {start}-{}/{size}", end - 1)));
    }
    Ok(response)
}

/// The blob of an artifact, and how long it is.
async fn stored(app: &App, artifact: &Artifact) -> Result<(Digest, u64), ApiError> {
    let gone = || ApiError::not_found(format!("the body of artifact {} is not there any more", artifact.id));
    let digest = artifact.digest.strip_prefix("blake3:").and_then(|hex| hex.parse().ok()).ok_or_else(gone)?;
    let found = app.engine.store().blobs().stat(digest).await?;
    let BlobInfo { hash, size } = found.ok_or_else(gone)?;
    Ok((hash, size))
}

/// A part of a blob. The whole blob is read, for only then its hash can be checked; the last piece goes out
/// when it was.
async fn body(app: &App, digest: Digest, range: Range<u64>) -> Result<Body, ApiError> {
    let content = app.engine.store().blobs().get(digest).await.map_err(|err| match err {
        BlobError::NotFound { .. } => ApiError::not_found("the body of this artifact is not there any more"),
        err => err.into(),
    })?;
    let mut pieces = Box::pin(checked(content, range));
    // Small bodies are checked before anything is answered.
    match pieces.next().await {
        None => Ok(Body::empty()),
        Some(Ok(first)) => Ok(stream_body::of(stream::iter([Ok(first)]).chain(pieces))),
        Some(Err(err)) => Err(ApiError::internal(&err)),
    }
}

fn checked(content: BlobContent, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    struct State {
        content: BlobContent,
        range: Range<u64>,
        at: u64,
        held: Option<Bytes>,
    }
    let state = State { content, range, at: 0, held: None };
    stream::unfold(state, |mut state| async move {
        while let Some(piece) = state.content.next().await {
            let piece = match piece {
                Ok(piece) => piece,
                Err(err) => {
                    tracing::error!(error = %err, "an artifact's body is damaged");
                    state.held = None;
                    return Some((Err(err), state));
                }
            };
            let begins = state.at;
            state.at += piece.len() as u64;
            let part = within(&piece, begins, &state.range);
            if !part.is_empty()
                && let Some(before) = state.held.replace(part)
            {
                return Some((Ok(before), state));
            }
        }
        state.held.take().map(|last| (Ok(last), state))
    })
}

/// What of a piece that begins at `at` is in the range.
fn within(piece: &Bytes, at: u64, range: &Range<u64>) -> Bytes {
    let len = piece.len() as u64;
    let (from, to) = (range.start.clamp(at, at + len) - at, range.end.clamp(at, at + len) - at);
    match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) if from < to => piece.slice(from..to),
        _ => Bytes::new(),
    }
}

/// With the headers that all answers of an artifact's bytes have. They come from anywhere, so no browser is to
/// take them for a page of ours.
fn dressed(body: Body, status: StatusCode, artifact: &Artifact, etag: &str) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(ETAG, value(etag));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, immutable"));
    if status == StatusCode::NOT_MODIFIED {
        return response;
    }
    let mime = artifact.mime.as_deref().and_then(|mime| HeaderValue::from_str(mime).ok());
    headers.insert(CONTENT_TYPE, mime.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_DISPOSITION, attachment(artifact.name.as_deref().unwrap_or(&artifact.id)));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A header of numbers and hex.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}
