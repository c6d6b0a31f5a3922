//! Cutting one stream into chunks, as the protocol wants them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use r1_protocol::data::{ChunkEncoding, ToolShellOutputChunk};
use tokio::time::{Duration, Instant};

use crate::process::Stream;

/// How old the first byte of a chunk may get before the chunk is cut.
const MAX_AGE: Duration = Duration::from_millis(100);
/// How many bytes a chunk holds at most.
const MAX_BYTES: usize = 32 << 10;
/// How long a chunk's text may be as JSON, quotes included.
const MAX_JSON: usize = 48 << 10;

/// A piece of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub stream: Stream,
    /// Where its first byte is in the stream.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// As the log tells it.
    pub(super) fn event(&self, tool_call_id: &str) -> ToolShellOutputChunk {
        let (data, encoding) = match std::str::from_utf8(&self.bytes) {
            Ok(text) => (text.to_owned(), None),
            Err(_not_text) => (STANDARD.encode(&self.bytes), Some(ChunkEncoding::Base64)),
        };
        ToolShellOutputChunk {
            tool_call_id: tool_call_id.to_owned(),
            stream: match self.stream {
                Stream::Stdout => r1_protocol::data::Stream::Stdout,
                Stream::Stderr => r1_protocol::data::Stream::Stderr,
            },
            data,
            byte_offset: self.offset,
            encoding,
            ..Default::default()
        }
    }
}

/// Collects the bytes of one stream until they make a chunk.
#[derive(Debug)]
pub(super) struct Chunker {
    stream: Stream,
    buffer: Vec<u8>,
    /// Length of the buffer as text in JSON.
    json: usize,
    /// When the first byte of the buffer came; none if only the beginning of a character is left of it.
    oldest: Option<Instant>,
    offset: u64,
}

impl Chunker {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), json: 0, oldest: None, offset: 0 }
    }

    /// Takes bytes that came `now`; gives the chunks that are full.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<Chunk> {
        if bytes.is_empty() {
            return Vec::new();
        }
        self.oldest.get_or_insert(now);
        let mut full = Vec::new();
        for &byte in bytes {
            let needs = json_length(byte);
            if self.buffer.len() == MAX_BYTES || self.json + needs + 2 > MAX_JSON {
                full.extend(self.cut(false));
                self.oldest = Some(now);
            }
            self.buffer.push(byte);
            self.json += needs;
        }
        full
    }

    /// When a chunk must be cut, full or not.
    pub(super) fn due(&self) -> Option<Instant> {
        self.oldest.map(|oldest| oldest + MAX_AGE)
    }

    /// What there is. The beginning of a character waits for its rest, unless this is the `end`.
    pub(super) fn cut(&mut self, end: bool) -> Option<Chunk> {
        self.oldest = None;
        let whole = match std::str::from_utf8(&self.buffer) {
            Err(err) if err.error_len().is_none() && !end => err.valid_up_to(),
            Ok(_) | Err(_) => self.buffer.len(),
        };
        if whole == 0 {
            return None;
        }
        let rest = self.buffer.split_off(whole);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.json = self.buffer.iter().copied().map(json_length).sum();
        let chunk = Chunk { stream: self.stream, offset: self.offset, bytes };
        self.offset += chunk.bytes.len() as u64;
        Some(chunk)
    }

    /// Length of the stream as far as it was cut.
    pub(super) fn length(&self) -> u64 {
        self.offset
    }
}

/// How many bytes a byte of text takes in a JSON string.
const fn json_length(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(event: &ToolShellOutputChunk) -> Vec<u8> {
        match &event.encoding {
            None => event.data.clone().into_bytes(),
            Some(_) => STANDARD.decode(&event.data).unwrap(),
        }
    }

    /// Cuts a stream that comes in these pieces, the clock going on by `pause` after each.
    fn chunks(pieces: &[Vec<u8>], pause: Duration) -> Vec<Chunk> {
        let mut chunker = Chunker::new(Stream::Stdout);
        let mut now = Instant::now();
        let mut chunks = Vec::new();
        for piece in pieces {
            chunks.extend(chunker.push(piece, now));
            now += pause;
            if chunker.due().is_some_and(|due| due <= now) {
                chunks.extend(chunker.cut(false));
            }
        }
        chunks.extend(chunker.cut(true));
        chunks
    }

    fn check(pieces: &[Vec<u8>], chunks: &[Chunk]) {
        let mut offset = 0;
        let mut stream = Vec::new();
        for chunk in chunks {
            let event = chunk.event("call");
            let bytes = decoded(&event);
            assert!(!bytes.is_empty(), "no empty chunks");
            assert_eq!(event.byte_offset, offset, "chunks are contiguous");
            assert!(serde_json::to_string(&event.data).unwrap().len() <= MAX_JSON);
            assert!(bytes.len() <= MAX_BYTES);
            assert_eq!(event.encoding.is_none(), std::str::from_utf8(&bytes).is_ok());
            offset += bytes.len() as u64;
            stream.extend(bytes);
        }
        assert_eq!(stream, pieces.concat(), "nothing is lost, doubled or replaced");
    }

    proptest! {
        #[test]
        fn ep_14_any_bytes_come_through_unchanged(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..40),
            pause in 0_u64..200,
        ) {
            check(&pieces, &chunks(&pieces, Duration::from_millis(pause)));
        }

        #[test]
        fn ep_14_text_stays_text_wherever_it_is_cut(text in "\\PC{0,400}", cuts in prop::collection::vec(1_usize..9, 1..50)) {
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for size in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece.to_vec());
                rest = after;
            }
            let chunks = chunks(&pieces, MAX_AGE);
            check(&pieces, &chunks);
            prop_assert!(chunks.iter().all(|chunk| chunk.event("call").encoding.is_none()));
        }
    }

    #[test]
    fn ep_14_control_bytes_fill_a_chunk_by_their_length_in_json() {
        for byte in [0_u8, b'"', b'x', 0xff, b'\n'] {
            let pieces = [vec![byte; 200_000]];
            check(&pieces, &chunks(&pieces, Duration::ZERO));
        }
    }

    #[test]
    fn ep_14_a_character_split_over_reads_is_not_torn() {
        let crab = "🦀".as_bytes();
        let pieces: Vec<Vec<u8>> = crab.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(chunks(&pieces, MAX_AGE).len(), 1);
        let large = ["é".repeat(40_000).into_bytes()];
        let chunks = chunks(&large, Duration::ZERO);
        assert!(chunks.iter().all(|chunk| chunk.event("call").encoding.is_none()));
        check(&large, &chunks);
    }

    #[test]
    fn ep_14_the_beginning_of_a_character_waits_for_the_end_of_the_stream_at_most() {
        let mut chunker = Chunker::new(Stream::Stderr);
        assert_eq!(chunker.push(&[0xf0, 0x9f], Instant::now()), []);
        assert_eq!((chunker.cut(false), chunker.due()), (None, None));
        assert_eq!(chunker.cut(true).unwrap().event("call").data, "8J8=");
    }

    #[test]
    fn ep_14_a_byte_each_10_ms_makes_at_most_11_chunks_a_second() {
        let pieces = vec![vec![b'x']; 1000];
        let chunks = chunks(&pieces, Duration::from_millis(10));
        assert!(chunks.len() <= 110, "{}", chunks.len());
        check(&pieces, &chunks);
    }
}
