//! A server that is a program of ours.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::server::ServerSpec;

/// Variables that programs need to work at all, and that tell no secret.
const ALWAYS: [&str; 10] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"];

/// A started server. Its whole process group ends with it, and when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    stop: CancellationToken,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

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
        let is_given = |name: &str| ALWAYS.contains(&name) || spec.env.iter().any(|given| given == name);
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory);
        command.env_clear().envs(environment.iter().filter(|(name, _)| is_given(name)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::Error::other("the program has no standard streams"));
        };
        let stop = CancellationToken::new();
        let keeper = tokio::spawn(keep(child, stop.clone()));
        Ok((Self { stop, keeper: Mutex::new(Some(keeper)) }, stdout, stdin))
    }

    /// Ends it and everything it has started, and waits for it.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        if let Some(keeper) = self.keeper.lock().await.take() {
            // Nobody aborts the keeper, and it does not panic.
            let _ = keeper.await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Sees to it that nothing of the group outlives the server: what it started may hold its pipes open, and
/// then nobody would notice that it is gone.
async fn keep(mut child: Child, stop: CancellationToken) {
    let group = child.id();
    tokio::select! {
        _ = child.wait() => kill_group(group),
        () = stop.cancelled() => {
            kill_group(group);
            // Killed: the wait is short, and its result tells nothing.
            let _ = child.wait().await;
        }
    }
}

/// Kills the group that the process `leader` began. As long as anyone is in it, no other has its number.
fn kill_group(leader: Option<u32>) {
    #[cfg(unix)]
    if let Some(group) = leader.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}
