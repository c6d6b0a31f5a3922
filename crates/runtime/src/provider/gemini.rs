//! Google's Gemini API.

mod request;
mod response;

use serde_json::Value;

use super::http::KeyHeader;
use super::remote::Dialect;
use crate::model::ModelRequest;

/// `streamGenerateContent` of the Gemini API.
pub(super) struct Gemini;

impl Dialect for Gemini {
    type Reader = response::ContentReader;

    const KEY: KeyHeader = KeyHeader::Named("x-goog-api-key");
    const QUERY: Option<&'static str> = Some("alt=sse");

    fn path(&self, request: &ModelRequest) -> Vec<String> {
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        vec!["models".to_owned(), format!("{model}:streamGenerateContent")]
    }

    fn body(&self, request: &ModelRequest) -> Value {
        request::body(request)
    }

    fn reader(&self) -> Self::Reader {
        response::ContentReader::default()
    }
}
