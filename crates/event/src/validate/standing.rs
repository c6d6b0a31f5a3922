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

/// The same, as the log itself tells it.
pub(super) struct Told<'a> {
    /// The run; empty if no event says.
    pub(super) run_id: &'a str,
    pub(super) version: Version,
    /// How the run ended.
    pub(super) terminal: Option<Kind>,
    /// Where the log ends.
    pub(super) last: u64,
}

impl Standing {
    /// What the keeper noted must be what the log tells. A run may have ended since it was noted to be open.
    pub(super) fn compare(&self, told: &Told<'_>, state: &mut State, findings: &mut Vec<Finding>) {
        if !told.run_id.is_empty() && told.run_id != self.run_id {
            let message = "the log is kept under the name of another run than its events are of";
            let finding = Finding::new(Part::Integrity, "run_id_mismatch", None, message);
            findings.push(finding.with(&self.run_id, told.run_id));
        }
        if told.version != self.version {
            let message = "the log is noted to have another format than its events have";
            let finding = Finding::new(Part::Integrity, "schema_version_mismatch", None, message);
            findings.push(finding.with(self.version.number(), told.version.number()));
        }
        match (self.terminal, told.terminal) {
            (Some(noted), None) => {
                *state = State::Truncated;
                let message = format!("the run is noted to have ended with {noted}, but that event is gone");
                let place = Some(told.last.saturating_add(1));
                findings.push(Finding::new(Part::Integrity, "truncated", place, message).with(noted, "nothing"));
            }
            (Some(noted), Some(found)) if noted != found => {
                let message = "the run is noted to have ended in another way than its log says";
                let finding = Finding::new(Part::Integrity, "terminal_mismatch", Some(told.last), message);
                findings.push(finding.with(noted, found));
            }
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
    }
}
