//! Where a file stands between a change's two ends.

use super::{HunkFit, PathConflict};
use crate::patch::diff::hunks;
use crate::patch::lines::lines;
use crate::patch::{Change, MAX_FILE, Operation, hunk};
use crate::workspace::{Revision, Snapshot, Workspace, WorkspaceError};

/// How far a change is from being made.
pub(super) enum Standing {
    /// Not at all.
    Base(Current),
    /// It is made.
    Result,
    /// The file is neither what the change starts from nor what it makes.
    Drifted(Current),
}

/// What is there now.
pub(super) struct Current {
    source: Option<Snapshot>,
    /// At a renamed file's new place.
    target: Option<Snapshot>,
}

impl Standing {
    pub(super) fn of(change: &Change, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        let source = workspace.snapshot(change.source(), MAX_FILE)?;
        let target = match change.from {
            Some(_) => workspace.snapshot(&change.path, MAX_FILE)?,
            None => None,
        };
        let (base, result) = (revision(change.before.as_ref()), revision(change.after.as_ref()));
        let current = Current { source, target };
        let source = revision(current.source.as_ref());
        let (at_base, at_result) = if change.from.is_some() {
            let target = revision(current.target.as_ref());
            // A crash may have left the file in both places: the old one is still to be removed.
            (source == base && (target.is_none() || target == result), source.is_none() && target == result)
        } else {
            let mode = |file: &Option<Snapshot>| file.as_ref().map(|file| file.mode);
            let mode_is_made = !change.mode_changes() || mode(&current.source) == mode(&change.after);
            (source == base, source == result && mode_is_made)
        };
        Ok(if at_result {
            Self::Result
        } else if at_base {
            Self::Base(current)
        } else {
            Self::Drifted(current)
        })
    }
}

impl Current {
    /// The change from what is there: only what the change does not speak of, the mode, is kept.
    pub(super) fn apply(self, change: &Change) -> Change {
        let mode = self.source.as_ref().map(|file| file.mode).filter(|_| !change.mode_changes());
        let after = change.after.clone().map(|after| Snapshot { mode: mode.unwrap_or(after.mode), ..after });
        Change { before: self.source, after, ..change.clone() }
    }

    /// The change as its hunks make it of the drifted file, if each fits in exactly one place.
    pub(super) fn patched(&self, change: &Change) -> Option<Change> {
        let hunks_decide = match change.operation() {
            Operation::Modify => true,
            Operation::Rename => self.target.is_none(),
            Operation::Create | Operation::Delete => false,
        };
        let current = self.source.as_ref().filter(|_| hunks_decide && !change.is_binary())?;
        let after = change.after.as_ref()?;
        let bytes = hunk::put(&lines(&current.bytes), &hunks(change))?;
        let mode = if change.mode_changes() { after.mode } else { current.mode };
        let after = Some(Snapshot { bytes: bytes.into(), mode });
        Some(Change { before: Some(current.clone()), after, ..change.clone() })
    }

    /// What is in the way.
    pub(super) fn conflict(&self, change: &Change) -> PathConflict {
        let (expected, actual) = (revision(change.before.as_ref()), revision(self.source.as_ref()));
        if expected == actual {
            let actual = revision(self.target.as_ref());
            return PathConflict { path: change.path.clone(), expected: None, actual, hunks: Vec::new() };
        }
        let file = lines(self.source.as_ref().map_or(&[], |file| &file.bytes));
        let hunks = hunks(change);
        let fits = hunks.iter().enumerate().map(|(index, hunk)| {
            // Nothing fits into a file that is not there.
            let places = if self.source.is_some() { hunk.places(&file).len() } else { 0 };
            HunkFit { hunk: index + 1, places }
        });
        PathConflict { path: change.source().clone(), expected, actual, hunks: fits.collect() }
    }
}

fn revision(file: Option<&Snapshot>) -> Option<Revision> {
    file.map(Snapshot::revision)
}
