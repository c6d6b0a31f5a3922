//! bubblewrap: a world of its own, made of namespaces and mounts.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::{WorkspaceAccess, system};

/// Where a program finds the supervisor in there.
pub(super) const SUPERVISOR: &str = "/run/r1";

/// Where it finds its scratch space.
pub(super) const SCRATCH: &str = "/tmp";

/// How long a world may take to come up.
const PROBE: Duration = Duration::from_secs(10);

/// One such world.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub bwrap: &'a Path,
    pub workspace: &'a Path,
    pub access: WorkspaceAccess,
    pub readable: &'a [PathBuf],
    pub writable: &'a [PathBuf],
    pub scratch: &'a Path,
    pub supervisor: Option<&'a Path>,
    pub network: bool,
    pub cwd: &'a Path,
}

impl World<'_> {
    /// The command line that starts what follows it in this world. Later mounts cover earlier ones.
    pub(super) fn wrapper(&self) -> Vec<OsString> {
        let mut line = Line(vec![self.bwrap.into()]);
        line.words(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
        if self.network {
            line.words(["--share-net"]);
        }
        for path in system::programs() {
            match fs::read_link(path) {
                Ok(target) => line.pair("--symlink", &target, path),
                Err(_no_link) => line.pair("--ro-bind", path, path),
            }
        }
        line.pair("--ro-bind-try", Path::new("/etc"), Path::new("/etc"));
        for path in system::guarded() {
            if path.is_dir() {
                line.words(["--tmpfs"]);
                line.path(&path);
            } else {
                line.pair("--ro-bind", Path::new("/dev/null"), &path);
            }
        }
        if self.network {
            // Often a link to a file that a service keeps outside of /etc.
            let resolver = fs::canonicalize("/etc/resolv.conf").ok();
            if let Some(file) = resolver.filter(|file| !file.starts_with("/etc")) {
                line.pair("--ro-bind", &file, &file);
            }
        }
        line.words(["--proc", "/proc", "--dev", "/dev"]);
        line.pair("--bind", self.scratch, Path::new(SCRATCH));
        for path in self.readable {
            line.pair("--ro-bind-try", path, path);
        }
        for path in self.writable {
            line.pair("--bind-try", path, path);
        }
        let bind = match self.access {
            WorkspaceAccess::ReadWrite => "--bind",
            WorkspaceAccess::ReadOnly => "--ro-bind",
        };
        line.pair(bind, self.workspace, self.workspace);
        if let Some(supervisor) = self.supervisor {
            line.pair("--ro-bind", supervisor, Path::new(SUPERVISOR));
        }
        line.words(["--chdir"]);
        line.path(self.cwd);
        line.words(["--"]);
        line.0
    }

    /// Whether this machine can make it: some forbid namespaces to their users.
    pub(super) async fn works(&self) -> bool {
        let mut line = self.wrapper().into_iter();
        let Some(program) = line.next() else { return false };
        let mut probe = tokio::process::Command::new(program);
        probe.args(line).arg("/bin/true").env_clear();
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        matches!(tokio::time::timeout(PROBE, probe.status()).await, Ok(Ok(status)) if status.success())
    }
}

struct Line(Vec<OsString>);

impl Line {
    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.into());
    }

    fn pair(&mut self, option: &str, from: &Path, to: &Path) {
        self.0.extend([option.into(), from.into(), to.into()]);
    }
}
