//! Opening directories below a root without ever following a link.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// How directories are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The kernel walks and refuses links itself (`openat2`).
    #[cfg(target_os = "linux")]
    Kernel,
    /// Each component is opened in the directory before it, which is held open: nothing that is swapped
    /// meanwhile changes where the walk stands.
    Walk,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Reach {
    /// What this system can do.
    pub(super) fn detect() -> Self {
        #[cfg(target_os = "linux")]
        {
            let here = rustix::fs::CWD;
            if kernel_open(here, ".").is_ok() {
                return Self::Kernel;
            }
        }
        Self::Walk
    }

    /// Opens the directory `path` (components joined by `/`; empty for the root itself) below `root`.
    pub(super) fn directory(self, root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel => kernel_open(root, path),
            Self::Walk => {
                let mut components = path.split('/');
                let first = components.next().unwrap_or(".");
                let start = rustix::fs::openat(root, first, DIRECTORY, Mode::empty())?;
                components.try_fold(start, |at, name| rustix::fs::openat(&at, name, DIRECTORY, Mode::empty()))
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn kernel_open(root: impl AsFd, path: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, DIRECTORY, Mode::empty(), resolve)
}
