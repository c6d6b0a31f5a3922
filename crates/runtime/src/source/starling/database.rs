//! A foreign SQLite database, opened so that no byte of it or of its directory changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::source::SourceError;

/// A database file, or our private copy of it.
#[derive(Debug)]
pub(super) struct Database {
    /// What the user named, for messages.
    named: PathBuf,
    /// What is opened.
    opened: PathBuf,
    /// Holds the copy until nobody needs it.
    copy: Option<TempDir>,
}

impl Database {
    /// Readers of a write-ahead log would create and change files beside it: with such a log the
    /// database is copied first, without one it is opened as a file that never changes.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let io_error = |source| SourceError::Io { path: path.to_owned(), source };
        let wal = beside(path, "-wal");
        let has_wal = match fs::metadata(&wal) {
            Ok(found) => found.len() > 0,
            Err(err) if err.kind() == io::ErrorKind::NotFound => false,
            Err(err) => return Err(io_error(err)),
        };
        if !has_wal {
            return Ok(Self { named: path.to_owned(), opened: path.to_owned(), copy: None });
        }
        let directory = tempfile::Builder::new().prefix("r1-").tempdir().map_err(io_error)?;
        let copy = directory.path().join("log.db");
        fs::copy(path, &copy).map_err(io_error)?;
        fs::copy(&wal, beside(&copy, "-wal")).map_err(io_error)?;
        Ok(Self { named: path.to_owned(), opened: copy, copy: Some(directory) })
    }

    pub(super) fn connect(&self) -> Result<Connection, SourceError> {
        let opened = if self.copy.is_some() {
            Connection::open_with_flags(&self.opened, OpenFlags::SQLITE_OPEN_READ_WRITE)
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(&self.opened), flags)
        };
        opened.map_err(|err| self.error(err))
    }

    /// What SQLite says, about the file that the user knows.
    pub(super) fn error(&self, source: rusqlite::Error) -> SourceError {
        SourceError::Database { path: self.named.clone(), source }
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The path as a SQLite URI; what has a meaning in URIs is escaped.
fn immutable_uri(path: &Path) -> String {
    let path = path.to_string_lossy();
    let escaped: String = path
        .chars()
        .map(|c| match c {
            '%' => "%25".to_owned(),
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            other => other.to_string(),
        })
        .collect();
    format!("file:{escaped}?immutable=1")
}
