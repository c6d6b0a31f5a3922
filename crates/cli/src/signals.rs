//! Ctrl-C and SIGTERM: the first asks, the second does not.

use crate::error::CliError;
use crate::exit::Exit;

/// Waits for signals that ask the process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on the process is not ended by them.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, CliError> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|err| CliError::new("cannot listen for signals").because(err));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// From now on the process is not ended by them.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, CliError> {
        Ok(Self {})
    }

    /// The exit that the next signal asks for.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
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
