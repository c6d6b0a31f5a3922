//! A sign of life for what takes longer than a second.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use r1_runtime::source::Progress;
use tokio::task::JoinHandle;

use crate::output::stderr_is_terminal;

/// Shows how many events were read, on a terminal and after the first second, until it is dropped.
pub(crate) struct Ticker {
    running: Option<(JoinHandle<()>, Arc<Mutex<Line>>)>,
}

impl Ticker {
    pub(crate) fn start(progress: &Progress, what: &'static str) -> Self {
        if !stderr_is_terminal() {
            return Self { running: None };
        }
        let (progress, line) = (progress.clone(), Arc::new(Mutex::new(Line::default())));
        let shown = line.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            loop {
                let text = format!("{} events {what}", progress.events());
                // Whoever closed stderr does not want to hear it.
                let _ = shown.lock().unwrap_or_else(PoisonError::into_inner).show(&text, &mut io::stderr());
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        Self { running: Some((task, line)) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((task, line)) = self.running.take() {
            task.abort();
            let _ = line.lock().unwrap_or_else(PoisonError::into_inner).end(&mut io::stderr());
        }
    }
}

/// A line of a terminal that is written over. Blanks do that without an escape sequence, which not everyone wants
/// and not every terminal knows.
#[derive(Default)]
struct Line {
    columns: usize,
    ended: bool,
}

impl Line {
    fn show(&mut self, text: &str, out: &mut impl Write) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        let width = self.columns;
        self.columns = text.chars().count();
        write!(out, "\r{text:<width$}")?;
        out.flush()
    }

    /// Leaves nothing of it; nothing is shown behind this.
    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.ended = true;
        match std::mem::take(&mut self.columns) {
            0 => Ok(()),
            width => write!(out, "\r{:width$}\r", "").and_then(|()| out.flush()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_over_by_blanks_and_leaves_nothing() {
        let (mut line, mut out) = (Line::default(), Vec::new());
        line.show("12345 events", &mut out).unwrap();
        line.show("9 events", &mut out).unwrap();
        line.end(&mut out).unwrap();
        line.show("too late", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\r12345 events\r9 events    \r        \r");
    }

    #[test]
    fn what_was_never_shown_needs_no_end() {
        let mut out = Vec::new();
        Line::default().end(&mut out).unwrap();
        assert_eq!(out, b"");
    }
}
