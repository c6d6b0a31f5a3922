//! Who asks, and what they may.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use r1_protocol::data::{Actor, ActorKind, Via};
use r1_runtime::control::caller::{Caller as ControlCaller, NoteSlot};

use crate::error::ApiError;
use crate::request::TraceParent;

/// What a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cap {
    /// Nothing: anyone may ask.
    Public,
    /// To look.
    Read,
    /// To change something.
    Write,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    pub(crate) write: bool,
    pub(crate) debug: bool,
}

impl Caps {
    pub(crate) const ALL: Self = Self { write: true, debug: true };

    pub(crate) const fn allow(self, need: Cap) -> bool {
        match need {
            Cap::Public | Cap::Read => true,
            Cap::Write => self.write,
        }
    }
}

/// Somebody we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The token's name, or the local user's.
    pub(crate) name: String,
    pub(crate) caps: Caps,
    /// The way in.
    pub(crate) via: Via,
}

/// Who asks, as handlers see it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// The trace that the request belongs to.
    pub(crate) trace_parent: Option<TraceParent>,
    /// Where the request's effect is to be noted.
    note: Option<NoteSlot>,
}

impl Caller {
    /// Who asks, as the control layer and the log have it.
    pub(crate) fn for_control(&self) -> ControlCaller {
        let Identity { name, caps: _, via } = &self.identity;
        let actor = Actor { kind: ActorKind::Operator, id: Some(name.clone()), client: None, via: Some(via.clone()) };
        ControlCaller { actor: Some(actor), note: self.note.clone() }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let identity = parts.extensions.get::<Identity>().cloned().ok_or_else(no_token)?;
        let trace_parent = parts.extensions.get().cloned();
        Ok(Self { identity, trace_parent, note: parts.extensions.get().cloned() })
    }
}

/// The answer to nobody we know.
pub(crate) fn no_token() -> ApiError {
    ApiError::unauthorized("this needs a token")
        .hint("send `Authorization: Bearer r1t_…`; the operator's token is in the file `token` of R1's home")
}

/// Finds out who asks, before anything of the request is read.
pub(crate) async fn identify(
    mut request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    let local = Identity { name: "operator".into(), caps: Caps::ALL, via: Via::Http };
    request.extensions_mut().insert(local);
    next.run(request).await
}
