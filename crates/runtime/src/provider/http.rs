//! One request to a model API and its streamed answer.

mod failure;

use std::time::Duration;

use bytes::Bytes;
use r1_event::Digest;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;
use zeroize::Zeroizing;

use super::key::Secret;
use super::spec::Timeouts;
use super::{ProviderError, ProviderFailure};

pub(super) use failure::{error_in_stream, malformed};

/// More than the longest answer of any model, and little enough to hold.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// An error that needs more to say is cut.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How a vendor wants to be shown the key.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyHeader {
    /// `authorization: Bearer …`
    Bearer,
    /// Alone, in a header of this name.
    Named(&'static str),
}

impl KeyHeader {
    /// Name and value of the header.
    pub(super) fn with(self, key: &Secret) -> (String, Secret) {
        match self {
            Self::Bearer => {
                let value = Zeroizing::new(format!("Bearer {}", key.expose()));
                ("authorization".to_owned(), Secret::new(&value))
            }
            Self::Named(name) => (name.to_owned(), key.clone()),
        }
    }
}

/// A client of one provider.
#[derive(Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    base_url: Url,
    /// Sensitive ones: nothing that prints a header prints their values.
    headers: HeaderMap,
    secrets: Vec<Secret>,
    timeouts: Timeouts,
}

impl Http {
    /// A client that sends `headers` with each request and lets none of `secrets` into an error.
    pub(super) fn new(
        base_url: &str,
        headers: &[(String, Secret)],
        secrets: Vec<Secret>,
        timeouts: Timeouts,
    ) -> Result<Self, HttpError> {
        let base_url = parse_base_url(base_url)?;
        let mut parsed = HeaderMap::new();
        parsed.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        parsed.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in headers {
            let refused = || HttpError::Header { name: name.clone() };
            let name = HeaderName::try_from(name).map_err(|_| refused())?;
            parsed.insert(name, sensitive(value).ok_or_else(refused)?);
        }
        let mut client = reqwest::Client::builder()
            .user_agent(concat!("r1/", env!("CARGO_PKG_VERSION")))
            // The loop retries, and records that it does.
            .retry(reqwest::retry::never())
            // Whoever is redirected to would get the conversation.
            .redirect(reqwest::redirect::Policy::none());
        if is_this_machine(&base_url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(HttpError::Client)?;
        Ok(Self { client, base_url, headers: parsed, secrets, timeouts })
    }

    /// The API's address.
    pub(super) fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Sends `body` to the base URL with `path` appended and waits for the answer to begin.
    pub(super) async fn post(
        &self,
        path: &[&str],
        query: Option<&str>,
        headers: &[(&'static str, &'static str)],
        body: &Value,
    ) -> Result<Stream<'_>, ProviderError> {
        let mut url = self.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url.set_query(query);
        let mut request = self.client.post(url).headers(self.headers.clone()).body(body.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let wait = self.timeouts.first_byte();
        let response = match tokio::time::timeout(wait, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(err)) => return Err(failure::unreachable(err, 0)),
            Err(_) => return Err(failure::timeout("it began no answer", wait, 0)),
        };
        let status = response.status();
        let mut stream = Stream { http: self, response, hasher: blake3::Hasher::new(), received: 0 };
        if status.is_success() && !stream.is_json() {
            return Ok(stream);
        }
        let headers = stream.response.headers().clone();
        let text = stream.error_text().await;
        Err(self.hide_secrets(failure::of_response(status.as_u16(), &headers, &text)))
    }

    /// The error without a key in it.
    pub(super) fn hide_secrets(&self, mut error: ProviderError) -> ProviderError {
        for secret in &self.secrets {
            error.message = secret.hide_in(&error.message);
        }
        error
    }
}

/// An answer that has begun.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    http: &'a Http,
    response: reqwest::Response,
    hasher: blake3::Hasher,
    received: usize,
}

impl Stream<'_> {
    /// The next bytes; nothing at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let status = self.response.status().as_u16();
        let wait: Duration = self.http.timeouts.silence();
        let chunk = match tokio::time::timeout(wait, self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(err)) => return Err(failure::unreachable(err, status)),
            Err(_) => return Err(failure::timeout("its answer stopped", wait, status)),
        };
        if let Some(chunk) = &chunk {
            self.hasher.update(chunk);
            self.received += chunk.len();
            if self.received > MAX_RESPONSE_BYTES {
                return Err(malformed(format!("the answer is larger than {MAX_RESPONSE_BYTES} bytes")));
            }
        }
        Ok(chunk)
    }

    /// A header that names this request.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name)?.to_str().ok().map(str::to_owned)
    }

    /// BLAKE3 of all bytes so far.
    pub(super) fn hash(&self) -> Digest {
        Digest::new(*self.hasher.finalize().as_bytes())
    }

    /// Some servers answer a request for a stream with an error in a `200 OK`.
    fn is_json(&self) -> bool {
        let content_type = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.is_some_and(|value| value.trim_start().starts_with("application/json"))
    }

    /// The beginning of an error's text; what cannot be read does not hide the status.
    async fn error_text(&mut self) -> String {
        let mut text = Vec::new();
        while text.len() < MAX_ERROR_BYTES
            && let Ok(Some(chunk)) = self.chunk().await
        {
            text.extend_from_slice(&chunk[..chunk.len().min(MAX_ERROR_BYTES - text.len())]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is none.
    #[error("`{given}` is no base URL of a model API: it should look like `https://api.example.com/v1`")]
    BaseUrl {
        /// What was given.
        given: String,
    },
    /// The address holds a secret.
    #[error("the base URL of a model API must not hold user, password, query or fragment: name a key instead")]
    SecretInUrl,
    /// A header cannot be sent.
    #[error("the header `{name}` has a name or value that HTTP does not allow")]
    Header {
        /// Its name.
        name: String,
    },
    /// TLS or the proxy settings of this machine are broken.
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

fn parse_base_url(given: &str) -> Result<Url, HttpError> {
    let url = Url::parse(given).map_err(|_| HttpError::BaseUrl { given: given.to_owned() })?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(HttpError::SecretInUrl);
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(HttpError::BaseUrl { given: given.to_owned() });
    }
    Ok(url)
}

/// A proxy's loopback is not ours.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn sensitive(value: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What a status means for the loop.
pub(super) const fn failure_of(status: u16) -> ProviderFailure {
    match status {
        401 | 403 => ProviderFailure::Unauthorized,
        408 | 409 | 429 | 500..=599 => ProviderFailure::Overloaded,
        200..=299 => ProviderFailure::Malformed,
        _ => ProviderFailure::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(key: &str) -> Http {
        let key = Secret::new(key);
        let headers = [KeyHeader::Bearer.with(&key), ("x-gateway-key".to_owned(), Secret::new("gateway-secret"))];
        Http::new("https://api.example.com/v1/", &headers, vec![key], Timeouts::default()).unwrap()
    }

    #[test]
    fn nothing_prints_a_key() {
        let http = http("sk-very-secret");
        let printed = format!("{http:?}");
        assert!(!printed.contains("very-secret") && !printed.contains("gateway-secret"), "{printed}");
        let error = malformed("you sent sk-very-secret");
        assert_eq!(http.hide_secrets(error).message, "you sent [key]");
    }

    #[test]
    fn an_address_with_a_secret_or_without_a_host_is_refused() {
        for secret in ["https://me:pw@x.example/v1", "https://x.example/v1?key=1", "https://x.example/#k"] {
            assert!(matches!(parse_base_url(secret), Err(HttpError::SecretInUrl)), "{secret}");
        }
        for wrong in ["api.example.com", "file:///etc/passwd", ""] {
            assert!(matches!(parse_base_url(wrong), Err(HttpError::BaseUrl { .. })), "{wrong}");
        }
    }

    #[test]
    fn loopback_needs_no_proxy() {
        let local = |url: &str| is_this_machine(&Url::parse(url).unwrap());
        assert!(local("http://localhost:1") && local("http://127.0.0.1:1") && local("http://[::1]:1"));
        assert!(!local("http://192.168.1.2:1") && !local("https://localhost.example"));
    }
}
