//! Runs at a glance.

use r1_event::payload::{Payload, RunStarted};
use r1_event::{Kind, RunId, Seq, Version};
use r1_protocol::data::Time;
use r1_store::{DamagedRun, Listed, PageLimit, RunFilter, RunPosition, RunSummary, SharedStore, StoreError};
use serde::Serialize;

use super::operator::OPERATOR;
use super::view;

/// The kind of runs that hold what R1 itself did.
const CONTROL: &str = "control";

/// One run in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// The run.
    pub run_id: String,
    /// 1 or 2.
    pub schema_version: u32,
    /// When its first event happened.
    pub started_at: Time,
    /// When its last event so far happened.
    pub updated_at: Time,
    /// open, completed, failed or cancelled.
    pub state: &'static str,
    /// How many events it has, pruned ones included.
    pub events: u64,
    /// The last pruned event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruned_through: Option<u64>,
    /// agent_loop, recorded, operator, …, if its first event can be read and says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What it is to achieve, if its first event can be read.
    pub goal: Option<String>,
}

/// One entry of the listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A run.
    Run(RunRow),
    /// What the store can no longer read as one. Its kind cannot be told, so it is listed whatever is asked for.
    Damaged(DamagedRun),
}

/// A part of the listing, newest first.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The entries.
    pub rows: Vec<Row>,
    /// How many operator and control runs were passed over.
    pub hidden: usize,
    /// Where to go on.
    pub next: Option<RunPosition>,
}

/// Runs of this kind. Without one those that hold what operators did, or R1 itself, are passed over: they tell
/// of other runs, and are listed only where their kind is asked for.
pub async fn list(
    store: &SharedStore,
    kind: Option<&str>,
    after: Option<RunPosition>,
    limit: usize,
) -> Result<Listing, StoreError> {
    let page = store.list(RunFilter { after, limit, ..RunFilter::default() }).await?;
    let mut listing = Listing { next: page.next, ..Listing::default() };
    for entry in page.entries {
        let run = match entry {
            Listed::Run(run) => run,
            Listed::Damaged(entry) => {
                listing.rows.push(Row::Damaged(entry));
                continue;
            }
        };
        let started = started(store, &run.run_id).await?;
        let row = row(run, started);
        let is_own = |kind: &str| kind == OPERATOR || kind == CONTROL;
        match kind {
            Some(kind) if row.kind.as_deref() != Some(kind) => {}
            None if row.kind.as_deref().is_some_and(is_own) => listing.hidden += 1,
            Some(_) | None => listing.rows.push(Row::Run(row)),
        }
    }
    Ok(listing)
}

fn row(run: RunSummary, started: Option<RunStarted>) -> RunRow {
    let RunSummary { run_id, version, head, started_at, updated_at, pruned_through } = run;
    RunRow {
        run_id: run_id.to_string(),
        schema_version: match version {
            Version::V1 | Version::V2 => version.number(),
        },
        started_at: started_at.into(),
        updated_at: updated_at.into(),
        state: state(head.terminal),
        events: head.next.get() - 1,
        pruned_through: pruned_through.map(Seq::get),
        kind: started.as_ref().and_then(|started| started.run_kind.clone()),
        goal: started.map(|started| started.goal),
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

async fn started(store: &SharedStore, run: &RunId) -> Result<Option<RunStarted>, StoreError> {
    let page = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    let first = page.first().and_then(|record| Some((view::place(record)?, record.payload.as_ref()?)));
    Ok(first.and_then(|(place, payload)| match Payload::decode(place.kind, payload) {
        Ok(Payload::RunStarted(body)) => Some(*body),
        _ => None,
    }))
}
