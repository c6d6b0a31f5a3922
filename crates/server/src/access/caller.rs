//! Who asks, as handlers and the log see it.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use r1_protocol::data::{Actor, ActorKind, Via};
use r1_runtime::control::caller::{Caller as ControlCaller, NoteSlot, Role as ControlRole};

use super::grant::{Cap, Grant, Role};
use crate::error::ApiError;
use crate::request::TraceParent;

/// Somebody we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Tells callers apart, also when two have the same name.
    pub(crate) id: String,
    /// The token's name, or the operator's.
    pub(crate) name: String,
    pub(crate) grant: Grant,
    /// The way in.
    pub(crate) via: Via,
    /// The program that asks, as it calls itself.
    client: Option<String>,
}

impl Identity {
    pub(super) fn new(id: &str, name: &str, grant: Grant, via: Via, headers: &HeaderMap) -> Self {
        let mut identity = Self { id: id.to_owned(), name: name.to_owned(), grant, via, client: None };
        identity.name_client(headers);
        identity
    }

    /// The same, as a page of ours has it.
    pub(super) fn in_browser(&self) -> Self {
        Self { via: Via::Web, ..self.clone() }
    }

    pub(super) fn name_client(&mut self, headers: &HeaderMap) {
        let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        self.client = agent.map(|agent| agent.chars().take(64).collect());
    }
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
    /// Whether they may do what needs this.
    pub(crate) const fn may(&self, need: Cap) -> bool {
        self.identity.grant.allows(need)
    }

    /// Who asks, as the control layer and the log have it.
    pub(crate) fn for_control(&self) -> ControlCaller {
        let Identity { id: session, name, grant, via, client } = &self.identity;
        let (id, client, via) = (Some(name.clone()), client.clone(), Some(via.clone()));
        let role = match grant {
            Grant::Role(Role::Bridge) => ControlRole::Bridge,
            Grant::Caps(_) | Grant::Role(Role::Ingest) => ControlRole::Operator,
        };
        // A program that only tells what it sees is no person who decides.
        let kind = match role {
            ControlRole::Operator => ActorKind::Operator,
            ControlRole::Bridge => ActorKind::System,
        };
        let actor = Actor { kind, id, client, via };
        ControlCaller { actor: Some(actor), note: self.note.clone(), role, session: Some(session.clone()) }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let identity = parts.extensions.get::<Identity>().cloned().ok_or_else(super::no_token)?;
        let trace_parent = parts.extensions.get().cloned();
        Ok(Self { identity, trace_parent, note: parts.extensions.get().cloned() })
    }
}
