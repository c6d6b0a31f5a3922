//! What a model's patch asks for.

use super::fit::{FitError, fit};
use super::hunk::HunkLine;
use super::{Change, MAX_FILE, NEW_FILE_MODE, marked, missing_directories, unified};
use crate::workspace::{PathError, Snapshot, Workspace, WorkspaceError};

/// What a patch asks for in one file. Paths are as the model wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A new file.
    Create {
        /// Where.
        path: String,
        /// With what.
        content: Vec<u8>,
        /// Whether it can be run.
        executable: bool,
    },
    /// A file less.
    Delete {
        /// Which.
        path: String,
    },
    /// A file changed.
    Update {
        /// Which.
        path: String,
        /// Its new path.
        move_to: Option<String>,
        /// Whether it can be run afterwards, if that changes.
        executable: Option<bool>,
        /// What changes in it.
        pieces: Vec<Piece>,
    },
}

/// Lines that a patch changes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// A line above, such as that of the function.
    pub anchor: Option<String>,
    /// Where the patch says that it is, from 0.
    pub hint: Option<usize>,
    /// Whether it must be at the end of the file.
    pub at_end: bool,
    /// Whether the patch says if the new file's last line has an end.
    pub final_newline: Option<bool>,
    /// Its lines.
    pub lines: Vec<HunkLine>,
}

impl Wanted {
    /// Reads a patch in either form: a unified diff, or one between `*** Begin Patch` and `*** End Patch`.
    pub fn parse(text: &str) -> Result<Vec<Self>, ParseError> {
        let wanted = match marked::body(text) {
            Some(body) => marked::parse(body)?,
            None => unified::parse(text)?,
        };
        if wanted.is_empty() { Err(ParseError::Nothing) } else { Ok(wanted) }
    }

    /// The paths that it touches, as the model wrote them.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, other) = match self {
            Self::Create { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_deref()),
        };
        [Some(path.as_str()), other].into_iter().flatten()
    }

    /// Works out what it changes in the files as they are.
    pub fn change(&self, workspace: &Workspace) -> Result<Change, WantedError> {
        let mode = |executable| if executable { NEW_FILE_MODE | 0o111 } else { NEW_FILE_MODE };
        match self {
            Self::Create { path, content, executable } => {
                let path = workspace.path(path)?;
                if workspace.entry(&path)?.is_some() {
                    return Err(WantedError::Exists { path: path.to_string() });
                }
                let after = Some(Snapshot { bytes: content.clone().into(), mode: mode(*executable) });
                let new_directories = missing_directories(workspace, &path)?;
                Ok(Change { path, from: None, before: None, after, new_directories, gone_directories: 0 })
            }
            Self::Delete { path } => {
                let path = workspace.path(path)?;
                let before = workspace.snapshot(&path, MAX_FILE)?;
                if before.is_none() {
                    return Err(WorkspaceError::Missing { path }.into());
                }
                Ok(Change { path, from: None, before, after: None, new_directories: 0, gone_directories: 0 })
            }
            Self::Update { path, move_to, executable, pieces } => {
                let source = workspace.path(path)?;
                let Some(before) = workspace.snapshot(&source, MAX_FILE)? else {
                    return Err(WorkspaceError::Missing { path: source }.into());
                };
                let fitted = fit(&before.bytes, pieces);
                let bytes = fitted.map_err(|reason| WantedError::Fit { path: source.to_string(), reason })?;
                let mode = match executable {
                    Some(true) => before.mode | ((before.mode & 0o444) >> 2),
                    Some(false) => before.mode & !0o111,
                    None => before.mode,
                };
                let after = Some(Snapshot { bytes: bytes.into(), mode });
                let target = move_to.as_ref().map(|target| workspace.path(target)).transpose()?;
                let (path, from, new_directories) = match target.filter(|target| *target != source) {
                    Some(target) => {
                        if workspace.entry(&target)?.is_some() {
                            return Err(WantedError::Exists { path: target.to_string() });
                        }
                        let new_directories = missing_directories(workspace, &target)?;
                        (target, Some(source), new_directories)
                    }
                    None => (source, None, 0),
                };
                Ok(Change { path, from, before: Some(before), after, new_directories, gone_directories: 0 })
            }
        }
    }
}

/// A patch does not fit the files as they are.
#[derive(Debug, thiserror::Error)]
pub enum WantedError {
    /// A file that should be new is not.
    #[error("`{path}` exists already; update it instead, or choose another path")]
    Exists {
        /// Which.
        path: String,
    },
    /// Its lines are not in the file.
    #[error("`{path}`: {reason}")]
    Fit {
        /// Which.
        path: String,
        /// Why.
        reason: FitError,
    },
    /// A path leads out.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// A text that is no patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A line that belongs to nothing.
    #[error("line {line} of the patch cannot be read: {problem}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Content that only the bytes themselves could say.
    #[error("line {line} of the patch: binary files cannot be patched")]
    Binary {
        /// Which, from 1.
        line: usize,
    },
    /// No file is named.
    #[error("the patch changes no file; send a unified diff, or one between `*** Begin Patch` and `*** End Patch`")]
    Nothing,
}

#[cfg(test)]
mod tests;
