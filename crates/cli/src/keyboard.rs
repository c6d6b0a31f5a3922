//! Lines that a person types, read only while something is asked.

use std::io::BufRead as _;

use tokio::sync::mpsc;

/// The keyboard. While nobody waits for a line nothing is read, so an editor can have the terminal.
pub(crate) struct Keyboard {
    lines: mpsc::UnboundedReceiver<Option<String>>,
    typed: mpsc::UnboundedSender<Option<String>>,
    reading: bool,
}

impl Keyboard {
    pub(crate) fn new() -> Self {
        let (typed, lines) = mpsc::unbounded_channel();
        Self { lines, typed, reading: false }
    }

    /// The next line; `None` when no more can come. May be dropped and called again: no line is lost.
    pub(crate) async fn line(&mut self) -> Option<String> {
        if !self.reading {
            self.reading = true;
            let typed = self.typed.clone();
            // A read of the terminal cannot be cancelled; a thread of its own does not hold up the end.
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then(|| line.trim().to_owned());
                let _ = typed.send(line);
            });
        }
        let line = self.lines.recv().await.flatten();
        self.reading = false;
        line
    }
}
