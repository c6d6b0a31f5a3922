//! Running the loop again on what was recorded, and comparing.
//!
//! The loop is a pure function of the log, so a replay needs no model, no tools and no clock: before each
//! event it asks the loop what it would write there. If the loop has something to say, the log must have
//! exactly that; if it waits, the log must have something that comes from outside. Then the event is
//! taken, and so on to the end.
//!
//! A log of Starling's is replayed with Starling's loop, in the same way.

mod difference;
mod rules;
mod v1;

use r1_event::{Payload, Record, RunId, Seq, Version};
use r1_store::{PageLimit, Pages, SharedStore, StoreError};

pub use difference::{Difference, differences};

use crate::agent::{FoldError, RunState, Toolset};
use crate::history::{HistoryError, load_at};

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Events in the log.
    pub events: u64,
    /// How many of them the loop wrote again, byte for byte.
    pub compared: u64,
    /// How many of the loop's own the log holds too little for to write them again: what they say was
    /// taken as recorded.
    pub taken: u64,
    /// The first one that it would have written otherwise.
    pub divergence: Option<Divergence>,
}

/// An event that the loop would not have written so.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Where.
    pub seq: Seq,
    /// What is wrong there.
    pub kind: DivergenceKind,
    /// What the loop would have written; `None` if it would have waited.
    pub expected: Option<Shown>,
    /// What the log has; `None` if it ends there.
    pub found: Option<Shown>,
    /// Where the two differ.
    pub differences: Vec<Difference>,
}

/// In what way a log and the loop part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceKind {
    /// Both write an event, and not the same one.
    Differs,
    /// The log has an event of the loop where the loop waits.
    Unexpected,
}

/// An event as people read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its type.
    pub type_name: String,
    /// Its data.
    pub data: serde_json::Value,
}

/// Why a run cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Another agent's run.
    #[error(
        "run {run} records another agent, whose decisions cannot be computed again; check it with `r1 log validate`"
    )]
    Recorded {
        /// The run.
        run: RunId,
    },
    /// A run of no model.
    #[error("run {run} has no agent loop to run again")]
    NoLoop {
        /// The run.
        run: RunId,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// What it goes on from cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays a stored run. `tools` gives the tools of a run to decide with; usually [`Toolset::recorded`].
pub async fn replay(
    store: &SharedStore,
    run: &RunId,
    tools: impl Fn(&RunState) -> Toolset,
) -> Result<Report, ReplayError> {
    let first = store.read(run, Seq::FIRST, PageLimit::ONE).await?.records;
    if first.first().and_then(Record::version) == Some(Version::V1) {
        return replay_v1(store, run).await;
    }
    let mut replayer: Option<Replayer> = None;
    let mut pages = Pages::of_all(&**store, run);
    while let Some(page) = pages.next().await? {
        for record in page {
            let (place, payload) = RunState::read(&record)?;
            let Some(replayer) = &mut replayer else {
                let mut state = RunState::begin(place, run.clone(), &payload)?;
                if let Some(origin) = &state.origin {
                    let source = load_at(store, &origin.run, origin.seq).await?;
                    state = RunState::continue_from(source, place, run.clone(), &payload)?;
                }
                let tools = tools(&state);
                replayer = Some(Replayer::new(state, tools, &record, &payload)?);
                continue;
            };
            replayer.take(&record, place, &payload);
            if replayer.report.divergence.is_some() {
                return Ok(std::mem::take(&mut replayer.report));
            }
        }
    }
    match replayer {
        Some(replayer) => Ok(replayer.report),
        None => Err(StoreError::NoRun { run: run.clone() }.into()),
    }
}

async fn replay_v1(store: &SharedStore, run: &RunId) -> Result<Report, ReplayError> {
    let mut replayer = v1::Replayer::default();
    let mut pages = Pages::of_all(&**store, run);
    while let Some(page) = pages.next().await? {
        for record in page {
            replayer.take(&record)?;
            if replayer.report.divergence.is_some() {
                return Ok(replayer.report);
            }
        }
    }
    Ok(replayer.report)
}

/// A replay under way, for whoever has the events in another way than from a store.
pub struct Replayer {
    state: RunState,
    tools: Toolset,
    report: Report,
}

impl Replayer {
    /// Begins with a run's first event.
    pub fn new(state: RunState, tools: Toolset, record: &Record, payload: &Payload) -> Result<Self, ReplayError> {
        let run = state.run.clone();
        match state.run_kind.as_str() {
            "agent_loop" | "shell" | "git" | "file" => {}
            "recorded" => return Err(ReplayError::Recorded { run }),
            _ => return Err(ReplayError::NoLoop { run }),
        }
        let mut replayer = Self { state, tools, report: Report { events: 1, ..Report::default() } };
        if let Some(expected) = rules::first_event(payload, &replayer.tools) {
            replayer.compare(Seq::FIRST, record, &expected, payload);
        }
        Ok(replayer)
    }

    /// Takes the next event.
    pub fn take(&mut self, record: &Record, place: crate::agent::Place, payload: &Payload) {
        self.report.events += 1;
        match self.state.decide(&self.tools) {
            Some(expected) if !rules::cuts_in(payload) => self.compare(place.seq, record, &expected, payload),
            Some(_) => {}
            None if rules::is_the_loops(payload) => {
                self.diverge(place.seq, DivergenceKind::Unexpected, None, payload);
            }
            None => {
                if let Some(expected) = rules::restated(&self.state, payload) {
                    self.compare(place.seq, record, &expected, payload);
                }
            }
        }
        self.state.apply(place, payload);
    }

    fn compare(&mut self, seq: Seq, record: &Record, expected: &Payload, found: &Payload) {
        let same = expected.kind() == found.kind()
            && record.payload.as_ref().is_some_and(|bytes| rules::same_bytes(expected, found, bytes));
        if same {
            self.report.compared += 1;
        } else {
            self.diverge(seq, DivergenceKind::Differs, Some(expected), found);
        }
    }

    fn diverge(&mut self, seq: Seq, kind: DivergenceKind, expected: Option<&Payload>, found: &Payload) {
        let (expected, found) = (expected.map(Shown::of), Shown::of(found));
        let differences = match &expected {
            Some(expected) => differences(&expected.data, &found.data),
            None => Vec::new(),
        };
        self.report.divergence = Some(Divergence { seq, kind, expected, found: Some(found), differences });
    }
}

impl Shown {
    fn of(payload: &Payload) -> Self {
        let (kind, bytes) = (payload.kind(), payload.encode());
        let type_name = r1_event::projection::type_of(Version::V2, kind, Some(&bytes)).into_owned();
        Self { type_name, data: r1_event::exchange::readable_payload(kind, &bytes) }
    }
}
