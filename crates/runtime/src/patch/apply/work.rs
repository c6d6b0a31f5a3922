//! The steps that make changes, and those back if one fails.

use super::ApplyError;
use crate::patch::Change;
use crate::workspace::{Locked, Snapshot, Staged, WorkspaceError};

/// A step that is about to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// New content is written beside its place.
    Stage,
    /// It goes into its place.
    Place,
    /// A file goes.
    Remove,
}

/// Changes whose start was found as it should be.
pub(super) struct Work<'a> {
    lock: &'a Locked<'a>,
    watch: &'a dyn Fn(Step),
    changes: Vec<Change>,
}

impl<'a> Work<'a> {
    pub(super) fn new(lock: &'a Locked<'a>, watch: &'a dyn Fn(Step)) -> Self {
        Self { lock, watch, changes: Vec::new() }
    }

    pub(super) fn add(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Makes all changes, in the order of their paths. First everything is written beside its place, so
    /// that a full disk is met before the first file has changed.
    pub(super) fn run(mut self) -> Result<(), ApplyError> {
        self.changes.sort_by(|a, b| a.path.cmp(&b.path));
        let mut staged = Vec::new();
        for change in &self.changes {
            match self.stage(change) {
                Ok(file) => staged.push(file),
                Err(source) => {
                    drop(staged);
                    return Err(self.put_back(source, 0));
                }
            }
        }
        for (index, file) in staged.into_iter().enumerate() {
            if let Err(source) = self.make(&self.changes[index], file) {
                return Err(self.put_back(source, index + 1));
            }
        }
        Ok(())
    }

    /// Clears away what a crash left of changes that are not made after all.
    pub(super) fn abandon(self) -> Result<(), ApplyError> {
        for change in &self.changes {
            self.lock.sweep(&change.path);
            if change.from.is_some() {
                (self.watch)(Step::Remove);
                self.lock.remove(&change.path)?;
            }
            self.lock.remove_empty_parents(&change.path, change.new_directories);
        }
        Ok(())
    }

    fn stage(&self, change: &Change) -> Result<Option<Staged>, WorkspaceError> {
        let Some(after) = &change.after else { return Ok(None) };
        (self.watch)(Step::Stage);
        self.lock.stage(&change.path, &after.bytes, Some(after.mode)).map(Some)
    }

    fn make(&self, change: &Change, file: Option<Staged>) -> Result<(), WorkspaceError> {
        // Whoever knows no lock may have written meanwhile: the shorter the time since, the better.
        let current = self.lock.workspace().revision(change.source())?;
        if current != change.before.as_ref().map(Snapshot::revision) {
            return Err(WorkspaceError::Busy { path: change.source().clone() });
        }
        if let Some(file) = file {
            (self.watch)(Step::Place);
            self.lock.place(file)?;
        }
        let gone = if change.after.is_none() { Some(&change.path) } else { change.from.as_ref() };
        if let Some(path) = gone {
            (self.watch)(Step::Remove);
            self.lock.remove(path)?;
            self.lock.remove_empty_parents(path, change.gone_directories);
        }
        Ok(())
    }

    /// Undoes the first `touched` changes, of which the last may be half done, after a failure.
    fn put_back(&self, source: WorkspaceError, touched: usize) -> ApplyError {
        let busy = match &source {
            // What another program has just written is its own.
            WorkspaceError::Busy { path } => Some(path.clone()),
            _ => None,
        };
        for change in self.changes[..touched].iter().rev().filter(|change| Some(change.source()) != busy.as_ref()) {
            let back = self.lock.restore(change.source(), change.before.as_ref()).and_then(|()| match &change.from {
                Some(_) => self.lock.remove(&change.path),
                None => Ok(()),
            });
            if back.is_err() {
                return ApplyError::HalfDone { path: change.path.clone(), source };
            }
        }
        for change in self.changes.iter().filter(|change| change.after.is_some()) {
            self.lock.remove_empty_parents(&change.path, change.new_directories);
        }
        ApplyError::Workspace(source)
    }
}
