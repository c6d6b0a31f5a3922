//! Talking to servers on an agent's behalf, without being led to places that only we can reach.
//!
//! A name is resolved once, its addresses are checked, and the connection goes to a checked address: a
//! name that answers differently the second time gains nothing. Every redirect is checked again.
//! Addresses that are not of the public internet are refused unless the host is one that the operator
//! allowed. Nothing is decompressed, so no answer is larger than what was received.

pub mod address;
mod guard;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, LOCATION};
use reqwest::{Client, Method, Proxy, StatusCode, redirect};
use url::Url;

use guard::{Guard, Refusal};
pub use guard::{ResolveNames, SystemNames};

/// The most redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;

/// Bytes of a media type: a type and a subtype of 127 each (RFC 6838).
const MAX_MIME: usize = 255;

/// How servers may be talked to.
#[derive(Clone, Debug)]
pub struct NetConfig {
    /// Hosts (`localhost`, `10.0.0.7`, with or without `:port`) that may have addresses of a private network.
    pub allow_private: Vec<String>,
    /// A proxy for all requests; those of the environment are not used.
    pub proxy: Option<Url>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a request may take, redirects included.
    pub timeout: Duration,
    /// The most that is received of a body.
    pub max_body: usize,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            allow_private: Vec::new(),
            proxy: None,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            max_body: 8 << 20,
        }
    }
}

impl NetConfig {
    /// The same, where also the host of `url` may be on a private network: for servers that the operator named.
    #[must_use]
    pub fn with_private(mut self, url: &Url) -> Self {
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
            self.allow_private.push(format!("{host}:{port}"));
        }
        self
    }
}

/// A request to a server.
#[derive(Clone, Debug)]
pub struct NetRequest {
    /// GET, POST, …
    pub method: Method,
    /// Where.
    pub url: Url,
    /// With these headers.
    pub headers: HeaderMap,
    /// And this body.
    pub body: Option<Bytes>,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct NetResponse {
    /// 200, 404, …
    pub status: StatusCode,
    /// Who answered in the end.
    pub url: Url,
    /// The answer's headers.
    pub headers: HeaderMap,
    /// As much of the body as is received.
    pub body: Bytes,
    /// Whether there was more.
    pub truncated: bool,
    /// Where we were sent on the way, without user and password.
    pub redirects: Vec<String>,
    /// From the request to the end of the body.
    pub duration: Duration,
}

impl NetResponse {
    /// The body's type, without parameters and in lower case; empty if nothing says which. What is longer than
    /// any type can be says nothing: it would stand in the log and in receipts.
    #[must_use]
    pub fn mime(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mime = value.split(';').next().unwrap_or_default().trim();
        if mime.len() <= MAX_MIME { mime.to_ascii_lowercase() } else { String::new() }
    }
}

/// A request that got no answer.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The scheme is neither `http` nor `https`.
    #[error("`{0}:` is not a scheme that is talked to; use http or https")]
    Scheme(String),
    /// An address that only this machine or its network can reach.
    #[error("{host} is {what}, which is not reachable from here unless a rule allows this host")]
    Private {
        /// As the URL names it.
        host: String,
        /// Which address.
        what: String,
    },
    /// Too many redirects.
    #[error("more than {MAX_REDIRECTS} redirects")]
    Redirects,
    /// A redirect to something that is no URL.
    #[error("the server redirects to `{0}`, which is not a usable URL")]
    BadRedirect(String),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The network, the server or TLS failed.
    #[error("{0}")]
    Failed(String),
}

/// Sends requests.
#[derive(Clone, Debug)]
pub struct NetClient {
    client: Client,
    guard: Arc<Guard>,
    config: NetConfig,
}

impl NetClient {
    /// With the machine's own name resolution.
    pub fn new(config: NetConfig) -> Result<Self, NetError> {
        Self::with_names(config, Arc::new(SystemNames))
    }

    /// With another one.
    pub fn with_names(config: NetConfig, names: Arc<dyn ResolveNames>) -> Result<Self, NetError> {
        let guard = Arc::new(Guard::new(names, &config.allow_private));
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(config.connect_timeout)
            .referer(false)
            .user_agent(concat!("r1/", env!("CARGO_PKG_VERSION")));
        let builder = match &config.proxy {
            // The proxy is the operator's choice, wherever it is; where it connects to is checked before.
            Some(proxy) => builder.proxy(Proxy::all(proxy.clone()).map_err(|err| NetError::Failed(story(&err)))?),
            None => builder.no_proxy().dns_resolver(Arc::clone(&guard)),
        };
        let client = builder.build().map_err(|err| NetError::Failed(story(&err)))?;
        Ok(Self { client, guard, config })
    }

    /// Sends a request and follows where it leads. Dropping the future ends it.
    pub async fn send(&self, request: NetRequest) -> Result<NetResponse, NetError> {
        let limit = self.config.timeout;
        tokio::time::timeout(limit, self.follow(request)).await.unwrap_or(Err(NetError::Timeout(limit)))
    }

    async fn follow(&self, mut request: NetRequest) -> Result<NetResponse, NetError> {
        let began = Instant::now();
        let mut redirects = Vec::new();
        loop {
            let response = self.send_once(&request).await?;
            let Some(target) = redirect_target(&request.url, &response)? else {
                return self.receive(response, request.url, redirects, began).await;
            };
            if redirects.len() == MAX_REDIRECTS {
                return Err(NetError::Redirects);
            }
            redirects.push(without_user(&target));
            request = redirected(request, target, response.status());
        }
    }

    async fn send_once(&self, request: &NetRequest) -> Result<reqwest::Response, NetError> {
        self.guard.check_url(&request.url)?;
        if self.config.proxy.is_some() {
            self.guard.check_names(&request.url).await?;
        }
        let mut builder =
            self.client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(explain)
    }

    async fn receive(
        &self,
        mut response: reqwest::Response,
        url: Url,
        redirects: Vec<String>,
        began: Instant,
    ) -> Result<NetResponse, NetError> {
        let mut body = BytesMut::new();
        let mut truncated = false;
        while let Some(piece) = response.chunk().await.map_err(explain)? {
            let room = self.config.max_body - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                truncated = true;
                break;
            }
        }
        Ok(NetResponse {
            status: response.status(),
            url,
            headers: std::mem::take(response.headers_mut()),
            body: body.freeze(),
            truncated,
            redirects,
            duration: began.elapsed(),
        })
    }
}

/// A URL as it may be told: without user and password.
#[must_use]
pub fn without_user(url: &Url) -> String {
    let mut url = url.clone();
    // Only URLs without a host refuse this, and those have no user.
    let _no_host = url.set_username("").and_then(|()| url.set_password(None));
    url.into()
}

fn redirect_target(from: &Url, response: &reqwest::Response) -> Result<Option<Url>, NetError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
    let text = String::from_utf8_lossy(location.as_bytes()).into_owned();
    match from.join(&text) {
        Ok(url) => Ok(Some(url)),
        Err(_) => Err(NetError::BadRedirect(text)),
    }
}

fn redirected(mut request: NetRequest, target: Url, status: StatusCode) -> NetRequest {
    if request.url.origin() != target.origin() {
        // What was meant for one server is not told to another, whatever the header's name is.
        let kept = [CONTENT_TYPE, reqwest::header::ACCEPT];
        let told: Vec<_> = request.headers.keys().filter(|name| !kept.contains(name)).cloned().collect();
        for name in told.into_iter().chain([AUTHORIZATION, COOKIE]) {
            request.headers.remove(name);
        }
    }
    let asks_again =
        status == StatusCode::SEE_OTHER || (request.method == Method::POST && matches!(status.as_u16(), 301 | 302));
    if asks_again && request.method != Method::HEAD {
        request.method = Method::GET;
        request.body = None;
        request.headers.remove(CONTENT_TYPE);
        request.headers.remove(CONTENT_LENGTH);
    }
    request.url = target;
    request
}

fn explain(err: reqwest::Error) -> NetError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&err);
    while let Some(source) = cause {
        if let Some(Refusal { host, what }) = source.downcast_ref() {
            return NetError::Private { host: host.clone(), what: what.clone() };
        }
        cause = source.source();
    }
    NetError::Failed(story(&err.without_url()))
}

fn story(err: &dyn std::error::Error) -> String {
    let mut story = err.to_string();
    let mut cause = err.source();
    while let Some(source) = cause {
        story = format!("{story}: {source}");
        cause = source.source();
    }
    story
}
