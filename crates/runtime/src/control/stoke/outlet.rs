//! Where lines go.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::{mpsc, oneshot};

/// Writes lines in a thread of its own: whoever does not read them holds up that thread, and nothing else.
pub struct Outlet {
    lines: mpsc::Sender<Vec<Vec<u8>>>,
    done: oneshot::Receiver<()>,
    failure: Arc<OnceLock<OutletError>>,
}

/// No more lines can be written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OutletError {
    /// Nobody reads any more.
    #[error("the output is closed")]
    Closed,
    /// What is written to is broken, or full.
    #[error("cannot write the output")]
    Broken(#[source] Arc<io::Error>),
}

impl From<io::Error> for OutletError {
    fn from(err: io::Error) -> Self {
        if err.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Broken(Arc::new(err)) }
    }
}

impl Outlet {
    /// An outlet into `out`. What was handed over and is not written yet is one batch at most.
    pub fn new(mut out: impl Write + Send + 'static) -> Self {
        let (lines, mut waiting) = mpsc::channel::<Vec<Vec<u8>>>(1);
        let (ended, done) = oneshot::channel();
        let failure = Arc::new(OnceLock::new());
        let failed = failure.clone();
        thread::spawn(move || {
            let written = std::iter::from_fn(|| waiting.blocking_recv()).flatten().try_for_each(|line| {
                // One write: a reader never sees half a line, nor waits for what is there.
                out.write_all(&line).and_then(|()| out.flush())
            });
            if let Err(err) = written {
                // It is empty until now; and told before anybody can notice that nothing more is taken.
                let _ = failed.set(err.into());
            }
            waiting.close();
            // Nobody may wait for the end.
            let _ = ended.send(());
        });
        Self { lines, done, failure }
    }

    /// Hands lines over; waits while earlier ones are not written.
    pub async fn print(&self, lines: Vec<Vec<u8>>) -> Result<(), OutletError> {
        if lines.is_empty() {
            return if self.lines.is_closed() { Err(self.failure()) } else { Ok(()) };
        }
        self.lines.send(lines).await.map_err(|_| self.failure())
    }

    /// Waits until all lines are written.
    pub async fn close(self) -> Result<(), OutletError> {
        let Self { lines, done, failure } = self;
        drop(lines);
        match (done.await, failure.get()) {
            (_, Some(failure)) => Err(failure.clone()),
            (Ok(()), None) => Ok(()),
            (Err(_), None) => Err(OutletError::Closed),
        }
    }

    fn failure(&self) -> OutletError {
        self.failure.get().cloned().unwrap_or(OutletError::Closed)
    }
}
