//! Signals, from the first moment to the last: the first asks, the second does not.

use tokio::sync::mpsc;

use crate::error::CliError;
use crate::exit::Exit;
use crate::signals::Signals;

/// Hears the first signal, whatever else is being done. The second one ends the process on the spot.
pub(super) struct Alarm {
    first: mpsc::Receiver<Exit>,
}

impl Alarm {
    pub(super) fn set() -> Result<Self, CliError> {
        let mut signals = Signals::listen()?;
        let (heard, first) = mpsc::channel(1);
        tokio::spawn(async move {
            let _ = heard.send(signals.next().await).await;
            // Whoever asks twice does not want to wait: the run can be resumed.
            let exit = signals.next().await;
            std::process::exit(i32::from(exit.code()));
        });
        Ok(Self { first })
    }

    /// The exit that the first signal asks for; nothing ever after that. Cancel-safe.
    pub(super) async fn next(&mut self) -> Exit {
        match self.first.recv().await {
            Some(exit) => exit,
            None => std::future::pending().await,
        }
    }
}
