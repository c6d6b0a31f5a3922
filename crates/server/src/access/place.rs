//! Where a request comes from: which socket, by which name, from whose page.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use url::form_urlencoded;

use super::operator::PREFIX;
use crate::error::ApiError;

/// The socket that a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A TCP port of ours.
    Tcp {
        /// Which.
        port: u16,
        /// Whether TLS is spoken there.
        tls: bool,
    },
    /// The unix socket, whose other end belongs to our own user.
    Unix,
}

impl Default for Arrival {
    /// No port is ours: whatever did not say where it came through is refused.
    fn default() -> Self {
        Self::Tcp { port: 0, tls: false }
    }
}

/// The names and origins that are let in.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) allow_hosts: Vec<String>,
    pub(super) allow_origins: Vec<String>,
    pub(super) behind_proxy: bool,
}

/// Whose page a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// No page says that it is its doing.
    Nobody,
    /// One of our own.
    Own,
    /// One that is allowed to ask.
    Foreign,
}

impl Doors {
    /// The name that we were called by, if it is one of ours. A page elsewhere can make a name of its own
    /// lead here, but cannot make its browser send another one.
    pub(super) fn check_host(&self, request: &Parts, arrival: Arrival) -> Result<Authority, ApiError> {
        let refused = || {
            ApiError::permission_denied("this server is not known by that name")
                .hint("use 127.0.0.1 or localhost with the server's port; `r1 serve --allow-host NAME` adds a name")
        };
        let headers = &request.headers;
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(refused());
        }
        let header = headers.get(HOST).and_then(|host| host.to_str().ok()).map(str::parse::<Authority>);
        let authority = match (request.uri.authority(), header) {
            // HTTP/2 names the host in the URI; a header that says otherwise is a lie.
            (Some(named), Some(Ok(header))) if *named == header => header,
            (Some(named), None) => named.clone(),
            (None, Some(Ok(header))) => header,
            (Some(_), Some(_)) | (None, Some(Err(_)) | None) => return Err(refused()),
        };
        let host = authority.host();
        let local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| host.eq_ignore_ascii_case(name));
        let port_fits = match arrival {
            Arrival::Tcp { port, tls } => authority.port_u16().unwrap_or(if tls { 443 } else { 80 }) == port,
            Arrival::Unix => true,
        };
        let named = |name: &String| name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(authority.as_str());
        let plain = !authority.as_str().contains('@');
        let good = plain && ((local && port_fits) || self.allow_hosts.iter().any(named));
        if good { Ok(authority) } else { Err(refused()) }
    }

    /// Whose page asks, if it may.
    pub(super) fn check_origin(
        &self,
        headers: &HeaderMap,
        authority: &Authority,
        arrival: Arrival,
    ) -> Result<From, ApiError> {
        let refused = || {
            ApiError::permission_denied("pages of that origin may not ask this server")
                .hint("`r1 serve --allow-origin ORIGIN` lets one in")
        };
        let mut origins = headers.get_all(ORIGIN).iter();
        let from = match (origins.next(), origins.next()) {
            (None, _) => From::Nobody,
            (Some(_), Some(_)) => return Err(refused()),
            (Some(origin), None) => {
                let origin = origin.to_str().map_err(|_| refused())?;
                if self.own_origins(authority, arrival).iter().any(|own| own.eq_ignore_ascii_case(origin)) {
                    From::Own
                } else if self.allow_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
                    From::Foreign
                } else {
                    return Err(refused());
                }
            }
        };
        let cross_site = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
        if cross_site && from == From::Nobody { Err(refused()) } else { Ok(from) }
    }

    fn own_origins(&self, authority: &Authority, arrival: Arrival) -> Vec<String> {
        let tls = matches!(arrival, Arrival::Tcp { tls: true, .. });
        let mut own = vec![format!("{}://{authority}", if tls { "https" } else { "http" })];
        if self.behind_proxy {
            own.push(format!("https://{authority}"));
        }
        own
    }
}

impl From {
    pub(super) const fn is_own(self) -> bool {
        matches!(self, Self::Own)
    }

    /// The origin, if it is a foreign one.
    pub(super) fn allowed_foreign(self, headers: &HeaderMap) -> Option<HeaderValue> {
        match self {
            Self::Foreign => headers.get(ORIGIN).cloned(),
            Self::Nobody | Self::Own => None,
        }
    }
}

/// URLs are written down in many places: a token in one is refused, so that nobody gets used to it.
pub(super) fn no_token_in(uri: &Uri) -> Result<(), ApiError> {
    let query = uri.query().unwrap_or("");
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let telling = |name: &str| {
        ["token", "access_token", "bearer", "authorization", "api_key"]
            .iter()
            .any(|word| name.eq_ignore_ascii_case(word))
    };
    if uri.path().contains(PREFIX) || pairs.any(|(name, value)| telling(&name) || value.contains(PREFIX)) {
        return Err(ApiError::permission_denied("tokens are not accepted in URLs")
            .hint("send `Authorization: Bearer r1t_…`, and replace that token: it may have been written down"));
    }
    Ok(())
}

/// Whether a browser asks if a page may ask.
pub(super) fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Yes, in the ways that the API has.
pub(super) fn preflight(origin: &HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PATCH"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Accept, Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, Range, \
             traceparent, X-Request-Id",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    share_with(origin, &mut response);
    response
}

/// Lets a page of that origin see the answer.
pub(super) fn share_with(origin: &HeaderValue, response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Accept-Ranges, Content-Range, ETag, Idempotency-Replayed, Retry-After, X-Request-Id"),
    );
}

/// Tells caches that other origins get other answers.
pub(super) fn depends_on_origin(response: &mut Response) {
    response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
}
