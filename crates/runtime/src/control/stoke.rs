//! A run as lines of JSON: live, after the fact and from a file, by one function.
//!
//! - [`RunLines`]: events in, lines out; [`export`]: the same over a whole [`Log`].
//! - [`Reader`]: the lines of a run in a store, a look at a time.
//! - [`Pressure`]: what a reader that is too slow does not get.
//! - [`Outlet`]: where lines go; a stopped reader holds up nothing but the thread that writes to it.
//! - [`Printer`]: prints a run, and what its children ask, until it ends.
//! - [`keep_nodes`]: the nodes of a run's receipt as files, as they come.
//! - [`Family`]: the events of a run and of its children; [`resolve`] answers what any of them asks.

mod family;
mod nodes;
mod outlet;
mod pressure;
mod printer;
mod reader;

use std::collections::HashMap;

use r1_event::side_record::{Erase, Prune};
use r1_event::{Record, SideRecord};
use r1_protocol::RunFacts;
use r1_protocol::stoke::process::Moment;
use r1_protocol::stoke::{Line, Options, Projection};
use r1_receipt::Graph;
use r1_receipt::graph::Notes;

pub use family::{Family, family, open_approvals, resolve};
pub use nodes::{NodesError, keep_nodes};
pub use outlet::{Outlet, OutletError};
pub use pressure::{Dropped, Pressure};
pub use printer::{Pace, PrintError, Printer, Wanted};
pub use reader::{Look, Reader};

use super::receipt::{RebuildError, notes_of};
use super::view::place;
use crate::source::{Log, Progress, SourceError};
use crate::world::{self, NoRandomness};

/// Turns the events of one log into lines, each with the node of the run's receipt that it belongs to. It must
/// get them all, in order.
pub struct RunLines {
    projection: Projection,
    graph: Graph,
    erasures: HashMap<u64, Erase>,
}

impl RunLines {
    /// For the run with these facts, whose log has this beside it.
    #[must_use]
    pub fn new(facts: RunFacts, options: Options, side_records: &[SideRecord], notes: Notes) -> Self {
        let projection = Projection::new(facts, options);
        Self { projection, graph: Graph::new(notes), erasures: erasures(side_records) }
    }

    /// For a run of which nothing was erased or pruned.
    #[must_use]
    pub fn of_fresh(facts: RunFacts, options: Options) -> Self {
        Self::new(facts, options, &[], Notes::default())
    }

    /// The session that the lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.projection.session_id()
    }

    /// The lines of the next event.
    pub fn push(&mut self, record: &Record) -> Vec<Line> {
        let node = self.graph.push(record).ledger.map(|node| node.ledger());
        let erased = place(record).and_then(|place| self.erasures.get(&place.seq));
        self.projection.push(record, erased, node)
    }

    /// The line in place of events that were pruned.
    #[must_use]
    pub fn pruned(&self, prune: &Prune) -> Line {
        self.projection.pruned(prune, self.graph.newest().map(|node| node.ledger()))
    }

    /// Whether it is known that the payload of this event was erased.
    fn knows_erasure(&self, seq: u64) -> bool {
        self.erasures.contains_key(&seq)
    }

    /// Takes over a graph that was made anew, because content went meanwhile.
    fn relearn(&mut self, graph: Graph, side_records: &[SideRecord]) {
        (self.graph, self.erasures) = (graph, erasures(side_records));
    }
}

fn erasures(side_records: &[SideRecord]) -> HashMap<u64, Erase> {
    let erased = |record: &SideRecord| match record {
        SideRecord::Erase(erase) => Some((erase.seq.get(), erase.clone())),
        SideRecord::Prune(_)
        | SideRecord::Seal(_)
        | SideRecord::Checkpoint(_)
        | SideRecord::Other(_)
        | SideRecord::Damaged(_) => None,
    };
    side_records.iter().filter_map(erased).collect()
}

/// What the graph of a log needs beside its events. A log that was pruned before receipts kept something of what
/// went has lines all the same.
pub async fn notes(log: &Log) -> Result<Notes, SourceError> {
    match notes_of(log, log.store()).await {
        Ok(notes) => Ok(notes),
        Err(RebuildError::PrunedBlindly { .. }) => Ok(Notes::new(log.side_records())),
        Err(RebuildError::Source(err)) => Err(err),
    }
}

/// The lines of a whole log, wherever it is. Blocks: not for an async thread.
pub fn export(
    log: &Log,
    notes: Notes,
    options: &Options,
    progress: &Progress,
    mut write: impl FnMut(&Line) -> std::io::Result<()>,
) -> Result<(), StokeExportError> {
    let side_records = log.side_records();
    let prune = Prune::furthest(side_records);
    let first_erasure = erasures(side_records).remove(&1);
    let mut notes = Some(notes);
    let mut lines: Option<RunLines> = None;
    for page in log.pages() {
        let page = page?;
        progress.add(page.len());
        for record in page {
            if let Some(notes) = notes.take() {
                let facts = match prune {
                    Some(prune) => Some(RunFacts::of_prune(prune)),
                    None => RunFacts::of_first(&record, first_erasure.as_ref()),
                };
                let Some(facts) = facts else { return Err(StokeExportError::Unreadable) };
                let made = lines.insert(RunLines::new(facts, options.clone(), side_records, notes));
                if let Some(prune) = prune {
                    write(&made.pruned(prune)).map_err(StokeExportError::Output)?;
                }
            }
            for line in lines.iter_mut().flat_map(|lines| lines.push(&record)) {
                write(&line).map_err(StokeExportError::Output)?;
            }
        }
    }
    Ok(())
}

/// A log was not written as lines.
#[derive(Debug, thiserror::Error)]
pub enum StokeExportError {
    /// It cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its first event cannot be read.
    #[error("the log's first event cannot be read, so it is not known whose events these are")]
    Unreadable,
    /// The output cannot be written.
    #[error("cannot write the output")]
    Output(#[source] std::io::Error),
}

/// What a line of the process says of itself, now.
pub fn moment(session_id: Option<String>) -> Result<Moment, NoRandomness> {
    Ok(Moment { ts: world::now(), random: world::random()?, session_id })
}
