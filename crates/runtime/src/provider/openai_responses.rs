//! OpenAI's Responses API.

mod request;
mod response;

use serde_json::Value;

use super::http::KeyHeader;
use super::remote::Dialect;
use crate::model::ModelRequest;

/// The Responses API, with nothing stored at the vendor's.
pub(super) struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    type Reader = response::ResponseReader;

    const KEY: KeyHeader = KeyHeader::Bearer;

    fn path(&self, _: &ModelRequest) -> Vec<String> {
        vec!["responses".to_owned()]
    }

    fn body(&self, request: &ModelRequest) -> Value {
        request::body(request)
    }

    fn reader(&self) -> Self::Reader {
        response::ResponseReader::default()
    }
}
