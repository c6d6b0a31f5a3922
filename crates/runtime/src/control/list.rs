//! Runs at a glance.

use r1_event::payload::Payload;
use r1_event::{Kind, RunId, Seq, UnixNanos, Version};
use r1_store::{PageLimit, RunFilter, RunPosition, RunSummary, SharedStore, StoreError};
use serde::Serialize;

use super::view;

/// One run in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// The run.
    pub run_id: String,
    /// 1 or 2.
    pub schema_version: u32,
    /// Unix nanoseconds of its first event.
    pub started_at: i64,
    /// Unix nanoseconds of its last event so far.
    pub updated_at: i64,
    /// open, completed, failed or cancelled.
    pub state: &'static str,
    /// How many events it has, pruned ones included.
    pub events: u64,
    /// The last pruned event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruned_through: Option<u64>,
    /// What it is to achieve, if its first event can be read.
    pub goal: Option<String>,
}

/// A part of the listing, newest first, and where to go on.
pub async fn list(
    store: &SharedStore,
    after: Option<RunPosition>,
    limit: usize,
) -> Result<(Vec<RunRow>, Option<RunPosition>), StoreError> {
    let page = store.list(RunFilter { after, limit, ..RunFilter::default() }).await?;
    let mut rows = Vec::with_capacity(page.runs.len());
    for run in page.runs {
        let goal = goal(store, &run.run_id).await?;
        rows.push(row(run, goal));
    }
    Ok((rows, page.next))
}

fn row(run: RunSummary, goal: Option<String>) -> RunRow {
    let RunSummary { run_id, version, head, started_at: UnixNanos(started_at), updated_at, pruned_through } = run;
    RunRow {
        run_id: run_id.to_string(),
        schema_version: match version {
            Version::V1 | Version::V2 => version.number(),
        },
        started_at,
        updated_at: updated_at.0,
        state: state(head.terminal),
        events: head.next.get() - 1,
        pruned_through: pruned_through.map(Seq::get),
        goal,
    }
}

/// How a run stands, in one word.
#[must_use]
pub fn state(terminal: Option<Kind>) -> &'static str {
    match terminal {
        None => "open",
        Some(Kind::RunCompleted) => "completed",
        Some(Kind::RunFailed) => "failed",
        Some(Kind::RunCancelled) => "cancelled",
        Some(_) => "ended",
    }
}

async fn goal(store: &SharedStore, run: &RunId) -> Result<Option<String>, StoreError> {
    let page = store.read(run, Seq::FIRST, PageLimit::ONE).await?;
    let first = page.first().and_then(|record| Some((view::place(record)?, record.payload.as_ref()?)));
    Ok(first.and_then(|(place, payload)| match Payload::decode(place.kind, payload) {
        Ok(Payload::RunStarted(body)) => Some(body.goal),
        _ => None,
    }))
}
