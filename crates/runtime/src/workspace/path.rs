//! Places in a workspace, as the log spells them.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A place relative to a workspace's root: components joined by `/`, none of them empty, `.` or `..`.
/// The root itself, which is the default, is `.`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// Reads a path that a model or a person wrote: relative to `root`, or absolute and below it. Purely
    /// by the text: what is on the disk is not looked at.
    pub fn parse(text: &str, root: &Path) -> Result<Self, PathError> {
        let outside = || PathError::Outside { given: text.to_owned() };
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let relative = if text.starts_with('/') {
            let root = root.to_str().ok_or_else(outside)?.trim_end_matches('/');
            let rest = text.strip_prefix(root).ok_or_else(outside)?;
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err(outside());
            }
            rest
        } else {
            text
        };
        let mut components = Vec::new();
        for component in relative.split('/') {
            match component {
                "" | "." => {}
                ".." => {
                    components.pop().ok_or_else(outside)?;
                }
                name => components.push(name),
            }
        }
        Ok(Self(components.join("/")))
    }

    /// Whether this is the root.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, as the log has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if self.is_root() { "." } else { &self.0 }
    }

    /// Its components from the root on; none for the root.
    pub(super) fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The path of the directory it is in (empty for the root) and its name there; `None` for the root.
    pub(super) fn split_last(&self) -> Option<(&str, &str)> {
        if self.is_root() { None } else { Some(self.0.rsplit_once('/').unwrap_or(("", &self.0))) }
    }

    /// Each directory on the way, the topmost first, and the path itself.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Self> {
        self.directories().chain([self.clone()])
    }

    /// The directories on the way, the topmost first; not the root.
    pub fn directories(&self) -> impl Iterator<Item = Self> {
        self.0.match_indices('/').map(|(at, _)| Self(self.0[..at].to_owned()))
    }

    /// Whether it is git's own, also where the file system takes no notice of case.
    #[must_use]
    pub fn is_git_owned(&self) -> bool {
        self.components().any(|name| name.eq_ignore_ascii_case(".git"))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<WorkspacePath> for String {
    fn from(path: WorkspacePath) -> Self {
        path.as_str().to_owned()
    }
}

impl TryFrom<String> for WorkspacePath {
    type Error = PathError;

    /// Reads a path from the log, which is never absolute.
    fn try_from(text: String) -> Result<Self, PathError> {
        if text.starts_with('/') { Err(PathError::Outside { given: text }) } else { Self::parse(&text, Path::new("/")) }
    }
}

/// A text that names no place in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It leads out.
    #[error("`{given}` is outside of the workspace; use a path below it, relative to its root")]
    Outside {
        /// What was given.
        given: String,
    },
    /// No file has such a name.
    #[error("a path cannot contain a NUL character")]
    Nul,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, PathError> {
        WorkspacePath::parse(text, Path::new("/home/me/project")).map(|path| path.to_string())
    }

    #[test]
    fn paths_that_stay_inside_have_one_spelling() {
        for (given, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("./src//main.rs", "src/main.rs"),
            ("src/../Cargo.toml", "Cargo.toml"),
            ("/home/me/project/src/main.rs", "src/main.rs"),
            ("/home/me/project", "."),
            ("", "."),
            (".", "."),
            ("..file", "..file"),
        ] {
            assert_eq!(parsed(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for given in [
            "..",
            "../x",
            "src/../../x",
            "/etc/passwd",
            "/home/me/project2/x",
            "/home/me/project/../x",
            "/proc/self/root/etc/passwd",
        ] {
            assert_eq!(parsed(given), Err(PathError::Outside { given: given.to_owned() }));
        }
        assert_eq!(parsed("a\0b"), Err(PathError::Nul));
    }

    #[test]
    fn what_is_gits_own_is_known_in_every_spelling() {
        let git_owned = |text| WorkspacePath::parse(text, Path::new("/")).unwrap().is_git_owned();
        assert!(git_owned(".git/config") && git_owned("a/.GIT/hooks/x") && git_owned(".git"));
        assert!(!git_owned(".gitignore") && !git_owned(".github/x"));
    }
}
