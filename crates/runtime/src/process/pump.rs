//! From a program's pipes to whoever listens.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;

use super::{Output, Stream};

/// The most that is read at once.
const READ: usize = 64 << 10;

/// Hands on what comes out of `pipe` until its end. A listener that is gone is no reason to stop reading:
/// the program would block.
pub(super) async fn pump(pipe: Option<impl AsyncRead + Unpin>, stream: Stream, output: &mpsc::Sender<Output>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ);
        match pipe.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let _nobody_listens = output.send(Output { stream, bytes: buffer.split().freeze() }).await;
            }
        }
    }
}
