//! Changes of files: worked out, shown, made and unmade.
//!
//! - [`Change`]: one file before and after; [`mod@diff`] shows it as people and git read it.
//! - [`Batch`]: changes that are made together or not at all, and unmade the same way.
//! - [`Wanted`]: what a model's patch asks for, in either of the two forms that models write.
//!
//! The bytes before and after are kept, so making and unmaking a change is exact. Only where a file has
//! drifted, and only if that is allowed, the hunks decide.

pub mod apply;
pub mod diff;
mod facts;
mod fit;
mod hunk;
mod lines;
mod marked;
mod unified;
mod wanted;

pub use apply::{Applied, ApplyError, Batch, Conflict, HunkFit, Options, PathConflict};
pub use diff::{Diff, Stats, diff};
pub use facts::{Operation, PatchFacts, Version};
pub use fit::FitError;
pub use hunk::{Hunk, HunkLine, Tag};
pub use lines::is_binary;
pub use wanted::{ParseError, Piece, Wanted, WantedError};

use crate::workspace::{Snapshot, Workspace, WorkspaceError, WorkspacePath};

/// The longest file that is edited; a patch is never cut.
pub const MAX_FILE: u64 = 64 << 20;

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it is afterwards; of a removed file, where it was.
    pub path: WorkspacePath,
    /// Where it was before, if it is renamed.
    pub from: Option<WorkspacePath>,
    /// The file before; `None` if it is new.
    pub before: Option<Snapshot>,
    /// The file after; `None` if it is removed.
    pub after: Option<Snapshot>,
    /// How many directories come into being with the file at its new place.
    pub new_directories: usize,
    /// How many directories go with the file at its old place: those that came with it.
    pub gone_directories: usize,
}

impl Change {
    /// The change that gives `path` this content: what is there is looked up. The mode stays; a new
    /// file's is that of any new file.
    pub fn to(workspace: &Workspace, path: WorkspacePath, bytes: Vec<u8>) -> Result<Self, WorkspaceError> {
        let before = workspace.snapshot(&path, MAX_FILE)?;
        let mode = before.as_ref().map_or(NEW_FILE_MODE, |before| before.mode);
        let after = Some(Snapshot { bytes: bytes.into(), mode });
        let new_directories = if before.is_some() { 0 } else { missing_directories(workspace, &path)? };
        Ok(Self { path, from: None, before, after, new_directories, gone_directories: 0 })
    }

    /// The change that gives a file other content and leaves it its mode.
    #[must_use]
    pub fn of(path: WorkspacePath, before: Snapshot, bytes: Vec<u8>) -> Self {
        let after = Some(Snapshot { bytes: bytes.into(), mode: before.mode });
        Self { path, from: None, before: Some(before), after, new_directories: 0, gone_directories: 0 }
    }

    /// The change back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let (path, from) = match &self.from {
            Some(from) => (from.clone(), Some(self.path.clone())),
            None => (self.path.clone(), None),
        };
        Self {
            path,
            from,
            before: self.after.clone(),
            after: self.before.clone(),
            new_directories: self.gone_directories,
            gone_directories: self.new_directories,
        }
    }

    /// Where the file is before the change.
    #[must_use]
    pub fn source(&self) -> &WorkspacePath {
        self.from.as_ref().unwrap_or(&self.path)
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.from.is_none() && self.before == self.after
    }

    /// What kind of change it is.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match (&self.from, &self.before, &self.after) {
            (Some(_), _, _) => Operation::Rename,
            (None, None, _) => Operation::Create,
            (None, Some(_), None) => Operation::Delete,
            (None, Some(_), Some(_)) => Operation::Modify,
        }
    }

    /// Whether lines say nothing about it.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(|file| is_binary(&file.bytes))
    }

    fn mode_changes(&self) -> bool {
        matches!((&self.before, &self.after), (Some(before), Some(after)) if before.mode != after.mode)
    }
}

/// Mode of a file that a patch creates.
pub(crate) const NEW_FILE_MODE: u32 = 0o644;

/// How many of the directories on the way to `path` are not there.
pub(crate) fn missing_directories(workspace: &Workspace, path: &WorkspacePath) -> Result<usize, WorkspaceError> {
    let mut missing = 0;
    for directory in path.directories() {
        if missing > 0 || workspace.entry(&directory)?.is_none() {
            missing += 1;
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests;
