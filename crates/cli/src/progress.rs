//! A sign of life for what takes longer than a second.

use std::io::Write as _;
use std::time::Duration;

use r1_runtime::source::Progress;
use tokio::task::JoinHandle;

use crate::output::stderr_is_terminal;

/// Shows how many events were read, on a terminal and after the first second, until it is dropped.
pub(crate) struct Ticker {
    task: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(progress: &Progress, what: &'static str) -> Self {
        if !stderr_is_terminal() {
            return Self { task: None };
        }
        let progress = progress.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            loop {
                let _ = write!(std::io::stderr(), "\r{} events {what} \x1b[K", progress.events());
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        Self { task: Some(task) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
