//! How a browser gets its session without a token in a URL.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::response::IntoResponse;
use r1_protocol::api::{Object, Ticket};

use super::super::{Content, Route};
use crate::access::{Arrival, COOKIE_NAME, Caller, Cap, SESSION_LIFETIME, TICKET_LIFETIME};
use crate::app::App;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};

const TICKET: Param = Param::new("ticket", Shape::Text, "From POST /v1/tickets; good once, for 30 seconds.");

pub(super) fn table() -> Vec<Route> {
    vec![
        // No more than the caller may already: a session has the caps of whoever asked for it.
        Route::post("/v1/tickets", Cap::Read, give)
            .summary("A one-time ticket that opens a browser's session")
            .answers::<Object<Ticket>>(StatusCode::OK),
        Route::get("/login", Cap::Public, login)
            .summary("Trades a ticket for the cookie of a session")
            .query(&[TICKET])
            .answer(StatusCode::SEE_OTHER, Content::Empty),
        Route::get("/", Cap::Public, home)
            .summary("Leads to the pages of the server")
            .answer(StatusCode::SEE_OTHER, Content::Empty),
    ]
}

async fn give(State(app): State<Arc<App>>, caller: Caller) -> Result<impl IntoResponse, ApiError> {
    let ticket = app.access.tickets.give(caller.identity, Instant::now()).map_err(|err| ApiError::internal(&err))?;
    let login = format!("/login?ticket={ticket}");
    let ticket = Ticket { ticket, login, expires_in_seconds: TICKET_LIFETIME.as_secs() };
    Ok(([(CACHE_CONTROL, "no-store")], Json(Object::new("ticket", ticket))))
}

async fn login(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    query: Query,
) -> Result<impl IntoResponse, ApiError> {
    let owner =
        query.text("ticket").and_then(|ticket| app.access.tickets.take(ticket, Instant::now())).ok_or_else(|| {
            ApiError::unauthorized("the ticket was used already, is too old, or never was")
                .hint("`r1 ctl open` opens the browser with a new one")
        })?;
    let session = app.access.sessions.open(&owner, Instant::now()).map_err(|err| ApiError::internal(&err))?;
    let secure = if app.access.is_secure(arrival) { "; Secure" } else { "" };
    let lifetime = SESSION_LIFETIME.as_secs();
    let cookie = format!("{COOKIE_NAME}={session}; Path=/; Max-Age={lifetime}; HttpOnly; SameSite=Strict{secure}");
    let headers = [
        (SET_COOKIE, cookie),
        (LOCATION, "/".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    Ok((StatusCode::SEE_OTHER, headers))
}

async fn home() -> impl IntoResponse {
    (StatusCode::SEE_OTHER, [(LOCATION, "/docs")])
}
