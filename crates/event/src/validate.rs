//! Checking a log while it streams by.
//!
//! A check has two halves. The first looks at each event by itself (hashes, canonical bytes, what the
//! payload says) and runs on as many threads as there are; the second takes the results in order
//! (chain, tree, pairing, seals). Memory does not grow with the log.
//!
//! ```
//! use r1_event::payload::{Payload, RunCompleted, RunStarted};
//! use r1_event::validate::{Options, Validator};
//! use r1_event::finding::State;
//! use r1_event::{Batch, Chain, UnixNanos};
//!
//! let chain = Chain::new("run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B".parse()?);
//! let mut batch = Batch::new(&chain);
//! batch.push(UnixNanos(1), Payload::RunStarted(Box::new(RunStarted::default())))?;
//! batch.push(UnixNanos(2), Payload::RunCompleted(RunCompleted::default()))?;
//!
//! let mut validator = Validator::new(Options::default());
//! batch.records().iter().for_each(|record| validator.push(record));
//! let verdict = validator.finish();
//! assert_eq!(verdict.state, State::Complete);
//! assert!(verdict.findings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ended;
mod erasures;
mod facts;
mod findings;
mod links;
mod pairing;
mod parallel;
mod standing;
mod v1;
mod v2;
mod vouchers;

use std::collections::HashMap;

pub use self::erasures::{Elsewhere, Redaction};
use self::facts::Examined;
pub use self::findings::Findings;
pub use self::standing::Standing;
use crate::finding::{Finding, Part, Verdict};
use crate::id::Seq;
use crate::record::{Record, Version};
use crate::seal::SealKey;
use crate::side_record::SideRecord;
use crate::v1::NotV1;

/// What a check may draw on besides the events.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// All that is kept beside the log. A prune record decides where the check begins, so these come first.
    pub side_records: Vec<SideRecord>,
    /// Keys that seals and checkpoints are checked with, and whether they count.
    pub keys: Vec<SealKey>,
    /// What stands where erase records of this run point to in other runs; nothing of runs that nobody has.
    pub redactions: HashMap<(String, u64), Elsewhere>,
    /// What whoever keeps the log says of it, as it was before the first event was read.
    pub standing: Option<Standing>,
    /// What came up already while the log was read.
    pub findings: Findings,
}

/// How the source of a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Behind a whole event.
    Clean,
    /// Inside of one.
    Torn {
        /// Where the source ends.
        offset: u64,
    },
}

/// Checks one log of either format.
#[derive(Debug)]
pub struct Validator {
    options: Options,
    check: Check,
}

#[derive(Debug)]
enum Check {
    /// No event has come yet: it decides the rules.
    Undecided,
    V1(Box<v1::LogCheck>),
    V2(Box<v2::LogCheck>),
}

impl Validator {
    /// Starts a check.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { options, check: Check::Undecided }
    }

    /// Takes the next event.
    pub fn push(&mut self, record: &Record) {
        if matches!(self.check, Check::Undecided) {
            self.check = self.decide(record);
        }
        match &mut self.check {
            Check::V1(check) => check.observe(crate::v1::examine(record)),
            Check::V2(check) => check.observe(facts::examine(check.run_id(), record)),
            Check::Undecided => {}
        }
    }

    /// What is open at this point of a v2 log: the turn, and the calls in order of schedule.
    #[must_use]
    pub fn open(&self) -> (Option<String>, Vec<(String, u32, Seq)>) {
        match &self.check {
            Check::V2(check) => check.open(),
            Check::V1(_) | Check::Undecided => (None, Vec::new()),
        }
    }

    /// The verdict on all events pushed.
    #[must_use]
    pub fn finish(self) -> Verdict {
        self.finish_with(Ending::Clean)
    }

    /// The verdict, when the source may have ended inside an event.
    #[must_use]
    pub fn finish_with(self, ending: Ending) -> Verdict {
        match self.check {
            Check::V1(check) => check.finish(&self.options, ending),
            Check::V2(check) => check.finish(&self.options, ending),
            Check::Undecided => empty_verdict(&self.options, ending),
        }
    }

    /// How to examine the events of this log, starting with `first` if it is the first.
    fn examiner(&mut self, first: &Record) -> Examiner {
        if matches!(self.check, Check::Undecided) {
            self.check = self.decide(first);
        }
        match &self.check {
            Check::V1(_) => Examiner::V1,
            Check::V2(check) => Examiner::V2 { run_id: check.run_id().to_owned() },
            Check::Undecided => Examiner::V2 { run_id: String::new() },
        }
    }

    fn decide(&self, first: &Record) -> Check {
        if first.version() == Some(Version::V1) {
            return Check::V1(Box::new(v1::LogCheck::new(&self.options)));
        }
        let run_id = first.header().map(|header| header.run_id.to_owned()).unwrap_or_default();
        Check::V2(Box::new(v2::LogCheck::new(&run_id, &self.options)))
    }

    fn observe(&mut self, page: ExaminedPage) {
        match (&mut self.check, page) {
            (Check::V1(check), ExaminedPage::V1(page)) => page.into_iter().for_each(|event| check.observe(event)),
            (Check::V2(check), ExaminedPage::V2(page)) => page.into_iter().for_each(|event| check.observe(event)),
            // The examiner comes from this very check, so the two always fit.
            (Check::V1(_), ExaminedPage::V2(_)) | (Check::V2(_), ExaminedPage::V1(_)) | (Check::Undecided, _) => {}
        }
    }
}

/// The first half of a check, free to run anywhere.
#[derive(Clone, Debug)]
enum Examiner {
    V1,
    V2 { run_id: String },
}

/// What the events of a page say by themselves.
#[derive(Debug)]
enum ExaminedPage {
    V1(Vec<Result<crate::v1::Examined, NotV1>>),
    V2(Vec<Examined>),
}

impl Examiner {
    fn examine(&self, page: &[Record]) -> ExaminedPage {
        match self {
            Self::V1 => ExaminedPage::V1(crate::v1::examine_all(page)),
            Self::V2 { run_id } => ExaminedPage::V2(facts::examine_all(run_id, page)),
        }
    }
}

/// The verdict on a log without events. What is known of it besides still counts: a seal says what is gone.
fn empty_verdict(options: &Options, ending: Ending) -> Verdict {
    let (beside, standing) = (&options.side_records, options.standing.as_ref());
    let run_id = standing.map(|standing| standing.run_id.as_str());
    let run_id = run_id.or_else(|| beside.iter().find_map(SideRecord::run_id)).unwrap_or_default().to_owned();
    let pruned = beside.iter().any(|record| matches!(record, SideRecord::Prune(_)));
    let message = if pruned { "all events of the log are gone" } else { "there are no events" };
    let no_events = Finding::new(Part::Integrity, "no_events", None, message);
    // Nothing at all is known of a file without an event: to Starling it is a log, and one that it refuses.
    let unknown = if beside.is_empty() { Version::V1 } else { Version::V2 };
    let version = standing.map_or(unknown, |standing| standing.version);
    let verdict = match version {
        Version::V1 => {
            let mut check = v1::LogCheck::new(options);
            check.add(no_events);
            check.finish(options, ending)
        }
        Version::V2 => {
            let mut check = v2::LogCheck::new(&run_id, options);
            check.add(no_events);
            check.finish(options, ending)
        }
    };
    Verdict { run_id, ..verdict }
}
