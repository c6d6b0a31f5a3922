//! What a run did, signed, for anyone to check.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use r1_runtime::control::receipt::{CreateError, RebuildError, Request, create, file_name};
use r1_runtime::source::Progress;

use super::super::{Content, Route, RunPath, run};
use super::disposition::attachment;
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};

const JSON: &str = "application/json";

const PARAMS: &[Param] = &[Param::new("checkpoint", Shape::Flag, "Whether what there is of an open run will do.")];

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("{run}/receipt", Cap::Read, receipt)
            .summary("What a run did, signed: the file that `r1 receipt verify` takes")
            .query(PARAMS)
            .answer(StatusCode::OK, Content::Other(JSON)),
    ]
}

async fn receipt(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let key = app.engine.key().ok_or_else(|| ApiError::crash_recovery("this node has no signing key; ask another"))?;
    let request = Request { partial: query.flag("checkpoint")?, ..Request::whole(run) };
    let created = create(app.engine.store(), &request, key, &app.keyring, Progress::default()).await;
    // As it is and not in an envelope: these very bytes are what was signed.
    let mut response = Response::new(created.map_err(refuse)?.signed.bytes.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(CONTENT_DISPOSITION, attachment(&file_name(request.run.as_str())));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn refuse(err: CreateError) -> ApiError {
    match err {
        CreateError::Open { .. } => {
            ApiError::conflict(err.to_string()).hint("wait for its end, or ask with checkpoint=true")
        }
        CreateError::Corrupt(_) => ApiError::conflict(err.to_string()).hint("see the run's verdict"),
        CreateError::Contract(_) | CreateError::Rebuild(RebuildError::PrunedBlindly { .. }) => {
            ApiError::conflict(err.to_string())
        }
        CreateError::Rebuild(RebuildError::Source(err)) => err.into(),
    }
}
