//! Runs in a Starling database, opened so that no byte of it or of its directory changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_event::{Record, v1};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use tempfile::TempDir;

use super::SourceError;

const PAGE_EVENTS: i64 = 512;

/// One run's log in a Starling database.
#[derive(Clone, Debug)]
pub struct StarlingRun {
    database: Arc<Database>,
    run_id: String,
}

/// A database file, or our private copy of it.
#[derive(Debug)]
struct Database {
    /// What the user named, for messages.
    named: PathBuf,
    /// What is opened.
    opened: PathBuf,
    /// Holds the copy until nobody needs it.
    copy: Option<TempDir>,
}

/// The runs in a Starling database; `None` if the database is something else.
pub(super) fn runs(path: &Path) -> Result<Option<Vec<StarlingRun>>, SourceError> {
    let database = Arc::new(Database::open(path)?);
    let failed = |source| SourceError::Database { path: path.to_owned(), source };
    let connection = database.connect()?;
    let known = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'eventlog_events'";
    if connection.query_row(known, [], |row| row.get::<_, i64>(0)).map_err(failed)? == 0 {
        return Ok(None);
    }
    let list = || -> rusqlite::Result<Vec<String>> {
        let mut ids = connection.prepare("SELECT DISTINCT run_id FROM eventlog_events ORDER BY run_id")?;
        ids.query_map([], |row| row.get(0))?.collect()
    };
    let run = |run_id| StarlingRun { database: Arc::clone(&database), run_id };
    Ok(Some(list().map_err(failed)?.into_iter().map(run).collect()))
}

impl StarlingRun {
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Result<Vec<Record>, SourceError>> {
        let failed = |source| SourceError::Database { path: self.database.named.clone(), source };
        let mut connection = Some(self.database.connect());
        let mut after = i64::MIN;
        std::iter::from_fn(move || {
            let open = match connection.take()? {
                Ok(open) => open,
                Err(err) => return Some(Err(err)),
            };
            match self.page(&open, after) {
                Ok((page, last)) => {
                    after = last;
                    connection = Some(Ok(open));
                    (!page.is_empty()).then_some(Ok(page))
                }
                Err(err) => Some(Err(failed(err))),
            }
        })
    }

    fn page(&self, connection: &Connection, after: i64) -> rusqlite::Result<(Vec<Record>, i64)> {
        let mut select = connection.prepare_cached(
            "SELECT seq, prev_hash, ts, kind, payload FROM eventlog_events
             WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        )?;
        let mut rows = select.query((&self.run_id, after, PAGE_EVENTS))?;
        let (mut page, mut last) = (Vec::new(), after);
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            page.push(self.record(row)?);
        }
        Ok((page, last))
    }

    fn record(&self, row: &Row<'_>) -> rusqlite::Result<Record> {
        let bytes = |column| -> rusqlite::Result<Option<Vec<u8>>> {
            match row.get_ref(column)? {
                ValueRef::Null => Ok(None),
                ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(Some(bytes.to_vec())),
                ValueRef::Integer(_) | ValueRef::Real(_) => row.get(column),
            }
        };
        let prev_hash = bytes(1)?;
        let seq: i64 = row.get(0)?;
        let header = v1::Header {
            run_id: &self.run_id,
            seq: u64::try_from(seq).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, seq))?,
            prev_hash: prev_hash.as_deref(),
            ts: row.get(2)?,
            kind: row.get(3)?,
        };
        let payload = bytes(4)?.filter(|payload| !payload.is_empty());
        Ok(Record { header: header.encode().into(), payload: payload.map(Into::into) })
    }
}

impl Database {
    /// Readers of a write-ahead log would create and change files beside it: with such a log the
    /// database is copied first, without one it is opened as a file that never changes.
    fn open(path: &Path) -> Result<Self, SourceError> {
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

    fn connect(&self) -> Result<Connection, SourceError> {
        let failed = |source| SourceError::Database { path: self.named.clone(), source };
        let opened = if self.copy.is_some() {
            Connection::open_with_flags(&self.opened, OpenFlags::SQLITE_OPEN_READ_WRITE)
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(&self.opened), flags)
        };
        opened.map_err(failed)
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
