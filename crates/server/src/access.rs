//! Who comes in, and what they may.
//!
//! `Access::admit` is called before anything of a request is read. In this order: no token in the URL, a
//! `Host` that is ours, an `Origin` that is ours or allowed, then who it is: by the socket that it came
//! through, by a bearer token, or by the cookie of a browser session. Whether that is enough is for the row of
//! the route to say (`routes/gate.rs`).

mod caller;
mod grant;
mod operator;
mod place;
mod secret;
mod session;
mod tickets;
pub mod tokens;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use r1_protocol::data::Via;
use r1_store::SharedStore;

use crate::app::App;
use crate::error::ApiError;

pub(crate) use caller::{Caller, Identity};
pub(crate) use grant::Cap;
pub use grant::{Caps, Grant, Role, UnknownGrant};
pub(crate) use operator::PREFIX as TOKEN_PREFIX;
pub use operator::{OperatorToken, OperatorTokenError};
pub(crate) use place::Arrival;
use place::Doors;
use session::Sessions;
pub(crate) use session::{COOKIE_NAME, LIFETIME as SESSION_LIFETIME};
pub(crate) use tickets::LIFETIME as TICKET_LIFETIME;
use tickets::Tickets;
pub use tokens::{TokenError, TokenInfo};

/// Everything that decides who may come in.
pub(crate) struct Access {
    operator: OperatorToken,
    /// What the log calls whoever holds the operator's token or owns the socket.
    operator_name: String,
    store: SharedStore,
    pub(crate) sessions: Sessions,
    pub(crate) tickets: Tickets,
    doors: Doors,
}

/// Who may come in.
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// The operator's token.
    pub operator: OperatorToken,
    /// What the log calls the operator.
    pub operator_name: String,
    /// Names, beside those of this machine, that the server is reached by.
    pub allow_hosts: Vec<String>,
    /// Origins, beside the server's own, whose pages may ask.
    pub allow_origins: Vec<String>,
    /// Whether a proxy stands before us and speaks TLS.
    pub behind_proxy: bool,
}

/// What was found out about a request.
struct Admitted {
    identity: Option<Identity>,
    /// The foreign origin whose page asks, and may.
    cors: Option<axum::http::HeaderValue>,
}

impl Access {
    pub(crate) fn new(settings: AccessSettings, store: SharedStore) -> Self {
        let AccessSettings { operator, operator_name, allow_hosts, allow_origins, behind_proxy } = settings;
        let doors = Doors { allow_hosts, allow_origins, behind_proxy };
        Self { operator, operator_name, store, sessions: Sessions::default(), tickets: Tickets::default(), doors }
    }

    /// Whether browsers reach this socket by TLS.
    pub(crate) fn is_secure(&self, arrival: Arrival) -> bool {
        self.doors.behind_proxy || matches!(arrival, Arrival::Tcp { tls: true, .. })
    }

    async fn admit(&self, request: &Parts) -> Result<Admitted, ApiError> {
        place::no_token_in(&request.uri)?;
        let arrival = request.extensions.get::<Arrival>().copied().unwrap_or_default();
        let headers = &request.headers;
        if arrival == Arrival::Unix {
            // Only the owner's programs can open the socket, and no browser can.
            let identity = self.operator_as(Via::Http, headers);
            return Ok(Admitted { identity: Some(identity), cors: None });
        }
        let authority = self.doors.check_host(request, arrival)?;
        let from = self.doors.check_origin(headers, &authority, arrival)?;
        let cors = from.allowed_foreign(headers);
        let identity = match headers.get(AUTHORIZATION) {
            Some(given) => Some(self.by_token(given.to_str().unwrap_or(""), headers).await?),
            // A foreign page has no part in the browser's session here.
            None if cors.is_some() => None,
            None => self.by_cookie(headers, &request.method, &from)?,
        };
        Ok(Admitted { identity, cors })
    }

    fn operator_as(&self, via: Via, headers: &HeaderMap) -> Identity {
        Identity::new("operator", &self.operator_name, Grant::Caps(Caps::ALL), via, headers)
    }

    async fn by_token(&self, authorization: &str, headers: &HeaderMap) -> Result<Identity, ApiError> {
        let (scheme, token) = authorization.split_once(' ').unwrap_or((authorization, ""));
        let token = token.trim();
        if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
            return Err(
                ApiError::unauthorized("only bearer tokens are accepted").hint("send `Authorization: Bearer r1t_…`")
            );
        }
        if self.operator.is(token) {
            return Ok(self.operator_as(Via::Http, headers));
        }
        match tokens::find(&self.store, token).await? {
            Some(known) => Ok(Identity::new(&known.id, &known.name, known.grant, Via::Http, headers)),
            None => Err(ApiError::unauthorized("the token is not known here, or its time is over")
                .hint("the operator's token is in the file `token` of R1's home; `r1 ctl token create` makes others")),
        }
    }

    fn by_cookie(
        &self,
        headers: &HeaderMap,
        method: &Method,
        from: &place::From,
    ) -> Result<Option<Identity>, ApiError> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let session = pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value);
        let Some(mut identity) = session.and_then(|session| self.sessions.touch(session, Instant::now())) else {
            return Ok(None);
        };
        if !method.is_safe() && !from.is_own() {
            return Err(ApiError::permission_denied("with the cookie, changes need the `Origin` of this server"));
        }
        identity.name_client(headers);
        Ok(Some(identity))
    }
}

/// The layer that finds out who asks.
pub(crate) async fn identify(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match app.access.admit(&parts).await {
        Ok(Admitted { cors: Some(origin), .. }) if place::is_preflight(&parts) => place::preflight(&origin),
        Ok(Admitted { identity, cors }) => {
            if let Some(identity) = identity {
                parts.extensions.insert(identity);
            }
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if let Some(origin) = cors {
                place::share_with(&origin, &mut response);
            }
            response
        }
        Err(error) => error.into_response(),
    };
    place::depends_on_origin(&mut response);
    response
}

/// The answer to nobody we know.
pub(crate) fn no_token() -> ApiError {
    ApiError::unauthorized("this needs a token")
        .hint("send `Authorization: Bearer r1t_…`; the operator's token is in the file `token` of R1's home")
}
