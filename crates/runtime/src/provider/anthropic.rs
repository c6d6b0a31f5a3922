//! Anthropic's Messages API.

mod request;
mod response;

use serde_json::Value;

use super::http::KeyHeader;
use super::remote::Dialect;
use crate::model::ModelRequest;

/// The Messages API.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    type Reader = response::MessageReader;

    const KEY: KeyHeader = KeyHeader::Named("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];
    const REQUEST_ID: &'static str = "request-id";

    fn path(&self, _: &ModelRequest) -> Vec<String> {
        vec!["messages".to_owned()]
    }

    fn body(&self, request: &ModelRequest) -> Value {
        request::body(request)
    }

    fn reader(&self) -> Self::Reader {
        response::MessageReader::default()
    }
}
