//! Standard input, a line at a time.

use std::io::{self, BufRead, Read as _};

use tokio::sync::mpsc;

use super::said::MAX_LINE;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A line.
    Line(Vec<u8>),
    /// A line that was too long; it was skipped.
    TooLong,
}

/// Reads lines in a thread of its own: a read cannot be cancelled, and must not hold up the end.
pub(super) struct Stdin {
    lines: mpsc::Receiver<Input>,
}

impl Stdin {
    pub(super) fn open() -> Self {
        // One line waits: whoever writes more has to wait for us.
        let (send, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            while let Ok(Some(line)) = next(&mut input) {
                if send.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line; `None` when no more can come. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Input> {
        self.lines.recv().await
    }
}

fn next(input: &mut impl BufRead) -> io::Result<Option<Input>> {
    loop {
        let mut line = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') && line.len() > MAX_LINE {
            skip_line(input)?;
            return Ok(Some(Input::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Input::Line(line)));
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let text = [b"one\n\n \n".to_vec(), vec![b'x'; 3 << 20], b"\ntwo".to_vec()].concat();
        let mut input = io::BufReader::new(text.as_slice());
        assert_eq!(next(&mut input).unwrap(), Some(Input::Line(b"one\n".to_vec())));
        assert_eq!(next(&mut input).unwrap(), Some(Input::TooLong));
        assert_eq!(next(&mut input).unwrap(), Some(Input::Line(b"two".to_vec())));
        assert_eq!(next(&mut input).unwrap(), None);
    }
}
