//! Findings as they come up, bounded, and in seq order at the end.

use crate::finding::{Finding, Part};

/// How many findings of each part of a verdict are listed: more than anyone reads. What comes after
/// is counted, not kept.
pub(super) const MAX_LISTED: usize = 10_000;

/// Findings as they come up. A verdict lists the first 10,000 of each part and counts the rest: each part
/// has room of its own, so that no number of notices hides an error, and no number of a recorded agent's
/// mishaps a broken chain.
#[derive(Clone, Debug)]
pub struct Findings {
    /// What came up since it was last sorted in.
    incoming: Vec<Finding>,
    integrity: Listed,
    structure: Listed,
    notices: Listed,
}

/// The findings of one part: the first [`MAX_LISTED`], and how many more there were.
#[derive(Clone, Debug)]
struct Listed {
    part: Part,
    kept: Vec<Finding>,
    dropped: u64,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            incoming: Vec::new(),
            integrity: Listed::new(Part::Integrity),
            structure: Listed::new(Part::Structure),
            notices: Listed::new(Part::Notice),
        }
    }
}

impl Findings {
    /// Adds one.
    pub fn push(&mut self, finding: Finding) {
        self.list().push(finding);
    }

    /// The list to add to. Emptied first, so that a log full of errors cannot fill the memory.
    pub(super) fn list(&mut self) -> &mut Vec<Finding> {
        for finding in self.incoming.drain(..) {
            match finding.part {
                Part::Integrity => self.integrity.take(finding),
                Part::Structure => self.structure.take(finding),
                Part::Notice => self.notices.take(finding),
            }
        }
        &mut self.incoming
    }

    /// All findings in seq order; those about the log as a whole come last, and then what is not listed.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.list();
        let parts = [self.integrity, self.structure, self.notices];
        let more: Vec<_> = parts.iter().filter_map(Listed::more).collect();
        let mut all: Vec<_> = parts.into_iter().flat_map(|listed| listed.kept).collect();
        all.sort_by_key(|finding| finding.seq.unwrap_or(u64::MAX));
        all.extend(more);
        all
    }
}

impl Listed {
    const fn new(part: Part) -> Self {
        Self { part, kept: Vec::new(), dropped: 0 }
    }

    fn take(&mut self, finding: Finding) {
        if self.kept.len() < MAX_LISTED {
            self.kept.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Says that not all are listed, in the part of the verdict that they belong to.
    fn more(&self) -> Option<Finding> {
        let what = match self.part {
            Part::Integrity => "findings of integrity",
            Part::Structure => "findings of structure",
            Part::Notice => "notices",
        };
        let message = format!("{} more {what} are not listed", self.dropped);
        (self.dropped > 0).then(|| Finding::new(self.part, "more_findings", None, message))
    }
}
