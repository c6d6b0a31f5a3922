//! Logs wherever they are: in a store, in a file that R1 wrote, in one of Starling's.
//!
//! A [`LogFile`] is a file by its content or name; a [`Log`] is one run's log in it, readable from its
//! beginning as often as needed, a page at a time. Reading changes no byte of a foreign file.

mod exchange_file;
mod starling;
mod stored;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use exchange_file::FileRun;
use r1_event::exchange::{ExchangeError, ExchangeProblem, FileKind, Format, SNIFF_LEN, sniff};
use r1_event::validate::{Findings, Standing};
use r1_event::{Record, SideRecord};
use r1_store::{PostgresUrl, SharedStore, StoreError};
pub use starling::StarlingRun;
pub use stored::StoredRun;

/// What a file turned out to be.
pub enum LogFile {
    /// Logs of one or more runs.
    Logs(Vec<Log>),
    /// A SQLite file that is none of Starling's: to be opened as an R1 store.
    Store(PathBuf),
}

/// One run's log.
pub enum Log {
    /// In a store.
    Stored(StoredRun),
    /// In an exchange file.
    File(FileRun),
    /// In a Starling database.
    Starling(StarlingRun),
}

/// Events of a log in order, a page at a time. Blocks: not for an async thread.
pub type Pages<'a> = Box<dyn Iterator<Item = Result<Vec<Record>, SourceError>> + 'a>;

impl Log {
    /// The run, if its first event could be read.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Stored(run) => Some(run.run().as_str()),
            Self::File(run) => run.run_id(),
            Self::Starling(run) => Some(run.run_id()),
        }
    }

    /// The store that it is in.
    #[must_use]
    pub const fn store(&self) -> Option<&SharedStore> {
        match self {
            Self::Stored(run) => Some(run.store()),
            Self::File(_) | Self::Starling(_) => None,
        }
    }

    /// What is kept beside the log.
    #[must_use]
    pub fn side_records(&self) -> &[SideRecord] {
        match self {
            Self::Stored(run) => run.side_records(),
            Self::File(run) => run.side_records(),
            Self::Starling(_) => &[],
        }
    }

    /// What its store has noted of it.
    #[must_use]
    pub const fn standing(&self) -> Option<&Standing> {
        match self {
            Self::Stored(run) => run.standing(),
            Self::File(_) | Self::Starling(_) => None,
        }
    }

    /// What only the bytes it was read from show.
    #[must_use]
    pub fn findings(&self) -> Findings {
        match self {
            Self::File(run) => run.findings().clone(),
            Self::Starling(run) => run.findings(),
            Self::Stored(_) => Findings::default(),
        }
    }

    /// Where and why the file could not be read any further after this log's last event.
    #[must_use]
    pub const fn damage(&self) -> Option<&ExchangeError> {
        match self {
            Self::File(run) => run.damage(),
            Self::Stored(_) | Self::Starling(_) => None,
        }
    }

    /// Whether payload bytes had to be rebuilt from the JSON of a Starling export.
    #[must_use]
    pub const fn is_rebuilt(&self) -> bool {
        match self {
            Self::File(run) => run.is_rebuilt(),
            Self::Stored(_) | Self::Starling(_) => false,
        }
    }

    /// The events from the beginning.
    #[must_use]
    pub fn pages(&self) -> Pages<'_> {
        match self {
            Self::Stored(run) => Box::new(run.pages()),
            Self::File(run) => Box::new(run.pages()),
            Self::Starling(run) => Box::new(run.pages()),
        }
    }
}

/// Opens a file by its content, or by its name where the content does not tell.
pub fn open_file(path: &Path) -> Result<LogFile, SourceError> {
    let io_error = |source| SourceError::Io { path: path.to_owned(), source };
    if path.to_str().is_some_and(|path| PostgresUrl::recognise(path).is_some()) {
        return Err(SourceError::Address);
    }
    if path.is_dir() {
        return Err(SourceError::Directory { path: path.to_owned() });
    }
    let about = fs::metadata(path).map_err(io_error)?;
    if !about.is_file() {
        return open_pipe(path);
    }
    let mut start = Vec::with_capacity(SNIFF_LEN);
    File::open(path).and_then(|file| file.take(SNIFF_LEN as u64).read_to_end(&mut start)).map_err(io_error)?;
    match (sniff(&start), Format::of_name(path)) {
        (FileKind::Empty, _) => Err(SourceError::Empty { path: path.to_owned() }),
        (FileKind::Sqlite, _) => Ok(match starling::runs(path)? {
            Some(runs) => LogFile::Logs(runs.into_iter().map(Log::Starling).collect()),
            None => LogFile::Store(path.to_owned()),
        }),
        (FileKind::Log(format), _) | (FileKind::Unknown, Some(format)) => {
            exchange_file::runs(path, format).map(|runs| LogFile::Logs(runs.into_iter().map(Log::File).collect()))
        }
        (FileKind::Unknown, None) => Err(SourceError::Foreign { path: path.to_owned() }),
    }
}

/// Opens a file to be checked: one that is named like a log is a log, also if it has no events or not one that
/// can be read. Only whole objects of some other JSON are none.
pub fn open_file_to_check(path: &Path) -> Result<LogFile, SourceError> {
    let Some(format) = Format::of_name(path) else { return open_file(path) };
    let without_events = |damage| Ok(LogFile::Logs(vec![Log::File(FileRun::without_events(path, format, damage))]));
    match open_file(path) {
        Err(SourceError::Empty { .. }) => without_events(None),
        Err(SourceError::NotALog { source, .. }) if source.problem != ExchangeProblem::Foreign => {
            without_events(Some(source))
        }
        opened => opened,
    }
}

/// A log is read more than once, a pipe can be read only once: its content is put into a private file.
fn open_pipe(path: &Path) -> Result<LogFile, SourceError> {
    let io_error = |source| SourceError::Io { path: path.to_owned(), source };
    let mut spool = tempfile::NamedTempFile::new().map_err(io_error)?;
    let mut pipe = File::open(path).map_err(io_error)?;
    io::copy(&mut pipe, spool.as_file_mut()).map_err(io_error)?;
    let spool = Arc::new(spool.into_temp_path());
    match open_file(&spool).map_err(|err| err.about(path))? {
        LogFile::Store(_) => Err(SourceError::Foreign { path: path.to_owned() }),
        LogFile::Logs(logs) => {
            let hold = |log| match log {
                Log::File(run) => Log::File(run.held_by(Arc::clone(&spool))),
                other @ (Log::Stored(_) | Log::Starling(_)) => other,
            };
            Ok(LogFile::Logs(logs.into_iter().map(hold).collect()))
        }
    }
}

/// How many events were read so far, for whoever shows progress.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// How many.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one page.
    pub fn add(&self, events: usize) {
        self.0.fetch_add(events as u64, Ordering::Relaxed);
    }
}

impl SourceError {
    /// The same, about the file that the user knows.
    fn about(mut self, named: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::Directory { path }
            | Self::Empty { path }
            | Self::Foreign { path }
            | Self::NotALog { path, .. }
            | Self::Changed { path }
            | Self::Database { path, .. } => named.clone_into(path),
            Self::Store(_) | Self::Address => {}
        }
        self
    }
}

/// A log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read at all.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is the address of a database, and not repeated: it may hold a password.
    #[error("the address of a PostgreSQL database is no file")]
    Address,
    /// A directory.
    #[error("{} is a directory", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
    },
    /// Nothing in it.
    #[error("{} is empty", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// Something else.
    #[error("{} is no log that r1 knows", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// It begins like a log, but no event can be read.
    #[error("{} is no log that r1 can read", path.display())]
    NotALog {
        /// Which.
        path: PathBuf,
        /// What is wrong with its first item.
        #[source]
        source: ExchangeError,
    },
    /// The file changed while it was read.
    #[error("{} changed while it was read", path.display())]
    Changed {
        /// Which.
        path: PathBuf,
    },
    /// The database cannot be read.
    #[error("cannot read the database {}", path.display())]
    Database {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
