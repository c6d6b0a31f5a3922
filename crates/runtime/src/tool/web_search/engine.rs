//! Search engines, each with its own way to ask and to answer.

use r1_protocol::data::WebSearchHit;
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use url::Url;

use crate::net::NetRequest;

/// Asks one service.
pub trait SearchEngine: Send + Sync {
    /// Its name in the log.
    fn name(&self) -> &str;

    /// Where it is asked.
    fn endpoint(&self) -> &Url;

    /// The request for `query`, for about `count` hits.
    fn request(&self, query: &str, count: usize) -> NetRequest;

    /// What it found, best first.
    fn hits(&self, answer: &Value) -> Vec<WebSearchHit>;
}

/// An engine that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SearchSetupError {
    /// Its address is no URL.
    #[error("`{0}` is not a URL")]
    Url(String),
    /// Its key cannot be sent.
    #[error("the key of the search engine holds characters that cannot be sent")]
    Key,
}

/// An engine by its name in the settings: `brave`, `tavily` or `searxng`. `url` is needed for `searxng`, and
/// replaces the address of the others; `None` if there is no engine of that name.
pub fn by_name(name: &str, url: Option<&str>, key: &str) -> Option<Result<Box<dyn SearchEngine>, SearchSetupError>> {
    let default = match name {
        "brave" => "https://api.search.brave.com/res/v1/web/search",
        "tavily" => "https://api.tavily.com/search",
        "searxng" => "http://localhost:8888/search",
        _ => return None,
    };
    Some(build(name, url.unwrap_or(default), key))
}

fn build(name: &str, url: &str, key: &str) -> Result<Box<dyn SearchEngine>, SearchSetupError> {
    let endpoint = Url::parse(url).map_err(|_| SearchSetupError::Url(url.to_owned()))?;
    let secret = |text: &str| {
        let mut value = HeaderValue::from_str(text).map_err(|_| SearchSetupError::Key)?;
        value.set_sensitive(true);
        Ok(value)
    };
    Ok(match name {
        "brave" => Box::new(Brave { endpoint, key: secret(key)? }),
        "tavily" => Box::new(Tavily { endpoint, key: secret(&format!("Bearer {key}"))? }),
        _ => Box::new(Searxng { endpoint }),
    })
}

/// Brave's web search.
struct Brave {
    endpoint: Url,
    key: HeaderValue,
}

impl SearchEngine for Brave {
    fn name(&self) -> &str {
        "brave"
    }

    fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    fn request(&self, query: &str, count: usize) -> NetRequest {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("count", &count.min(20).to_string());
        let key = (HeaderName::from_static("x-subscription-token"), self.key.clone());
        get(url, [key])
    }

    fn hits(&self, answer: &Value) -> Vec<WebSearchHit> {
        hits(&answer["web"]["results"], "description")
    }
}

/// Tavily, a search service for agents.
struct Tavily {
    endpoint: Url,
    key: HeaderValue,
}

impl SearchEngine for Tavily {
    fn name(&self) -> &str {
        "tavily"
    }

    fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    fn request(&self, query: &str, count: usize) -> NetRequest {
        let body = json!({ "query": query, "max_results": count.min(20) });
        let headers = [(AUTHORIZATION, self.key.clone()), (CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let body = Some(body.to_string().into());
        NetRequest { method: Method::POST, url: self.endpoint.clone(), headers: HeaderMap::from_iter(headers), body }
    }

    fn hits(&self, answer: &Value) -> Vec<WebSearchHit> {
        hits(&answer["results"], "content")
    }
}

/// A SearXNG of one's own, with its JSON format turned on.
struct Searxng {
    endpoint: Url,
}

impl SearchEngine for Searxng {
    fn name(&self) -> &str {
        "searxng"
    }

    fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    fn request(&self, query: &str, _: usize) -> NetRequest {
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        get(url, [])
    }

    fn hits(&self, answer: &Value) -> Vec<WebSearchHit> {
        hits(&answer["results"], "content")
    }
}

fn get<const N: usize>(url: Url, headers: [(HeaderName, HeaderValue); N]) -> NetRequest {
    let mut headers = HeaderMap::from_iter(headers);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    NetRequest { method: Method::GET, url, headers, body: None }
}

/// Results as nearly every engine lists them; only the snippet has many names.
fn hits(results: &Value, snippet: &str) -> Vec<WebSearchHit> {
    let text = |result: &Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let results = results.as_array().map(Vec::as_slice).unwrap_or_default();
    let hits = results.iter().map(|result| WebSearchHit {
        title: text(result, "title"),
        url: text(result, "url"),
        snippet: text(result, snippet),
    });
    hits.filter(|hit| !hit.url.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_is_asked_and_read_in_its_own_way() {
        let result =
            |snippet: &str| json!([{ "title": "T", "url": "https://x.test/", snippet: "S" }, { "title": "no url" }]);
        for (name, answer) in [
            ("brave", json!({ "web": { "results": result("description") } })),
            ("tavily", json!({ "results": result("content") })),
            ("searxng", json!({ "results": result("content") })),
        ] {
            let engine = by_name(name, None, "key").unwrap().unwrap();
            let request = engine.request("a b&c", 5);
            let sent = format!("{}{}", request.url, String::from_utf8_lossy(&request.body.unwrap_or_default()));
            assert!(sent.contains("a+b%26c") || sent.contains("a b&c"), "{sent}");
            assert!(!format!("{:?}", request.headers).contains("key\""), "keys are marked as sensitive");
            let hits = engine.hits(&answer);
            assert_eq!(hits.len(), 1);
            assert_eq!((&*hits[0].title, &*hits[0].url, &*hits[0].snippet), ("T", "https://x.test/", "S"));
            assert!(engine.hits(&json!("nonsense")).is_empty());
        }
        assert!(by_name("altavista", None, "").is_none());
    }
}
