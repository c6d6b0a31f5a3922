//! A server that is a program of ours.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::server::ServerSpec;

/// Variables that programs need to work at all, and that tell no secret.
const ALWAYS: [&str; 10] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"];

/// A started server. Its whole process group ends when this is dropped.
#[derive(Debug)]
pub(super) struct Process(Mutex<Option<Child>>);

impl Process {
    /// Starts the server, in a group of its own, with nothing of the environment that it was not given.
    pub(super) fn start(
        spec: &ServerSpec,
        environment: &BTreeMap<String, String>,
        directory: &Path,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let Some((program, arguments)) = spec.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program to start"));
        };
        let given = environment
            .iter()
            .filter(|(name, _)| ALWAYS.contains(&name.as_str()) || spec.env.iter().any(|wanted| wanted == *name));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env_clear().envs(given);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        match (child.stdout.take(), child.stdin.take()) {
            (Some(stdout), Some(stdin)) => Ok((Self(Mutex::new(Some(child))), stdout, stdin)),
            _ => Err(io::Error::other("the program has no standard streams")),
        }
    }

    /// Ends it and everything it has started, and waits for it.
    pub(super) async fn end(&self) {
        let child = self.take();
        if let Some(mut child) = child {
            kill_group(&child);
            // Killed: the wait is short, and its result tells nothing.
            let _ = child.wait().await;
        }
    }

    fn take(&self) -> Option<Child> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = self.take() {
            kill_group(&child);
        }
    }
}

/// Kills the group that `child` leads. A child that was waited for has no id any more, so no foreign
/// group can be struck.
fn kill_group(child: &Child) {
    #[cfg(unix)]
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = child;
}
