//! What can be checked of a run's log, and proofs to check it with elsewhere.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use r1_event::Seq;
use r1_protocol::api::{Object, Verdict};
use r1_runtime::control::check;
use r1_runtime::control::proof::{ProveError, Question, prove};
use r1_runtime::source::{Log, Progress};

use super::super::{Route, RunPath, run};
use super::log::open;
use super::object;
use crate::access::Cap;
use crate::app::App;
use crate::error::ApiError;
use crate::query::{Param, Query, Shape};

const PLACE: Shape = Shape::Integer(0, i64::MAX);

const PARAMS: &[Param] = &[
    Param::new("sequence", PLACE, "Proves that this event is in the log."),
    Param::new("size", PLACE, "Of how many first events; of all if not given."),
    Param::new("from_size", PLACE, "Proves that the log extends its own so many first events."),
    Param::new("to_size", PLACE, "Of how many first events; of all if not given."),
];

pub(super) fn table() -> Vec<Route> {
    vec![
        Route::get("{run}/proof", Cap::Read, proof)
            .summary("A proof that an event is in a run's log, or that the log extends its own beginning")
            .query(PARAMS)
            .answers::<Object<serde_json::Value>>(StatusCode::OK),
        Route::get("{run}/verdict", Cap::Read, verdict)
            .summary("What a check of a run's log says")
            .answers::<Object<Verdict>>(StatusCode::OK),
    ]
}

async fn proof(State(app): State<Arc<App>>, path: RunPath, query: Query) -> Result<Response, ApiError> {
    let (question, size) = question(&query)?;
    let log = Log::Stored(open(&app, &path).await?);
    let proof = prove(log, question, size, &app.keyring).await.map_err(refuse)?;
    Ok(object("proof", proof))
}

async fn verdict(State(app): State<Arc<App>>, path: RunPath) -> Result<Response, ApiError> {
    let run = run::at(&app, &path).await?;
    let checked = check::check_run(app.engine.store(), &run, &app.keyring, Progress::default()).await;
    Ok(object("verdict", Verdict::from(checked?)))
}

fn question(query: &Query) -> Result<(Question, Option<u64>), ApiError> {
    let number = |name| query.integer::<u64>(name);
    match (number("sequence")?, number("from_size")?) {
        (Some(sequence), None) if !query.has("to_size") => {
            let too_large = || ApiError::invalid("?sequence", "is beyond the end of every log");
            let seq = sequence.checked_add(1).and_then(Seq::new).ok_or_else(too_large)?;
            Ok((Question::Inclusion(seq), number("size")?))
        }
        (None, Some(older)) if !query.has("size") => Ok((Question::Consistency { older }, number("to_size")?)),
        _ => Err(ApiError::invalid("?sequence", "give sequence (and size), or from_size (and to_size)")),
    }
}

fn refuse(err: ProveError) -> ApiError {
    match err {
        ProveError::Tree(_) | ProveError::Short { .. } => ApiError::validation(err.to_string()),
        ProveError::Pruned => ApiError::conflict(err.to_string()).hint("ask for a part of the log that is still there"),
        ProveError::Unsound(_) => ApiError::conflict(err.to_string()).hint("see what is wrong with `r1 log validate`"),
        ProveError::Source(err) => err.into(),
    }
}
