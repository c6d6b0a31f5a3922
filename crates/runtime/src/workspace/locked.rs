//! Changing a workspace.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Snapshot, Workspace, WorkspaceError, WorkspacePath, failed, permissions, stat};
use crate::world;

/// Temporary files begin so; whoever holds the lock may remove those of earlier holders, which crashed.
const TEMPORARY: &str = ".r1-tmp";

/// Mode of a new file, as the process's mask leaves it.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

/// The right to change a workspace. Another holder, in this process or another, waits until it is dropped.
#[derive(Debug)]
pub struct Locked<'a> {
    workspace: &'a Workspace,
    /// How this holder's temporary files begin.
    temporary: String,
    staged: AtomicU64,
    // The lock lives as long as this is open. It is on the root directory: no file is left in the tree.
    _lock: OwnedFd,
}

/// New content that is durable beside its place, not yet in it. Removed when dropped.
#[derive(Debug)]
pub struct Staged {
    path: WorkspacePath,
    parent: OwnedFd,
    temporary: String,
    placed: bool,
}

impl<'a> Locked<'a> {
    pub(super) fn wait(workspace: &'a Workspace) -> io::Result<Self> {
        // Opened anew: a lock belongs to an opening, and the one of the workspace is shared.
        let temporary = format!("{}-", world::new_id(TEMPORARY));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&workspace.root.directory, ".", flags, Mode::empty())?;
        loop {
            match rustix::fs::flock(&lock, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self { workspace, temporary, staged: AtomicU64::new(0), _lock: lock }),
                Err(Errno::INTR) => {}
                Err(err) => return Err(err.into()),
            }
        }
    }

    /// The workspace.
    #[must_use]
    pub const fn workspace(&self) -> &Workspace {
        self.workspace
    }

    /// Writes content beside its place, durably, so that only [`Self::place`] is left to do. `mode` is
    /// given to the file; without one it keeps that of the file that is there, or gets that of a new file.
    /// Directories that are missing are made.
    pub fn stage(&self, path: &WorkspacePath, bytes: &[u8], mode: Option<u32>) -> Result<Staged, WorkspaceError> {
        self.make_parents(path)?;
        let (parent, name) = self.writable(path)?;
        let present = match stat(&parent, name, path)? {
            Some(stat) => {
                self.workspace.regular(&stat, path)?;
                sole_name(&stat, path)?;
                Some(permissions(&stat))
            }
            None => None,
        };
        self.sweep_directory(&parent);
        let temporary = format!("{}{}", self.temporary, self.staged.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, temporary.as_str(), flags, NEW_FILE).map_err(|err| failed(path, err))?;
        let staged = Staged { path: path.clone(), parent, temporary, placed: false };
        let mut file = File::from(file);
        file.write_all(bytes).map_err(|source| WorkspaceError::Failed { path: path.clone(), source })?;
        if let Some(mode) = mode.or(present) {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(|err| failed(path, err))?;
        }
        file.sync_all().map_err(|source| WorkspaceError::Failed { path: path.clone(), source })?;
        Ok(staged)
    }

    /// Puts staged content in its place, in one step and durably.
    pub fn place(&self, mut staged: Staged) -> Result<(), WorkspaceError> {
        let path = &staged.path;
        let name = path.split_last().map_or("", |(_, name)| name);
        rustix::fs::renameat(&staged.parent, staged.temporary.as_str(), &staged.parent, name)
            .map_err(|err| failed(path, err))?;
        rustix::fs::fsync(&staged.parent).map_err(|err| failed(path, err))?;
        staged.placed = true;
        Ok(())
    }

    /// Writes a file: all of it or, after a crash, nothing.
    pub fn write(&self, path: &WorkspacePath, bytes: &[u8], mode: Option<u32>) -> Result<(), WorkspaceError> {
        self.place(self.stage(path, bytes, mode)?)
    }

    /// Makes the tree hold `snapshot` at `path`, or nothing.
    pub fn restore(&self, path: &WorkspacePath, snapshot: Option<&Snapshot>) -> Result<(), WorkspaceError> {
        match snapshot {
            Some(snapshot) => self.write(path, &snapshot.bytes, Some(snapshot.mode)),
            None => self.remove(path),
        }
    }

    /// Removes a file; one that is not there is no error.
    pub fn remove(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let (parent, name) = match self.writable(path) {
            Ok(place) => place,
            Err(WorkspaceError::Missing { .. }) => return Ok(()),
            Err(err) => return Err(err),
        };
        match stat(&parent, name, path)? {
            Some(stat) => {
                self.workspace.regular(&stat, path)?;
                sole_name(&stat, path)?;
            }
            None => return Ok(()),
        }
        rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(|err| failed(path, err))?;
        rustix::fs::fsync(&parent).map_err(|err| failed(path, err))
    }

    /// Removes up to `levels` directories above `path`, the lowest first, as long as they are empty.
    pub fn remove_empty_parents(&self, path: &WorkspacePath, levels: usize) {
        let directories: Vec<_> = path.directories().collect();
        for directory in directories.iter().rev().take(levels) {
            let Ok((parent, name)) = self.writable(directory) else { return };
            // What is not empty stays, and so does all above it.
            if rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }

    /// Removes what earlier holders of the lock, which crashed, left beside `path`.
    pub fn sweep(&self, path: &WorkspacePath) {
        if let Ok((parent, _)) = self.writable(path) {
            self.sweep_directory(&parent);
        }
    }

    /// What cannot be removed disturbs nobody.
    fn sweep_directory(&self, directory: &OwnedFd) {
        let Ok(entries) = Dir::read_from(directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let left_behind = name.to_bytes().starts_with(TEMPORARY.as_bytes())
                && !name.to_bytes().starts_with(self.temporary.as_bytes());
            if left_behind {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            }
        }
    }

    fn make_parents(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        for directory in path.directories() {
            let (parent, name) = self.writable(&directory)?;
            match rustix::fs::mkdirat(&parent, name, NEW_DIRECTORY) {
                Ok(()) => rustix::fs::fsync(&parent).map_err(|err| failed(path, err))?,
                Err(Errno::EXIST) => {}
                Err(err) => return Err(failed(path, err)),
            }
        }
        Ok(())
    }

    fn writable<'p>(&self, path: &'p WorkspacePath) -> Result<(OwnedFd, &'p str), WorkspaceError> {
        if path.is_git_owned() {
            return Err(WorkspaceError::GitOwned { path: path.clone() });
        }
        self.workspace.place(path)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed {
            // If this fails, the next holder of the lock sweeps it.
            let _ = rustix::fs::unlinkat(&self.parent, self.temporary.as_str(), AtFlags::empty());
        }
    }
}

#[allow(clippy::useless_conversion, reason = "narrower on other machines")]
pub(super) fn sole_name(stat: &rustix::fs::Stat, path: &WorkspacePath) -> Result<(), WorkspaceError> {
    match u64::from(stat.st_nlink) {
        0 | 1 => Ok(()),
        links => Err(WorkspaceError::HardLinked { path: path.clone(), links }),
    }
}
