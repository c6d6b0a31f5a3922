//! Order and pairing of a run's events: the protocol linter.
//!
//! It reads events as they are served, in their order, and keeps no more of them than what is still open.

mod approvals;
mod artifacts;
mod calls;
mod run;
mod streams;
mod turns;

use std::fmt;

use r1_event::Version;
use serde_json::Value;

use crate::RunFacts;
use crate::data::Object;
use crate::schema::Strictness;

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// How a run begins and ends.
    L1,
    /// Who works on it.
    L2,
    /// One open turn at a time.
    L3,
    /// The order inside of a turn.
    L4,
    /// A proposed call is closed once.
    L5,
    /// The order of a call's events.
    L6,
    /// No call is open at a seam.
    L7,
    /// Streams, sums, approvals and artifacts go on where they were.
    L8,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A place where a run breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The event at which it shows.
    pub sequence: u64,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at sequence {}: {}", self.rule, self.sequence, self.message)
    }
}

/// Whose rules a run has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// R1 itself: all of them.
    R1,
    /// A foreign agent that R1 watched, and which keeps its own order.
    Recorded,
    /// Starling, which knows neither proposals nor starts.
    V1,
}

impl Writer {
    const fn keeps(self, rule: Rule) -> bool {
        match self {
            Self::R1 => true,
            Self::Recorded => !matches!(rule, Rule::L2 | Rule::L4 | Rule::L6),
            Self::V1 => matches!(rule, Rule::L1 | Rule::L3 | Rule::L5 | Rule::L6),
        }
    }
}

impl From<&RunFacts> for Writer {
    fn from(run: &RunFacts) -> Self {
        match (run.version, Strictness::of(run)) {
            (Version::V1, _) => Self::V1,
            (Version::V2, Strictness::Strict) => Self::R1,
            (Version::V2, Strictness::Recorded | Strictness::Open) => Self::Recorded,
        }
    }
}

/// Checks one run, event by event.
#[derive(Debug)]
pub struct Linter {
    report: Report,
    run: run::Run,
    turns: turns::Turns,
    calls: calls::Calls,
    approvals: approvals::Approvals,
    streams: streams::Streams,
    artifacts: artifacts::Artifacts,
}

impl Linter {
    /// A linter for a run of this writer.
    #[must_use]
    pub fn new(writer: Writer) -> Self {
        Self {
            report: Report { writer, findings: Vec::new(), sees_all: true },
            run: run::Run::default(),
            turns: turns::Turns::default(),
            calls: calls::Calls::default(),
            approvals: approvals::Approvals::default(),
            streams: streams::Streams::default(),
            artifacts: artifacts::Artifacts::default(),
        }
    }

    /// Takes the next event.
    pub fn push(&mut self, sequence: u64, type_name: &str, data: &Object) {
        let event = Event { sequence, type_name, data };
        // What is gone cannot be missed: from here on only what contradicts itself is reported.
        if type_name == "gap.events_pruned" || event.flag("erased") == Some(true) {
            self.report.sees_all = false;
        }
        self.run.observe(&event, &mut self.report);
        self.turns.observe(&event, &mut self.report);
        // An approval's end closes its call, so it must still be known which one that is.
        let ended = self.approvals.observe(&event, &mut self.report);
        self.calls.observe(&event, ended.as_ref(), &mut self.report);
        self.streams.observe(&event, &mut self.report);
        self.artifacts.observe(&event, &mut self.report);
    }

    /// What was found so far, in the order of the log.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// Ends the check of a run that is over: it must have a terminal event. A run that is still open is
    /// done with [`Self::findings`].
    #[must_use]
    pub fn finish(mut self) -> Vec<Finding> {
        self.run.finish(&mut self.report);
        self.report.findings
    }
}

/// One event, as the parts of the linter see it.
struct Event<'a> {
    sequence: u64,
    type_name: &'a str,
    data: &'a Object,
}

impl<'a> Event<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.data.get(key).and_then(Value::as_str)
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.data.get(key).and_then(Value::as_u64)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.data.get(key).and_then(Value::as_bool)
    }
}

/// What was found, and what may be looked for.
#[derive(Debug)]
struct Report {
    writer: Writer,
    findings: Vec<Finding>,
    /// Whether no event was pruned or erased so far.
    sees_all: bool,
}

impl Report {
    /// Something contradicts an earlier event.
    fn add(&mut self, rule: Rule, event: &Event<'_>, message: impl Into<String>) {
        self.add_at(rule, event.sequence, message);
    }

    /// Something that should have come before was not there.
    fn add_missing(&mut self, rule: Rule, event: &Event<'_>, message: impl Into<String>) {
        if self.sees_all {
            self.add(rule, event, message);
        }
    }

    fn add_at(&mut self, rule: Rule, sequence: u64, message: impl Into<String>) {
        if self.writer.keeps(rule) {
            self.findings.push(Finding { rule, sequence, message: message.into() });
        }
    }
}
