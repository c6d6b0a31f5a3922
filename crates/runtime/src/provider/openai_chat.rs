//! OpenAI's Chat Completions API, as OpenAI and everybody else speaks it.

mod request;
mod response;

use serde_json::Value;
use url::Url;

use super::http::KeyHeader;
use super::remote::Dialect;
use crate::model::ModelRequest;

/// Chat Completions.
pub(super) struct OpenaiChat {
    /// OpenAI renamed the limit and refuses the old name; the others know the old one.
    limit_name: &'static str,
}

impl OpenaiChat {
    pub(super) fn at(base_url: &Url) -> Self {
        let host = base_url.host_str().unwrap_or_default();
        let is_openai = ["openai.com", "openai.azure.com"]
            .iter()
            .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
        Self { limit_name: if is_openai { "max_completion_tokens" } else { "max_tokens" } }
    }
}

impl Dialect for OpenaiChat {
    type Reader = response::ChatReader;

    const KEY: KeyHeader = KeyHeader::Bearer;

    fn path(&self, _: &ModelRequest) -> Vec<String> {
        vec!["chat".to_owned(), "completions".to_owned()]
    }

    fn body(&self, request: &ModelRequest) -> Value {
        request::body(request, self.limit_name)
    }

    fn reader(&self) -> Self::Reader {
        response::ChatReader::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_has_the_name_that_the_server_knows() {
        let name = |url: &str| OpenaiChat::at(&Url::parse(url).unwrap()).limit_name;
        assert_eq!(name("https://api.openai.com/v1"), "max_completion_tokens");
        assert_eq!(name("https://me.openai.azure.com/openai/v1"), "max_completion_tokens");
        assert_eq!(name("http://localhost:11434/v1"), "max_tokens");
        assert_eq!(name("https://notopenai.com/v1"), "max_tokens");
    }
}
