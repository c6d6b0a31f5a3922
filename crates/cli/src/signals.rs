//! Ctrl-C, SIGTERM and a terminal that was closed: the first signal asks, the second does not.

use crate::error::CliError;
use crate::exit::Exit;

/// Waits for signals that ask the process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// From now on the process is not ended by them.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, CliError> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|err| CliError::new("cannot listen for signals").because(err));
        let hang_up = heeds_hang_ups().then(|| listen(SignalKind::hangup())).transpose()?;
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())?, hang_up })
    }

    /// From now on the process is not ended by them.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, CliError> {
        Ok(Self {})
    }

    /// The exit that the next signal asks for.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Exit {
        let hung_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = hung_up => Exit::HungUp,
        }
    }

    /// The exit that the next signal asks for.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Whether a closed terminal is to end the process. Whoever started it with `nohup` wants it to live on, and
/// listening would undo that; where it cannot be told, the signal does what it always does.
#[cfg(unix)]
fn heeds_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").ok();
    status.as_deref().and_then(ignored_signals).is_some_and(|ignored| ignored & SIGHUP == 0)
}

/// SIGHUP, the first signal, in a set of signals.
#[cfg(unix)]
const SIGHUP: u64 = 1;

/// The signals that a process ignores, from what Linux tells of it.
#[cfg(unix)]
fn ignored_signals(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_told_by_the_system() {
        assert_eq!(ignored_signals("Name:\tr1\nSigBlk:\t00\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), Some(0x1001));
        assert_eq!(ignored_signals("Name:\tr1\n"), None);
    }
}
