//! A socket whose peer must take what is sent.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Fails a write that has waited for `patience` without a byte being taken. Reading may take any time: that
/// bodies come in time is seen to where they are read.
pub(super) struct Patient<I> {
    io: I,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<I> Patient<I> {
    pub(super) fn new(io: I, patience: Duration) -> Self {
        Self { io, patience, deadline: Box::pin(sleep(patience)), waiting: false }
    }

    fn within_patience<T>(&mut self, context: &mut Context<'_>, attempt: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            self.waiting = false;
            return attempt;
        }
        if !self.waiting {
            self.waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Patient<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Patient<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.io).poll_write(context, bytes);
        self.within_patience(context, attempt)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.io).poll_write_vectored(context, bytes);
        self.within_patience(context, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.io).poll_flush(context);
        self.within_patience(context, attempt)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.io).poll_shutdown(context);
        self.within_patience(context, attempt)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_let_go() {
        let (near, _far) = tokio::io::duplex(16);
        let err = Patient::new(near, Duration::from_millis(20)).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_peer_is_not() {
        const PATIENCE: Duration = Duration::from_secs(1);
        let (near, mut far) = tokio::io::duplex(1);
        let writing = tokio::spawn(async move { Patient::new(near, PATIENCE).write_all(&[0; 6]).await });
        for _ in 0..6 {
            // All together this takes longer than the patience, each byte does not.
            tokio::time::sleep(PATIENCE / 4).await;
            far.read_u8().await.unwrap();
        }
        writing.await.unwrap().unwrap();
    }
}
