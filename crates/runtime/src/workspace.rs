//! Where an agent works, and how far it reaches.

use std::path::{Path, PathBuf};

/// A directory tree that tools may not leave.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The tree below `root`, a directory that exists; its own symlinks are followed once, here.
    pub fn open(root: &Path) -> std::io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
