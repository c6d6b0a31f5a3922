//! The reader of model streams: how a stream is cut into pieces does not show, and no event is larger than
//! allowed.
//!
//! Input: limit and size of the pieces, then the stream.

#![no_main]

/// The source itself, because the crate around it brings a database and an HTTP client along.
#[path = "../../crates/runtime/src/provider/sse.rs"]
mod sse;

use sse::{SseDecoder, SseEvent, TooLarge};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [limit, piece, stream @ ..] = data else { return };
    let (limit, piece) = (usize::from(*limit), usize::from(*piece) + 1);
    let whole = read(limit, std::iter::once(stream));
    assert_eq!(whole, read(limit, stream.chunks(piece)), "cut into pieces of {piece}");
    for event in &whole.0 {
        assert!(event.data.len() <= limit, "an event that is larger than allowed");
        assert!(!event.data.contains('\r'), "a line end in the middle of a line");
    }
});

fn read<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Result<(), TooLarge>) {
    let mut decoder = SseDecoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(refused) = decoder.push(piece, &mut events) {
            return (events, Err(refused));
        }
    }
    events.extend(decoder.finish());
    (events, Ok(()))
}
