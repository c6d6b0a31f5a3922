//! The directory where R1 keeps what is its user's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `$R1_HOME`: store, keys and keyring. Only its owner can look inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The home at `root`, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Where runs are kept unless the user says otherwise.
    #[must_use]
    pub fn default_store(&self) -> PathBuf {
        self.root.join("r1.db")
    }

    /// Private keys.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// Public keys and what they count for.
    #[must_use]
    pub fn keyring(&self) -> PathBuf {
        self.root.join("keyring")
    }

    /// Receipts of the runs that were carried out here.
    #[must_use]
    pub fn receipts(&self) -> PathBuf {
        self.root.join("receipts")
    }

    /// The log of receipts, one for each key that signs one.
    #[must_use]
    pub fn instance_log(&self) -> PathBuf {
        self.root.join("receipt-log")
    }

    /// The key of the marks that stand where secrets were.
    #[must_use]
    pub fn redaction_key(&self) -> PathBuf {
        self.root.join("redaction.key")
    }

    /// Makes sure that the directory is there.
    pub fn create(&self) -> Result<(), HomeError> {
        create_private_dir(&self.root)
    }
}

/// Creates a directory that only its owner can look into, and what is missing above it. One that is
/// there already stays as it is.
pub(crate) fn create_private_dir(path: &Path) -> Result<(), HomeError> {
    let failed = |source| HomeError { path: path.to_owned(), source };
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed)
}

/// R1's directory cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the directory {}", path.display())]
pub struct HomeError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}
