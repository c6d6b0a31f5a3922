//! Whether a receipt is what it claims to be.
//!
//! Stage after stage, and within a stage reason after reason in the order of [`Reason`]; the first that
//! fails, at its lowest event, is the verdict.

mod contract;
mod facts;
mod log;
mod phases;
mod report;
mod structure;
mod trust;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use self::report::{ChildRun, KeyFacts, Override, Report, RunFacts};
use crate::builder::Builder;
use crate::file::{Parts, Receipt};
use crate::key::{KnownKey, Scope};
use crate::node::{NodeId, NodeType};
use crate::verdict::Reason;

/// What a check may draw on, and what it demands.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The keys that the verifier knows.
    pub keys: &'a [KnownKey],
    /// For whom the key must speak.
    pub scope: Option<Scope>,
    /// Who must hold it.
    pub subject: Option<&'a str>,
    /// Whether to stop before looking at what events say, for receipts of other makers.
    pub integrity_only: bool,
    /// The gates that the verifier demands.
    pub gates: Option<&'a GatePolicy>,
    /// The log to compare with.
    pub log: Option<&'a Builder>,
}

/// Gates by boundary (`PLAN.entry`) that a verifier wants to see required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatePolicy {
    gates: BTreeMap<String, BTreeSet<String>>,
}

impl GatePolicy {
    /// Demands a gate at a boundary.
    pub fn demand(&mut self, boundary: impl Into<String>, gate: impl Into<String>) {
        self.gates.entry(boundary.into()).or_default().insert(gate.into());
    }

    /// Any gate that is demanded.
    fn first(&self) -> Option<String> {
        self.gates.keys().find_map(|boundary| self.at(boundary).next())
    }

    /// The gates demanded at a boundary, as transitions name them.
    fn at(&self, boundary: &str) -> impl Iterator<Item = String> {
        self.gates.get(boundary).into_iter().flatten().map(move |gate| format!("{boundary}/{gate}"))
    }
}

/// What failed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub reason: Reason,
    /// Place of the event in the file, from 0.
    pub event_index: Option<usize>,
    /// Its id.
    pub event_id: Option<NodeId>,
    /// What should be there.
    pub expected: Option<String>,
    /// What is there.
    pub found: Option<String>,
}

impl Failure {
    const fn of(reason: Reason) -> Self {
        Self { reason, event_index: None, event_id: None, expected: None, found: None }
    }

    fn at(reason: Reason, index: usize, id: NodeId) -> Self {
        Self { event_index: Some(index), event_id: Some(id), ..Self::of(reason) }
    }

    fn with(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.found = Some(found.into());
        self
    }
}

/// Checks a receipt.
#[must_use]
pub fn verify(bytes: &[u8], options: &Options<'_>) -> Report {
    let receipt = match Receipt::read(bytes) {
        Ok(receipt) => receipt,
        Err(reason) => return Report::unread(bytes.len(), Failure::of(reason)),
    };
    let mut report = Report::of(bytes.len(), &receipt);
    report.failure = check(&receipt, options, &mut report).err();
    report
}

fn check(receipt: &Receipt<'_>, options: &Options<'_>, report: &mut Report) -> Result<(), Failure> {
    let events = structure::check(receipt)?;
    report.look_at(&events);
    trust::check(receipt, options, report)?;
    if options.integrity_only {
        return Ok(());
    }
    let facts = contract::check(&events, options, report)?;
    if let (Some(builder), Some(run)) = (options.log, &report.run) {
        log::check(&events, &facts, run, builder)?;
        report.log_checked = true;
    }
    match &report.run {
        None => Err(Failure::of(Reason::RunUnbound)),
        Some(run) if run.state == "open" => Err(Failure::of(Reason::RunOpen)),
        Some(run) if run.first_seq > 1 || report.stubs.contains_key("pruned") => Err(Failure::of(Reason::RunPruned)),
        Some(_) => Ok(()),
    }
}

/// The events of a receipt whose graph is sound.
struct Events<'a> {
    list: Vec<Event<'a>>,
    places: HashMap<NodeId, usize>,
}

/// One of them.
struct Event<'a> {
    node_type: NodeType,
    parts: &'a Parts<'a>,
}

impl<'a> Events<'a> {
    /// The events that `event` follows, with their places.
    fn preds(&self, event: &Event<'a>) -> impl Iterator<Item = (usize, &Event<'a>)> {
        event.parts.preds.iter().filter_map(|pred| self.places.get(pred)).map(|at| (*at, &self.list[*at]))
    }

    /// Whether the event at a place follows the one at `target`, at whatever distance.
    fn is_ancestor(&self, target: usize, place: usize) -> bool {
        let (mut open, mut seen) = (vec![place], HashSet::new());
        while let Some(at) = open.pop() {
            for (pred, _) in self.preds(&self.list[at]) {
                if pred == target {
                    return true;
                }
                // What stands before the one that is named cannot follow it.
                if pred > target && seen.insert(pred) {
                    open.push(pred);
                }
            }
        }
        false
    }
}
