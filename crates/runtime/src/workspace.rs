//! Where an agent works, and how far it reaches.
//!
//! - [`Workspace`]: a directory tree that tools may not leave. Reading is free.
//! - [`WorkspacePath`]: a place in it, as the log spells it.
//! - [`Locked`]: the right to change it; one holder at a time, over all processes.
//!
//! Every file is reached from the open root directory, component by component, and no symbolic link is
//! ever followed: neither `..`, nor links, nor a directory that is swapped for a link meanwhile lead out.
//! It also gives each file one name, so that what a policy says of a path holds for the file.

mod beneath;
mod locked;
pub(crate) mod own;
mod path;
mod revision;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

pub use locked::{Locked, Staged};
pub use path::{PathError, WorkspacePath};
pub use revision::{NotARevision, Revision};

use beneath::Reach;

/// A directory tree that tools may not leave. Clones share it.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: Arc<Root>,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    directory: OwnedFd,
    reach: Reach,
}

/// A file as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its content.
    pub bytes: Bytes,
    /// Its permission bits.
    pub mode: u32,
}

impl Snapshot {
    /// What names the content.
    #[must_use]
    pub fn revision(&self) -> Revision {
        Revision::of(&self.bytes)
    }
}

impl Workspace {
    /// The tree below `root`, a directory that exists; its own symlinks are followed once, here.
    pub fn open(root: &Path) -> io::Result<Self> {
        Self::with_reach(root, Reach::detect())
    }

    fn with_reach(root: &Path, reach: Reach) -> io::Result<Self> {
        let path = root.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Self { root: Arc::new(Root { path, directory, reach }) })
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.path
    }

    /// The place that `text` names: relative to the root, or absolute and below it.
    pub fn path(&self, text: &str) -> Result<WorkspacePath, PathError> {
        WorkspacePath::parse(text, &self.root.path)
    }

    /// Opens a regular file to read it.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<File, WorkspaceError> {
        let (parent, name) = self.place(path)?;
        // Looked at first: merely opening a device can do something.
        match stat(&parent, name, path)? {
            Some(stat) => self.regular(&stat, path)?,
            None => return Err(WorkspaceError::Missing { path: path.clone() }),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::empty()).map_err(|err| self.explain(path, err))?;
        self.regular(&rustix::fs::fstat(&file).map_err(|err| failed(path, err))?, path)?;
        Ok(File::from(file))
    }

    /// A file's content and mode; `None` if there is none. Refused if it is longer than `limit`.
    pub fn snapshot(&self, path: &WorkspacePath, limit: u64) -> Result<Option<Snapshot>, WorkspaceError> {
        let file = match self.open_file(path) {
            Ok(file) => file,
            Err(WorkspaceError::Missing { .. }) => return Ok(None),
            Err(err) => return Err(err),
        };
        let stat = rustix::fs::fstat(&file).map_err(|err| failed(path, err))?;
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file that is too long, also one that grows meanwhile.
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| WorkspaceError::Failed { path: path.clone(), source })?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(WorkspaceError::TooLarge { path: path.clone(), limit });
        }
        Ok(Some(Snapshot { bytes: bytes.into(), mode: permissions(&stat) }))
    }

    /// What names a file's content now; `None` if there is no file. The content is not held in memory.
    pub fn revision(&self, path: &WorkspacePath) -> Result<Option<Revision>, WorkspaceError> {
        match self.open_file(path) {
            Ok(file) => match Revision::read(file) {
                Ok(revision) => Ok(Some(revision)),
                Err(source) => Err(WorkspaceError::Failed { path: path.clone(), source }),
            },
            Err(WorkspaceError::Missing { .. }) => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// What is there, without opening it; `None` if nothing is.
    pub fn entry(&self, path: &WorkspacePath) -> Result<Option<Entry>, WorkspaceError> {
        if path.is_root() {
            return Ok(Some(Entry::Directory));
        }
        let (parent, name) = match self.place(path) {
            Ok(place) => place,
            Err(WorkspaceError::Missing { .. }) => return Ok(None),
            Err(err) => return Err(err),
        };
        Ok(stat(&parent, name, path)?.map(|stat| match file_type(&stat) {
            FileType::RegularFile => Entry::File { size: u64::try_from(stat.st_size).unwrap_or(0) },
            FileType::Directory => Entry::Directory,
            FileType::Symlink => Entry::Link,
            _ => Entry::Special,
        }))
    }

    /// Whether a file could be written there, as far as can be seen without doing it.
    pub fn check_writable(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        if path.is_git_owned() {
            return Err(WorkspaceError::GitOwned { path: path.clone() });
        }
        match self.place(path) {
            Ok((parent, name)) => match stat(&parent, name, path)? {
                Some(stat) => {
                    self.regular(&stat, path)?;
                    locked::sole_name(&stat, path)
                }
                None => Ok(()),
            },
            // Directories on the way are made.
            Err(WorkspaceError::Missing { .. }) => Ok(()),
            Err(err) => Err(err),
        }
    }

    /// Waits for the right to change the tree. Blocks: call it where blocking is allowed.
    pub fn lock(&self) -> io::Result<Locked<'_>> {
        Locked::wait(self)
    }

    /// The open directory of `path`'s last component, and that component.
    fn place<'a>(&self, path: &'a WorkspacePath) -> Result<(OwnedFd, &'a str), WorkspaceError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(WorkspaceError::NotAFile { path: path.clone(), what: "a directory" });
        };
        let directory = self.root.reach.directory(&self.root.directory, parent);
        Ok((directory.map_err(|err| self.explain(path, err))?, name))
    }

    fn regular(&self, stat: &Stat, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let what = match file_type(stat) {
            FileType::RegularFile => return Ok(()),
            FileType::Symlink => return Err(self.explain(path, Errno::LOOP)),
            FileType::Directory => "a directory",
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Unknown => "of an unknown type",
        };
        Err(WorkspaceError::NotAFile { path: path.clone(), what })
    }

    /// Turns what the system says into what the caller can act on.
    fn explain(&self, path: &WorkspacePath, err: Errno) -> WorkspaceError {
        match err {
            Errno::NOENT => WorkspaceError::Missing { path: path.clone() },
            // A link says "too many links" or "not a directory", depending on how it was met.
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::MLINK => match self.first_link(path) {
                Some((link, target)) => WorkspaceError::Link { path: path.clone(), link, target },
                None => WorkspaceError::NotADirectory { path: path.clone() },
            },
            err => failed(path, err),
        }
    }

    /// The first symbolic link on the way, and where it points.
    fn first_link(&self, path: &WorkspacePath) -> Option<(String, String)> {
        path.ancestors().find_map(|ancestor| {
            let (parent, name) = ancestor.split_last()?;
            let directory = self.root.reach.directory(&self.root.directory, parent).ok()?;
            let target = rustix::fs::readlinkat(&directory, name, Vec::new()).ok()?;
            Some((ancestor.to_string(), target.to_string_lossy().into_owned()))
        })
    }
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// How long.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link, which is never followed.
    Link,
    /// A device, a pipe, a socket.
    Special,
}

/// A file was not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is none of this workspace.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nothing is there.
    #[error("`{path}` does not exist")]
    Missing {
        /// Where.
        path: WorkspacePath,
    },
    /// A directory on the way is none.
    #[error("`{path}` leads through something that is not a directory")]
    NotADirectory {
        /// Where.
        path: WorkspacePath,
    },
    /// Links are not followed, wherever they lead.
    #[error(
        "`{link}` is a symbolic link to `{target}`, and links are not followed; \
         if that is inside the workspace, use its own path"
    )]
    Link {
        /// What was asked for.
        path: WorkspacePath,
        /// The link, `path` or a directory on the way.
        link: String,
        /// What it says.
        target: String,
    },
    /// Only regular files are read and written.
    #[error("`{path}` is {what}, not a file")]
    NotAFile {
        /// Where.
        path: WorkspacePath,
        /// What it is.
        what: &'static str,
    },
    /// A second name of the file may be outside of the workspace.
    #[error(
        "`{path}` has {links} hard links, of which some may be outside of the workspace; copy it before you edit it"
    )]
    HardLinked {
        /// Where.
        path: WorkspacePath,
        /// How many names it has.
        links: u64,
    },
    /// What configures git can start programs.
    #[error("`{path}` belongs to git; change it with the `git` tool")]
    GitOwned {
        /// Where.
        path: WorkspacePath,
    },
    /// Another program writes there at the same time.
    #[error("`{path}` changed at this very moment; read it again")]
    Busy {
        /// Where.
        path: WorkspacePath,
    },
    /// Longer than the caller takes.
    #[error("`{path}` is longer than {limit} bytes")]
    TooLarge {
        /// Where.
        path: WorkspacePath,
        /// The most that is taken.
        limit: u64,
    },
    /// The system says no.
    #[error("`{path}` cannot be used")]
    Failed {
        /// Where.
        path: WorkspacePath,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl WorkspaceError {
    /// The whole story in a line, for a model: it sees no chain of sources.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Failed { source, .. } => format!("{self}: {source}"),
            Self::Path(_)
            | Self::Missing { .. }
            | Self::NotADirectory { .. }
            | Self::Link { .. }
            | Self::NotAFile { .. }
            | Self::HardLinked { .. }
            | Self::GitOwned { .. }
            | Self::Busy { .. }
            | Self::TooLarge { .. } => self.to_string(),
        }
    }
}

fn failed(path: &WorkspacePath, err: Errno) -> WorkspaceError {
    WorkspaceError::Failed { path: path.clone(), source: err.into() }
}

fn stat(parent: &OwnedFd, name: &str, path: &WorkspacePath) -> Result<Option<Stat>, WorkspaceError> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(err) => Err(failed(path, err)),
    }
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

#[cfg(test)]
mod tests;
