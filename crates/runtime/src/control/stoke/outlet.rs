//! Where lines go.

use std::io::{self, Write};
use std::thread;

use tokio::sync::{mpsc, oneshot};

/// Writes lines in a thread of its own: whoever does not read them holds up that thread, and nothing else.
pub struct Outlet {
    lines: mpsc::Sender<Vec<Vec<u8>>>,
    done: oneshot::Receiver<io::Result<()>>,
}

/// Nobody reads any more, or what is written to is broken.
#[derive(Debug, thiserror::Error)]
#[error("the output is closed")]
pub struct OutletClosed;

impl Outlet {
    /// An outlet into `out`. What was handed over and is not written yet is one batch at most.
    pub fn new(mut out: impl Write + Send + 'static) -> Self {
        let (lines, mut waiting) = mpsc::channel::<Vec<Vec<u8>>>(1);
        let (ended, done) = oneshot::channel();
        thread::spawn(move || {
            let written = std::iter::from_fn(|| waiting.blocking_recv()).flatten().try_for_each(|line| {
                // One write: a reader never sees half a line, nor waits for what is there.
                out.write_all(&line).and_then(|()| out.flush())
            });
            waiting.close();
            // Nobody may wait for the end.
            let _ = ended.send(written);
        });
        Self { lines, done }
    }

    /// Hands lines over; waits while earlier ones are not written.
    pub async fn print(&self, lines: Vec<Vec<u8>>) -> Result<(), OutletClosed> {
        if lines.is_empty() {
            return if self.lines.is_closed() { Err(OutletClosed) } else { Ok(()) };
        }
        self.lines.send(lines).await.map_err(|_| OutletClosed)
    }

    /// Waits until all lines are written.
    pub async fn close(self) -> Result<(), OutletClosed> {
        let Self { lines, done } = self;
        drop(lines);
        match done.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(OutletClosed),
        }
    }
}
