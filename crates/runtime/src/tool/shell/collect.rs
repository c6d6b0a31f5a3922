//! From a program's output to chunks, excerpt and artifact.

use std::io::{Read as _, Seek as _, Write as _};

use bytes::Bytes;
use futures_util::stream::{self, Stream as AsyncStream};
use tempfile::SpooledTempFile;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::chunk::{Chunk, Chunker};
use super::excerpt::Excerpt;
use crate::artifact::MAX_ARTIFACT;
use crate::emit::{Emission, Emitter, WriterGone};
use crate::process::{Output, Stream};
use crate::redact::{Redactor, StreamRedactor};

/// How much of each stream is told in chunks.
const MAX_CHUNKED: u64 = 8 << 20;
/// What is kept beyond an artifact's limit, so that the artifact itself tells that it was cut.
const BEYOND: u64 = 1 << 20;
/// How much of the output is held in memory.
const IN_MEMORY: usize = 1 << 20;

/// All that became of an output.
#[derive(Debug)]
pub(super) struct Collected {
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// Whether the chunks are not all of it.
    pub truncated: bool,
    pub excerpt: Excerpt,
    /// Both streams in the order of their chunks.
    pub spool: SpooledTempFile,
    pub spooled: u64,
    /// Set when there was too much: so long after the start.
    pub over_limit_after_ms: Option<u64>,
}

impl Collected {
    /// The spool's content, from its beginning.
    pub(super) fn content(
        mut self,
    ) -> std::io::Result<impl AsyncStream<Item = std::io::Result<Bytes>> + Send + 'static> {
        self.spool.rewind()?;
        let pieces = std::iter::from_fn(move || {
            let mut piece = vec![0; 64 << 10];
            match self.spool.read(&mut piece) {
                Ok(0) => None,
                Ok(length) => {
                    piece.truncate(length);
                    Some(Ok(Bytes::from(piece)))
                }
                Err(err) => Some(Err(err)),
            }
        });
        Ok(stream::iter(pieces))
    }
}

/// An output that could not be told or kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectError {
    #[error(transparent)]
    Writer(#[from] WriterGone),
    #[error("the output cannot be kept: {0}")]
    Spool(#[from] std::io::Error),
}

/// Takes a program's output until it ends, or until there is too much of it: then `stop` is called.
pub(super) async fn collect(
    tool_call_id: &str,
    mut output: mpsc::Receiver<Output>,
    events: &Emitter,
    redactor: &Redactor,
    stop: &CancellationToken,
) -> Result<Collected, CollectError> {
    // Whatever ends this early ends the program too.
    let stop_at_end = stop.clone().drop_guard();
    let began = Instant::now();
    let mut collector = Collector::new(tool_call_id, events, redactor);
    loop {
        let due = collector.due();
        let tick = async {
            match due {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = tick => collector.cut_due(Instant::now()).await?,
            piece = output.recv() => match piece {
                Some(piece) => collector.push(&piece).await?,
                None => break,
            },
        }
        if collector.collected.spooled > MAX_ARTIFACT {
            let after = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            collector.collected.over_limit_after_ms = Some(after);
            break;
        }
    }
    if collector.collected.over_limit_after_ms.is_none() {
        stop_at_end.disarm();
    }
    collector.finish().await
}

struct Collector<'a> {
    tool_call_id: &'a str,
    events: &'a Emitter,
    stdout: Side,
    stderr: Side,
    collected: Collected,
}

/// One stream on its way.
struct Side {
    /// None at the end of the stream.
    redactor: Option<StreamRedactor>,
    chunker: Chunker,
    /// Whether it is still told in chunks.
    is_told: bool,
}

impl Side {
    fn new(stream: Stream, redactor: &Redactor) -> Self {
        Self { redactor: Some(redactor.stream()), chunker: Chunker::new(stream), is_told: true }
    }
}

impl<'a> Collector<'a> {
    fn new(tool_call_id: &'a str, events: &'a Emitter, redactor: &Redactor) -> Self {
        let collected = Collected {
            stdout_bytes: 0,
            stderr_bytes: 0,
            truncated: false,
            excerpt: Excerpt::default(),
            spool: SpooledTempFile::new(IN_MEMORY),
            spooled: 0,
            over_limit_after_ms: None,
        };
        let (stdout, stderr) = (Side::new(Stream::Stdout, redactor), Side::new(Stream::Stderr, redactor));
        Self { tool_call_id, events, stdout, stderr, collected }
    }

    fn due(&self) -> Option<Instant> {
        [&self.stdout, &self.stderr].into_iter().filter_map(|side| side.chunker.due()).min()
    }

    async fn push(&mut self, output: &Output) -> Result<(), CollectError> {
        let side = match output.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let safe = side.redactor.as_mut().map(|redactor| redactor.push(&output.bytes)).unwrap_or_default();
        let full = side.chunker.push(&safe, Instant::now());
        self.take(full).await
    }

    async fn cut_due(&mut self, now: Instant) -> Result<(), CollectError> {
        let is_due = |side: &Side| side.chunker.due().is_some_and(|due| due <= now);
        let sides = [&mut self.stdout, &mut self.stderr].into_iter();
        let chunks = sides.filter(|side| is_due(side)).filter_map(|side| side.chunker.cut(false)).collect();
        self.take(chunks).await
    }

    async fn finish(mut self) -> Result<Collected, CollectError> {
        let mut last = Vec::new();
        for side in [&mut self.stdout, &mut self.stderr] {
            let held_back = side.redactor.take().map(StreamRedactor::finish).unwrap_or_default();
            last.extend(side.chunker.push(&held_back, Instant::now()));
            last.extend(side.chunker.cut(true));
        }
        self.take(last).await?;
        self.collected.stdout_bytes = self.stdout.chunker.length();
        self.collected.stderr_bytes = self.stderr.chunker.length();
        Ok(self.collected)
    }

    async fn take(&mut self, chunks: Vec<Chunk>) -> Result<(), CollectError> {
        let mut told: Vec<Emission> = Vec::new();
        for chunk in chunks {
            self.collected.excerpt.push(&chunk.bytes);
            if self.collected.spooled <= MAX_ARTIFACT + BEYOND {
                self.collected.spool.write_all(&chunk.bytes)?;
                self.collected.spooled += chunk.bytes.len() as u64;
            }
            let side = match chunk.stream {
                Stream::Stdout => &mut self.stdout,
                Stream::Stderr => &mut self.stderr,
            };
            side.is_told &= chunk.offset + chunk.bytes.len() as u64 <= MAX_CHUNKED;
            if side.is_told {
                told.push(chunk.event(self.tool_call_id).into());
            } else {
                self.collected.truncated = true;
            }
        }
        if !told.is_empty() {
            self.events.emit_all(told).await?;
        }
        Ok(())
    }
}
