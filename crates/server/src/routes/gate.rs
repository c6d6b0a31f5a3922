//! What stands before every handler: caps, and query parameters that the row knows.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;

use super::{AnswerOf, BodyShape, Route};
use crate::access::{self, Cap, Identity};
use crate::app::App;
use crate::error::ApiError;
use crate::idempotency;
use crate::query::{Param, Query};

/// What of a row counts while a request is served.
#[derive(Clone, Copy)]
pub(super) struct Gate {
    path: &'static str,
    cap: Cap,
    query: &'static [Param],
    answer_of: Option<AnswerOf>,
    uploads: bool,
}

/// The row whose handler made an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served(pub(crate) &'static str);

pub(super) fn split(route: Route) -> (MethodRouter<Arc<App>>, Gate) {
    let Route { path, cap, query, answer_of, handler, body, method: _, summary: _, answers: _ } = route;
    let uploads = matches!(body, Some(BodyShape::Bytes));
    (handler, Gate { path, cap, query, answer_of, uploads })
}

/// Lets a request through to its handler, or not.
pub(super) async fn pass(State((app, gate)): State<(Arc<App>, Gate)>, request: Request, next: Next) -> Response {
    let passed = match gate.check(&app, &request) {
        Ok(()) => gate.serve(app, request, next).await,
        Err(error) => Err(error),
    };
    let mut response = passed.unwrap_or_else(|error| error.into_response());
    response.extensions_mut().insert(Served(gate.path));
    response
}

impl Gate {
    async fn serve(self, app: Arc<App>, request: Request, next: Next) -> Result<Response, ApiError> {
        match self.answer_of {
            None => Ok(next.run(request).await),
            Some(answer_of) => {
                idempotency::once(app, answer_of, self.uploads, request, |request| next.run(request)).await
            }
        }
    }

    fn check(self, app: &App, request: &Request) -> Result<(), ApiError> {
        if self.cap != Cap::Public {
            let identity = request.extensions().get::<Identity>().ok_or_else(access::no_token)?;
            if !identity.grant.allows(self.cap) {
                let need = self.cap.as_str();
                return Err(ApiError::permission_denied(format!(
                    "this needs the cap `{need}`; the token `{}` has: {}",
                    identity.name, identity.grant
                ))
                .hint(format!("make one with `r1 ctl token create --caps {need}`")));
            }
            if app.draining().is_cancelled() {
                return Err(ApiError::crash_recovery("this node is about to end").hint("ask again, or another node"));
            }
        }
        Query::parse(request.uri().query()).check(self.query)
    }
}
