//! The operator runs of bridges: one for each session, open for as long as that goes on.
//!
//! A document names the run of a session before there is one. Whoever finds it empty begins it, whoever finds it
//! open goes on with it, and whoever finds it over names the next; each under the run's lease, so that any number
//! of servers agree. A server that dies in between leaves nothing that the next event does not go on from.

use std::time::Duration;

use r1_event::{Payload, RunId, UnixNanos, payload};
use r1_store::{Document, DocumentChange, DocumentQuery, Expect, LeaseError, RunSummary, SharedStore};

use crate::agent::RunState;
use crate::agent::command::Response;
use crate::control::caller::Caller;
use crate::control::command::CommandError;
use crate::control::operator::OperatorError;
use crate::control::task::TaskError;
use crate::emit::Emission;
use crate::engine::{Engine, EngineError, claim_for_append, release_the_dead};
use crate::world;
use crate::writer::WriterError;

/// A session that tells nothing for so long is over.
pub const IDLE: Duration = Duration::from_secs(900);

/// A run that is as long as this goes on in another one: each event is checked against those before it.
const MOST_EVENTS: u64 = 10_000;

/// Where it is kept which run a session tells.
const COLLECTION: &str = "bridge_sessions";

/// How many sessions are looked at together.
const PAGE: usize = 256;

/// The run that a session tells now; there may be no event in it yet.
pub(super) async fn run_of(engine: &Engine, session: &str) -> Result<RunId, TaskError> {
    let store = engine.store();
    loop {
        let known = store.document(COLLECTION, session).await?;
        let run = known.as_ref().and_then(named_run);
        if let Some(run) = run {
            let over = store.run(&run).await?.and_then(|run| why_over(&run, world::now()));
            let ended = match over {
                Some(why) => close(engine, &run, why).await?,
                None => false,
            };
            if !ended {
                return Ok(run);
            }
        }
        let expect = known.map_or(Expect::Absent, |document| Expect::Revision(document.revision));
        let run = world::new_run_id(world::now()).map_err(OperatorError::from)?;
        let document = Document::new(session, run.to_string());
        let name = DocumentChange::Put { collection: COLLECTION.into(), document, expect };
        // Someone else may have named it meanwhile: then it is theirs.
        if store.change_documents(vec![name]).await? {
            return Ok(run);
        }
    }
}

/// Ends the runs of sessions that are over: of those that told nothing for a while, and of those that are not `live`.
pub async fn close_sessions(
    engine: &Engine,
    now: UnixNanos,
    is_live: impl Fn(&str) -> bool + Send,
) -> Result<(), TaskError> {
    let mut after = None;
    loop {
        let query = DocumentQuery { after, limit: PAGE, ..DocumentQuery::default() };
        let page = engine.store().documents(COLLECTION, query).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some((last.rank, last.key.clone()));
        for document in &page {
            see_to(engine, document, now, is_live(&document.key)).await?;
        }
    }
}

async fn see_to(engine: &Engine, document: &Document, now: UnixNanos, is_live: bool) -> Result<(), TaskError> {
    let store = engine.store();
    let summary = match named_run(document) {
        Some(run) => store.run(&run).await?,
        None => None,
    };
    let ended = match summary {
        Some(run) => match why_over(&run, now).or((!is_live).then_some("the session has ended")) {
            Some(why) => close(engine, &run.run_id, why).await?,
            None => false,
        },
        // Nothing was told yet, and of a session that is gone nothing will be.
        None => !is_live,
    };
    if ended { forget(store, document).await } else { Ok(()) }
}

/// Forgets a session whose run is over, unless it goes on in another.
async fn forget(store: &SharedStore, document: &Document) -> Result<(), TaskError> {
    // Written once more and removed in one step: only what is still as it was seen is removed.
    let (collection, key) = (COLLECTION.to_owned(), document.key.clone());
    let seen = DocumentChange::Put {
        collection: collection.clone(),
        document: document.clone(),
        expect: Expect::Revision(document.revision),
    };
    store.change_documents(vec![seen, DocumentChange::Remove { collection, key }]).await?;
    Ok(())
}

fn named_run(document: &Document) -> Option<RunId> {
    std::str::from_utf8(&document.body).ok()?.parse().ok()
}

/// Why nothing more is to be told in a run.
fn why_over(run: &RunSummary, now: UnixNanos) -> Option<&'static str> {
    let idle = i64::try_from(IDLE.as_nanos()).unwrap_or(i64::MAX);
    if run.head.terminal.is_some() {
        Some("the run has ended")
    } else if run.updated_at.0.saturating_add(idle) <= now.0 {
        Some("the session was idle")
    } else {
        (run.head.next.get() > MOST_EVENTS).then_some("the session goes on in another run")
    }
}

/// Ends a run; false if somebody writes to it now. One that has ended stays as it is.
async fn close(engine: &Engine, run: &RunId, why: &str) -> Result<bool, TaskError> {
    release_the_dead(engine.store(), run).await.map_err(CommandError::from)?;
    let nobody = Caller::default();
    let closed = claim_for_append(engine, run, &nobody, |state| done(state, why).ok_or(())).await;
    match closed {
        Ok(_) => Ok(true),
        Err(EngineError::Writer(WriterError::Lease(LeaseError::Held { .. }) | WriterError::Append(_))) => Ok(false),
        Err(err) => Err(CommandError::from(err).into()),
    }
}

fn done(state: &RunState, why: &str) -> Option<Response> {
    if state.terminal.is_some() {
        return None;
    }
    let done = payload::RunCompleted {
        final_text: why.to_owned(),
        duration_ms: i64::try_from(state.duration_ms()).unwrap_or(i64::MAX),
        ..Default::default()
    };
    Some(Response { events: vec![Emission::plain(Payload::RunCompleted(done))], answer: 0 })
}
