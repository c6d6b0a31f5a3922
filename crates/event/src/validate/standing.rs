//! What the keeper of a log knows of it besides its events.

use crate::finding::{Finding, Part, State};
use crate::kind::Kind;
use crate::record::Version;

/// Where a log stands, as whoever keeps it has noted beside the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The run.
    pub run_id: String,
    /// The format of its log.
    pub version: Version,
    /// How the run ended, if it has.
    pub terminal: Option<Kind>,
}

impl Standing {
    /// A log whose run is known to have ended must say so itself: `last` is where it ends.
    pub(super) fn compare(&self, has_ended: bool, last: u64, state: &mut State, findings: &mut Vec<Finding>) {
        if let Some(terminal) = self.terminal.filter(|_| !has_ended) {
            *state = State::Truncated;
            let message = format!("the run is noted to have ended with {terminal}, but that event is gone");
            let finding = Finding::new(Part::Integrity, "truncated", Some(last.saturating_add(1)), message);
            findings.push(finding.with(terminal, "nothing"));
        }
    }
}
