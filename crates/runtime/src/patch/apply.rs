//! Making changes in a workspace: all of them or none.

mod standing;
mod work;

use std::collections::BTreeSet;
use std::io;

use super::Change;
use crate::workspace::{Revision, Workspace, WorkspaceError, WorkspacePath};

use standing::Standing;
use work::{Step, Work};

/// Changes that are made together. Each path belongs to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    changes: Vec<Change>,
}

/// How a batch is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a file that has drifted is patched where every hunk fits in exactly one place.
    pub allow_offset: bool,
    /// Whether the batch was begun before, by a process that died: then what is already done counts, and
    /// if the rest cannot be done, it is undone.
    pub recover: bool,
}

/// What was done, in the order of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Each change as it was really made: in a drifted file that is another one than was asked for.
    pub changes: Vec<Change>,
}

impl Batch {
    /// These changes; refused if two of them touch the same path.
    pub fn new(changes: Vec<Change>) -> Result<Self, ApplyError> {
        let mut seen = BTreeSet::new();
        for change in &changes {
            let paths = [Some(change.path.clone()), change.from.clone()];
            for path in paths.into_iter().flatten() {
                if !seen.insert(path.clone()) {
                    return Err(ApplyError::Twice { path });
                }
            }
        }
        Ok(Self { changes })
    }

    /// The changes.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What undoes them.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { changes: self.changes.iter().map(Change::reversed).collect() }
    }

    /// Makes them, or leaves the tree as it is. What is already as it should be counts as made. Blocks.
    pub fn apply(&self, workspace: &Workspace, options: Options) -> Result<Applied, ApplyError> {
        self.apply_watched(workspace, options, &|_| {})
    }

    /// The same; `watch` hears of each step before it is taken.
    fn apply_watched(
        &self,
        workspace: &Workspace,
        options: Options,
        watch: &dyn Fn(Step),
    ) -> Result<Applied, ApplyError> {
        let lock = workspace.lock().map_err(ApplyError::Lock)?;
        let mut made = Vec::new();
        let mut work = Work::new(&lock, watch);
        let mut done = Vec::new();
        let mut conflicts = Vec::new();
        for change in &self.changes {
            match Standing::of(change, workspace)? {
                Standing::Result => {
                    done.push(change);
                    made.push(change.clone());
                }
                Standing::Base(current) => {
                    let change = current.apply(change);
                    work.add(change.clone());
                    made.push(change);
                }
                Standing::Drifted(drift) => match drift.patched(change).filter(|_| options.allow_offset) {
                    Some(change) => {
                        work.add(change.clone());
                        made.push(change);
                    }
                    None => conflicts.push(drift.conflict(change)),
                },
            }
        }
        if conflicts.is_empty() {
            work.run()?;
            return Ok(Applied { changes: made });
        }
        if options.recover {
            let mut undo = Work::new(&lock, watch);
            done.into_iter().for_each(|change| undo.add(change.reversed()));
            undo.run()?;
            work.abandon()?;
        }
        Err(ApplyError::Conflict(Conflict { paths: conflicts }))
    }
}

/// Files are not what the changes start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Each file that is not.
    pub paths: Vec<PathConflict>,
}

/// A file that is not what a change starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConflict {
    /// Where.
    pub path: WorkspacePath,
    /// What should be there.
    pub expected: Option<Revision>,
    /// What is there.
    pub actual: Option<Revision>,
    /// Which parts of the change would still fit.
    pub hunks: Vec<HunkFit>,
}

/// Whether a hunk would still fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HunkFit {
    /// Which, from 1.
    pub hunk: usize,
    /// In how many places; in exactly one it can be put.
    pub places: usize,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, conflict) in self.paths.iter().enumerate() {
            let fitting = conflict.hunks.iter().filter(|fit| fit.places == 1).count();
            let separator = if index > 0 { "; " } else { "" };
            write!(f, "{separator}`{}` ", conflict.path)?;
            match (conflict.expected, conflict.actual) {
                (None, _) => f.write_str("exists already")?,
                (Some(_), None) => f.write_str("is gone")?,
                (Some(_), Some(_)) => {
                    write!(f, "has changed since; {fitting} of {} hunks would still fit", conflict.hunks.len())?;
                }
            }
        }
        Ok(())
    }
}

/// Changes were not made.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Files are not what the changes start from. The tree is as it was.
    #[error("{0}")]
    Conflict(Conflict),
    /// Two changes of one file cannot be told apart when they are undone.
    #[error("`{path}` is changed twice; put the changes of a file into one")]
    Twice {
        /// Which.
        path: WorkspacePath,
    },
    /// A file cannot be read or written. The tree is as it was.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The workspace cannot be locked.
    #[error("the workspace cannot be locked")]
    Lock(#[source] io::Error),
    /// It failed half way, and so did undoing the first half.
    #[error("`{path}` could not be put back after a failure; look at it before you go on")]
    HalfDone {
        /// Which.
        path: WorkspacePath,
        /// What went wrong first.
        #[source]
        source: WorkspaceError,
    },
}

impl ApplyError {
    /// The whole story in a line, for a model: it sees no chain of sources.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Workspace(err) => err.line(),
            Self::HalfDone { source, .. } => format!("{self}: {}", source.line()),
            Self::Lock(source) => format!("{self}: {source}"),
            Self::Conflict(_) | Self::Twice { .. } => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
