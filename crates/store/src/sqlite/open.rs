//! Ways into the file: each leaves alone what it may not touch.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use super::SqliteOptions;
use super::layout::{self, APPLICATION_ID, CURRENT};
use super::wal::{self, Leftover};
use crate::error::{OpenError, Source};

/// How connections to one file are made.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) path: PathBuf,
    access: Access,
    busy_timeout: Duration,
    /// Where the store is read instead, if it cannot be read in its place.
    copy: Option<Arc<TempDir>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Beside a connection of our own that may write.
    Shared,
    /// For reading, while others may be writing.
    Guest,
    /// For reading a file that is complete in itself.
    Immutable,
}

/// Name of a private copy.
const COPY: &str = "copy.db";

impl Door {
    /// A connection that only reads.
    pub(super) fn reader(&self) -> rusqlite::Result<Connection> {
        let parameters = match self.access {
            Access::Shared => "mode=ro",
            Access::Guest => "mode=ro&readonly_shm=1",
            Access::Immutable => "mode=ro&immutable=1",
        };
        let copy = self.copy.as_ref().map(|folder| folder.path().join(COPY));
        let db = connect(copy.as_ref().unwrap_or(&self.path), parameters)?;
        db.busy_timeout(self.busy_timeout)?;
        Ok(db)
    }

    /// A connection that copies pages out of the write-ahead log.
    pub(super) fn checkpointer(&self) -> rusqlite::Result<Connection> {
        let db = connect(&self.path, "mode=rw")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        Ok(db)
    }
}

/// Opens or creates the store at `path`: the way in, the writing connection, and what to tell.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<(Door, Connection, Vec<String>), OpenError> {
    let fail = |source| unavailable(path, source);
    if !fs::exists(path).map_err(|err| fail(err.into()))? {
        create(path).map_err(fail)?;
    }
    let is_new = fs::metadata(path).map_err(|err| fail(err.into()))?.len() == 0;
    let leftover = if is_new { inspect_log(path)? } else { check_ours(path)? };
    let mut db = connect(path, "mode=rw").map_err(|err| classify(path, err))?;
    if !is_new {
        check_application(&db, path)?;
    }
    prepare(&mut db, path, options)?;
    let door = Door { path: path.into(), access: Access::Shared, busy_timeout: options.busy_timeout, copy: None };
    Ok((door, db, notes(leftover)))
}

/// Opens an existing store and changes no byte of it.
pub(super) fn open_read_only(path: &Path) -> Result<(Door, Vec<String>), OpenError> {
    let fail = |source| unavailable(path, source);
    fs::metadata(path).map_err(|err| fail(err.into()))?;
    let leftover = check_ours(path)?;
    let is_shared = fs::exists(beside(path, "-shm")).map_err(|err| fail(err.into()))?;
    let (access, copy) = match (leftover.commits > 0, is_shared) {
        (_, true) => (Access::Guest, None),
        // SQLite would have to make an index of the log beside it first.
        (true, false) => (Access::Shared, Some(copy(path).map_err(|err| fail(err.into()))?)),
        (false, false) => (Access::Immutable, None),
    };
    let busy_timeout = SqliteOptions::default().busy_timeout;
    let door = Door { path: path.into(), access, busy_timeout, copy: copy.map(Arc::new) };
    let db = door.reader().map_err(|err| classify(path, err))?;
    check_application(&db, path)?;
    refuse_newer(&db, path)?;
    if layout::version(&db).map_err(|err| classify(path, err))? < CURRENT {
        return Err(fail("its layout is older; open it once for writing to bring it up to date".into()));
    }
    Ok((door, [vec!["opened for reading only".into()], notes(leftover)].concat()))
}

/// A private copy of a store that nobody has open, with the log that its last user left behind.
fn copy(path: &Path) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join(COPY);
    fs::copy(path, &copy)?;
    fs::copy(wal_path(path), wal_path(&copy))?;
    Ok(folder)
}

/// The write-ahead log of the database at `path`.
pub(super) fn wal_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The path with `suffix` behind the file's name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn prepare(db: &mut Connection, path: &Path, options: &SqliteOptions) -> Result<(), OpenError> {
    refuse_newer(db, path)?;
    configure(db, options).map_err(|err| classify(path, err))?;
    layout::migrate(db).map_err(|err| classify(path, err))?;
    let mode: String =
        db.query_one("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(|err| classify(path, err))?;
    if mode != "wal" {
        return Err(unavailable(path, format!("its file system allows no write-ahead log ({mode})").into()));
    }
    Ok(())
}

fn configure(db: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    db.busy_timeout(options.busy_timeout)?;
    db.set_prepared_statement_cache_capacity(64);
    db.pragma_update(None, "synchronous", "FULL")?;
    // What is deleted is overwritten, so that erased content is not in free pages.
    db.query_one("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    // A large group stays in memory until its commit, instead of going to the log page by page before.
    db.pragma_update(None, "cache_size", -8192)?;
    // A log that one large batch blew up shrinks again.
    db.query_one("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))?;
    if let Some(bytes) = options.max_bytes {
        let page_size: u64 = db.query_one("PRAGMA page_size", [], |row| super::row::unsigned(row, 0))?;
        db.query_one(&format!("PRAGMA max_page_count = {}", (bytes / page_size).max(1)), [], |_| Ok(()))?;
    }
    Ok(())
}

/// Makes the file complete under another name first, so that nobody ever finds half a store.
fn create(path: &Path) -> Result<(), Source> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = draft_name(path);
    let made = draw_up(&draft).and_then(|()| match fs::hard_link(&draft, path) {
        // Another process was faster: its file is as good.
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => Ok(linked?),
    });
    let removed = fs::remove_file(&draft);
    made?;
    removed?;
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

fn draw_up(draft: &Path) -> Result<(), Source> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    let mut db = connect(draft, "mode=rw")?;
    layout::migrate(&mut db)?;
    db.query_one("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    db.close().map_err(|(_, err)| err)?;
    Ok(())
}

fn draft_name(path: &Path) -> PathBuf {
    beside(path, &format!("-new-{}-{}", std::process::id(), crate::clock::now().0))
}

/// Looks whether the file is ours, and at the write-ahead log beside it, before anything is changed.
///
/// A file that was being brought up to date from its log when the power went, or at this moment, makes
/// no sense without the log. Then only the two together can be judged, once they are open.
fn check_ours(path: &Path) -> Result<Leftover, OpenError> {
    match check_file(path) {
        Ok(()) => inspect_log(path),
        Err(damaged @ OpenError::Damaged { .. }) => {
            inspect_log(path).ok().filter(|leftover| leftover.commits > 0).ok_or(damaged)
        }
        Err(err) => Err(err),
    }
}

/// Looks at the file alone. Through SQLite, because a descriptor of our own would release this
/// process's locks on the file when it is closed.
fn check_file(path: &Path) -> Result<(), OpenError> {
    let db = connect(path, "mode=ro&immutable=1").map_err(|err| unavailable(path, err.into()))?;
    check_application(&db, path)?;
    refuse_newer(&db, path)?;
    // Reads the list of tables, without which nothing else can be read.
    db.query_one("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(|err| classify(path, err))
}

fn check_application(db: &Connection, path: &Path) -> Result<(), OpenError> {
    let foreign = |found: String| OpenError::Foreign { location: path.display().to_string(), found };
    match db.query_one("PRAGMA application_id", [], |row| row.get::<_, u32>(0)) {
        Ok(APPLICATION_ID) => Ok(()),
        Ok(found) => Err(foreign(format!("a SQLite database of another program, application id {found:#x}"))),
        Err(err) if err.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(foreign("not a SQLite database".into()))
        }
        Err(err) => Err(classify(path, err)),
    }
}

/// Looks at the write-ahead log before SQLite does, which would tidy it up.
fn inspect_log(path: &Path) -> Result<Leftover, OpenError> {
    let leftover = wal::inspect(&wal_path(path)).map_err(|err| unavailable(path, err.into()))?;
    check_version(leftover.user_version.unwrap_or_default(), path)?;
    Ok(leftover)
}

fn refuse_newer(db: &Connection, path: &Path) -> Result<(), OpenError> {
    check_version(layout::version(db).map_err(|err| classify(path, err))?, path)
}

fn check_version(found: u32, path: &Path) -> Result<(), OpenError> {
    if found > CURRENT {
        return Err(OpenError::Newer { location: path.display().to_string(), found, supported: CURRENT });
    }
    Ok(())
}

fn connect(path: &Path, parameters: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri(path, parameters), flags)?;
    // A statement is compiled once, and not again for other values.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(db)
}

/// The path as SQLite's URI, with the characters escaped that would end it.
fn uri(path: &Path, parameters: &str) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            other => uri.push(*other),
        }
    }
    uri.push(b'?');
    uri.extend_from_slice(parameters.as_bytes());
    std::ffi::OsString::from_vec(uri).into()
}

fn notes(leftover: Leftover) -> Vec<String> {
    let Leftover { commits, committed: _, torn, user_version: _ } = leftover;
    let mut notes = Vec::new();
    if commits > 0 {
        notes.push(format!("{commits} commits were still in the write-ahead log when it was opened; they are kept"));
    }
    if torn > 0 {
        notes.push(format!(
            "{torn} bytes of an unfinished write behind the last commit were dropped when it was opened"
        ));
    }
    notes
}

fn unavailable(path: &Path, source: Source) -> OpenError {
    OpenError::Unavailable { location: path.display().to_string(), source }
}

fn classify(path: &Path, err: rusqlite::Error) -> OpenError {
    match err.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenError::Damaged { location: path.display().to_string(), source: err.into() }
        }
        _ => unavailable(path, err.into()),
    }
}
