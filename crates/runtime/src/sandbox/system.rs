//! What of the machine every program may read.

use std::fs;
use std::path::{Path, PathBuf};

/// Where programs, libraries and their shared data live.
const PROGRAMS: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];

/// In `/etc`, but only for those who guard the machine. A run by root could read them.
const GUARDED: [&str; 7] = ["shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "ssh"];

/// The program trees that exist here.
pub(super) fn programs() -> impl Iterator<Item = &'static Path> {
    PROGRAMS.iter().map(Path::new).filter(|path| path.symlink_metadata().is_ok())
}

/// Everything directly in `/etc` that a program may read. Sorted, so that a command line is the same each time.
pub(super) fn settings() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/etc") else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| !GUARDED.iter().any(|name| entry.file_name() == *name))
        .map(|entry| entry.path())
        .collect();
    paths.sort_unstable();
    paths
}

/// What must be covered after `/etc` has been mounted as a whole.
pub(super) fn guarded() -> impl Iterator<Item = PathBuf> {
    GUARDED.iter().map(|name| Path::new("/etc").join(name)).filter(|path| path.exists())
}
