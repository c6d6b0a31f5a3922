//! git for R1's own purposes: with nobody's settings and hooks.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

/// A git command.
pub(crate) struct Git(Command);

impl Git {
    pub(crate) fn new() -> Self {
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS"] {
            command.env_remove(name);
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "core.fsmonitor=false"])
            .args(["-c", "gc.auto=0", "-c", "advice.addEmbeddedRepo=false", "-c", "advice.detachedHead=false"])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Self(command)
    }

    pub(crate) fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &Path) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.0.current_dir(directory);
        self
    }

    /// What it printed, or what it complained of.
    pub(crate) async fn run(self) -> Result<String, String> {
        self.bytes().await.map(|bytes| text(&bytes))
    }

    /// What it printed, as it is, or what it complained of.
    pub(crate) async fn bytes(mut self) -> Result<Vec<u8>, String> {
        let output = self.0.output().await.map_err(|err| format!("git cannot be started: {err}"))?;
        if output.status.success() { Ok(output.stdout) } else { Err(text(&output.stderr)) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
