//! Requests in the store.

use r1_event::{Payload, RunId};
use r1_protocol::data::{ApprovalRequested, EventData as _};
use r1_runtime::agent::RunState;
use r1_runtime::agent::command::Command;
use r1_runtime::control::command::command;
use r1_runtime::{artifact, history};
use r1_store::{Listed, Pages, RunFilter, SharedStore};

use super::Pending;
use crate::ask;
use crate::error::CliError;
use crate::follow;
use crate::output;
use crate::render::live::Live;
use crate::workshop::Workshop;

pub(super) async fn answer(workshop: &Workshop, run: &RunId, answer: Command) -> Result<(), CliError> {
    command(&workshop.engine, run, answer, &ask::caller()).await?;
    Ok(())
}

pub(super) async fn status(workshop: &Workshop, run: &RunId) -> Result<&'static str, CliError> {
    Ok(history::load(workshop.engine.store(), run).await?.status().as_str())
}

pub(super) async fn hint_to_resume(workshop: &Workshop, run: &RunId) -> Result<(), CliError> {
    if !follow::is_held(workshop.engine.store(), run).await? {
        output::note(&format!("nobody works on the run now: go on with `r1 resume {run}`"));
    }
    Ok(())
}

/// Every request of every open run, oldest run first.
pub(super) async fn pending(store: &SharedStore) -> Result<Vec<Pending>, CliError> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(RunFilter { finished: Some(false), after, limit: 200, ..RunFilter::default() }).await?;
        // A log of another agent, or one that cannot be read or folded, has no questions for us.
        for run in page.entries.into_iter().filter_map(Listed::sound) {
            let Ok(state) = history::load(store, &run.run_id).await else { continue };
            if state.approvals().next().is_some() {
                found.extend(requests(store, &state).await?);
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    found.reverse();
    Ok(found)
}

/// The requests of a run as they were shown when they were made.
async fn requests(store: &SharedStore, state: &RunState) -> Result<Vec<Pending>, CliError> {
    let waiting: Vec<_> = state.approvals().map(|(id, _)| id.to_owned()).collect();
    let mut live = Live::new(state.run.clone(), follow::look(false, false));
    let (mut found, mut pages) = (Vec::new(), Pages::of_all(&**store, &state.run));
    while let Some(page) = pages.next().await? {
        for record in &page {
            let Ok((place, payload)) = RunState::read(record) else { continue };
            if let Some((id, digest)) = follow::patch(&payload)
                && let Ok(diff) = artifact::read(store, digest).await
            {
                live.learn_patch(id, String::from_utf8_lossy(&diff).into_owned());
            }
            let shown = live.take(place.ts, &payload);
            if let Payload::Typed(typed) = &payload
                && let Some(request) = ApprovalRequested::read(typed)
                && waiting.contains(&request.approval_id)
            {
                found.push(Pending { run: state.run.clone(), request, shown: shown.trim_start_matches('\n').into() });
            }
        }
    }
    Ok(found)
}
