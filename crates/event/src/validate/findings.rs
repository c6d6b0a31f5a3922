//! Findings as they come up, bounded, and in seq order at the end.

use crate::finding::{Finding, Part};

/// More than anyone reads; what comes after is counted, not kept.
const MAX_KEPT: usize = 10_000;

/// Findings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Finding>,
    dropped: u64,
    integrity_dropped: bool,
}

impl Findings {
    pub(crate) fn push(&mut self, finding: Finding) {
        self.list().push(finding);
    }

    /// The list to add to. Trimmed first, so that a log full of errors cannot fill the memory.
    pub(crate) fn list(&mut self) -> &mut Vec<Finding> {
        if self.kept.len() > MAX_KEPT {
            self.integrity_dropped |= self.kept[MAX_KEPT..].iter().any(|finding| finding.part == Part::Integrity);
            self.dropped += (self.kept.len() - MAX_KEPT) as u64;
            self.kept.truncate(MAX_KEPT);
        }
        &mut self.kept
    }

    /// All findings in seq order; those about the log as a whole come last.
    pub(crate) fn finish(mut self) -> Vec<Finding> {
        self.list();
        self.kept.sort_by_key(|finding| finding.seq.unwrap_or(u64::MAX));
        if self.dropped > 0 {
            let part = if self.integrity_dropped { Part::Integrity } else { Part::Notice };
            let message = format!("{} more findings are not listed", self.dropped);
            self.kept.push(Finding::new(part, "more_findings", None, message));
        }
        self.kept
    }
}
