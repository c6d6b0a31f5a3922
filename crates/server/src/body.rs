//! JSON bodies: strict, so that two readers of the same bytes see the same request.

mod strict;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::error::ApiError;

/// The body of a request, read strictly.
///
/// No body at all stands for `{}`, so that a request whose members are all optional needs none.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = read(body, app.limits.body_bytes, app.limits.patience).await?;
        if !bytes.is_empty() {
            must_be_json(&parts.headers)?;
        }
        parse(&bytes, app.limits.depth).map(Json)
    }
}

/// The whole body, if it is not longer than `most` and comes in time.
pub(crate) async fn read(body: Body, most: usize, patience: Duration) -> Result<Bytes, ApiError> {
    let whole = tokio::time::timeout(patience, Limited::new(body, most).collect()).await;
    match whole.map_err(|_| too_slow(patience))? {
        Ok(body) => Ok(body.to_bytes()),
        Err(err) if err.is::<LengthLimitError>() => Err(too_long(most)),
        Err(_) => Err(broke_off()),
    }
}

/// The pieces of an upload, as long as each comes in time and all together are not longer than `most`.
pub(crate) fn pieces(body: Body, most: usize, patience: Duration) -> BoxStream<'static, Result<Bytes, ApiError>> {
    let pieces =
        futures_util::stream::try_unfold((body.into_data_stream(), most), move |(mut body, left)| async move {
            let next = tokio::time::timeout(patience, body.next()).await.map_err(|_| too_slow(patience))?;
            let Some(piece) = next.transpose().map_err(|_| broke_off())? else { return Ok(None) };
            let left = left.checked_sub(piece.len()).ok_or_else(|| too_long(most))?;
            Ok(Some((piece, (body, left))))
        });
    Box::pin(pieces)
}

fn too_slow(patience: Duration) -> ApiError {
    ApiError::timeout(format!("the body did not come within {} s", patience.as_secs()))
        .with_status(StatusCode::REQUEST_TIMEOUT)
}

fn too_long(most: usize) -> ApiError {
    ApiError::validation(format!("the body is longer than {most} bytes")).with_status(StatusCode::PAYLOAD_TOO_LARGE)
}

fn broke_off() -> ApiError {
    ApiError::validation("the body broke off")
}

fn must_be_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let (kind, parameters) = given.split_once(';').unwrap_or((given, ""));
    let charset = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("charset="));
    let utf8 = charset.is_none_or(|charset| charset.trim_matches('"').eq_ignore_ascii_case("utf-8"));
    if kind.trim().eq_ignore_ascii_case("application/json") && utf8 {
        return Ok(());
    }
    Err(ApiError::validation("the body must be application/json in UTF-8")
        .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
        .hint("send `Content-Type: application/json`"))
}

/// Reads a body that is there, or `{}`.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, ApiError> {
    let value = match bytes {
        [] => Value::Object(serde_json::Map::new()),
        bytes => strict::parse(bytes, depth)?,
    };
    serde_path_to_error::deserialize(value).map_err(|err| {
        let pointer = pointer(err.path());
        let reason = err.into_inner().to_string();
        let error = ApiError::invalid(pointer, reason);
        if bytes.is_empty() { error.hint("the request has no body") } else { error }
    })
}

/// A path as a JSON Pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Map { key } => format!("/{}", escaped(key)),
            Segment::Seq { index } => format!("/{index}"),
            Segment::Enum { variant } => format!("/{}", escaped(variant)),
            Segment::Unknown => String::new(),
        })
        .collect()
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use r1_protocol::api::{CancelRequest, MessageRequest, NewTask};

    use super::*;

    fn refused<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> String {
        format!("{:?}", parse::<T>(body.as_bytes(), 64).unwrap_err())
    }

    #[test]
    fn an_empty_body_does_where_nothing_is_required() {
        assert_eq!(parse::<CancelRequest>(b"", 64).unwrap(), CancelRequest::default());
        assert!(refused::<MessageRequest>("").contains("no body"));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        assert!(refused::<NewTask>(r#"{"budgett":1}"#).contains(r#"path: "/budgett""#));
        assert!(refused::<NewTask>(r#"{"budget":{"usd":1}}"#).contains(r#"path: "/budget/usd""#));
        assert!(refused::<NewTask>(r#"{"operations":[{"op":"write","path":1}]}"#).contains("/operations/0/path"));
        assert!(refused::<NewTask>(r#"{"a/b~":1}"#).contains("/a~1b~0"));
    }
}
