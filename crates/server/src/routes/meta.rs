//! The server about itself.

use axum::http::StatusCode;

use super::{Content, Route};
use crate::access::Cap;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/healthz", Cap::Public, alive)
            .summary("Whether the process is alive")
            .answer(StatusCode::OK, Content::Other("text/plain")),
    ]
}

async fn alive() -> &'static str {
    "ok\n"
}
