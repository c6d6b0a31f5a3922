//! A run as lines of JSON: live, after the fact and from a file, by one function.
//!
//! - [`RunLines`]: events in, lines out; [`export`]: the same over a whole [`Log`].
//! - [`Reader`]: the lines of a run in a store, a look at a time.
//! - [`Pressure`]: what a reader that is too slow does not get.
//! - [`Outlet`]: where lines go; a stopped reader holds up nothing but the thread that writes to it.
//! - [`Printer`]: prints a run, and what its children ask, until it ends.
//! - [`Family`]: the events of a run and of its children; [`resolve`] answers what any of them asks.

mod family;
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

pub use family::{Family, family, open_approvals, resolve};
pub use outlet::{Outlet, OutletClosed};
pub use pressure::{Dropped, Pressure};
pub use printer::{Pace, PrintError, Printer, Wanted};
pub use reader::{Look, Reader};

use super::view::place;
use crate::source::{Log, Progress, SourceError};
use crate::world::{self, NoRandomness};

/// Names the nodes of a receipt's graph that events belong to.
pub trait Ledger: Send + Sync {
    /// The node of the next event of the log, as a line names it.
    fn node_of(&mut self, record: &Record) -> Option<String>;
}

/// A log whose graph nobody builds: its lines name no nodes.
struct NoLedger;

impl Ledger for NoLedger {
    fn node_of(&mut self, _: &Record) -> Option<String> {
        None
    }
}

/// The ledger of a log with these records beside it.
fn ledger(_side_records: &[SideRecord]) -> Box<dyn Ledger> {
    Box::new(NoLedger)
}

/// Turns the events of one log into lines. It must get them all, in order.
pub struct RunLines {
    projection: Projection,
    ledger: Box<dyn Ledger>,
    erasures: HashMap<u64, Erase>,
}

impl RunLines {
    /// For the run with these facts.
    #[must_use]
    pub fn new(facts: RunFacts, options: Options, ledger: Box<dyn Ledger>) -> Self {
        Self { projection: Projection::new(facts, options), ledger, erasures: HashMap::new() }
    }

    /// For a run of which nothing was erased or pruned.
    #[must_use]
    pub fn of_fresh(facts: RunFacts, options: Options) -> Self {
        Self::new(facts, options, ledger(&[]))
    }

    /// The session that the lines name.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.projection.session_id()
    }

    /// The lines of the next event.
    pub fn push(&mut self, record: &Record) -> Vec<Line> {
        let node = self.ledger.node_of(record);
        let erased = place(record).and_then(|place| self.erasures.get(&place.seq));
        self.projection.push(record, erased, node)
    }

    /// The line in place of events that were pruned.
    #[must_use]
    pub fn pruned(&self, prune: &Prune) -> Line {
        self.projection.pruned(prune)
    }

    /// Takes note of what was erased.
    pub fn know(&mut self, side_records: &[SideRecord]) {
        for record in side_records {
            if let SideRecord::Erase(erase) = record {
                self.erasures.insert(erase.seq.get(), erase.clone());
            }
        }
    }
}

/// The lines of a whole log, wherever it is. Blocks: not for an async thread.
pub fn export(
    log: &Log,
    options: &Options,
    progress: &Progress,
    mut write: impl FnMut(&Line) -> std::io::Result<()>,
) -> Result<(), StokeExportError> {
    let side_records = log.side_records();
    let prune = pruning(side_records);
    let first_erasure = side_records.iter().find_map(|record| match record {
        SideRecord::Erase(erase) if erase.seq.get() == 1 => Some(erase),
        SideRecord::Erase(_)
        | SideRecord::Prune(_)
        | SideRecord::Seal(_)
        | SideRecord::Checkpoint(_)
        | SideRecord::Other(_) => None,
    });
    let mut lines: Option<RunLines> = None;
    for page in log.pages() {
        let page = page?;
        progress.add(page.len());
        for record in page {
            if lines.is_none() {
                let facts = match prune {
                    Some(prune) => Some(RunFacts::of_prune(prune)),
                    None => RunFacts::of_first(&record, first_erasure),
                };
                let Some(facts) = facts else { return Err(StokeExportError::Unreadable) };
                let mut made = RunLines::new(facts, options.clone(), ledger(side_records));
                made.know(side_records);
                if let Some(prune) = prune {
                    write(&made.pruned(prune)).map_err(StokeExportError::Output)?;
                }
                lines = Some(made);
            }
            for line in lines.iter_mut().flat_map(|lines| lines.push(&record)) {
                write(&line).map_err(StokeExportError::Output)?;
            }
        }
    }
    Ok(())
}

/// The last pruning of a run: it took the most.
fn pruning(side_records: &[SideRecord]) -> Option<&Prune> {
    side_records.iter().rev().find_map(|record| match record {
        SideRecord::Prune(prune) => Some(&**prune),
        SideRecord::Erase(_) | SideRecord::Seal(_) | SideRecord::Checkpoint(_) | SideRecord::Other(_) => None,
    })
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
