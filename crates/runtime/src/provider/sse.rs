//! Server-sent events, as model APIs stream them.
//!
//! The reader of the WHATWG format, with one difference: it is bounded. A server that never ends an event
//! fills no memory.

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; empty if the server named none.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// Makes events of bytes, however they are cut into pieces.
#[derive(Debug)]
pub struct SseDecoder {
    /// The line that has not ended yet.
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    limit: usize,
    at_start: bool,
    after_carriage_return: bool,
    too_large: bool,
}

impl SseDecoder {
    /// A decoder that refuses events and lines of more than `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: String::new(),
            data: None,
            limit,
            at_start: true,
            after_carriage_return: false,
            too_large: false,
        }
    }

    /// Takes the next bytes and appends the events that they end to `events`.
    ///
    /// After an event that was too large nothing more is read: where the next one begins is known, but the
    /// answer already misses a part.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLarge> {
        if self.too_large {
            return Err(self.refuse());
        }
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_carriage_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.extend_line(rest);
            };
            self.extend_line(&rest[..end])?;
            self.after_carriage_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(())
    }

    /// The event that the stream's end leaves, if all of its lines came whole.
    ///
    /// The format says to drop it; servers that forget the last empty line are more common than servers
    /// that die exactly there.
    #[must_use]
    pub fn finish(mut self) -> Option<SseEvent> {
        if self.too_large || !self.line.is_empty() { None } else { self.dispatch() }
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if bytes.len() > self.limit.saturating_sub(self.line.len()) {
            return Err(self.refuse());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, TooLarge> {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[..0]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"event" => self.event = value.into_owned(),
            b"data" => {
                let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
                if value.len() > self.limit.saturating_sub(held) {
                    return Err(self.refuse());
                }
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                    None => self.data = Some(value.into_owned()),
                }
            }
            // Comments (an empty field name), `id`, `retry` and whatever else: nothing here reconnects.
            _ => {}
        }
        // The usual line is as long as the one before it.
        self.line = taken;
        self.line.clear();
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| SseEvent { event, data })
    }

    fn refuse(&mut self) -> TooLarge {
        self.too_large = true;
        TooLarge { limit: self.limit }
    }
}

/// An event that is larger than was agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    /// What was agreed to.
    pub limit: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Read = (Vec<SseEvent>, Result<Option<SseEvent>, TooLarge>);

    fn read<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
        let mut decoder = SseDecoder::new(limit);
        let mut events = Vec::new();
        for piece in pieces {
            if let Err(refused) = decoder.push(piece, &mut events) {
                return (events, Err(refused));
            }
        }
        let last = decoder.finish();
        (events, Ok(last))
    }

    fn events(stream: &str) -> Vec<(String, String)> {
        let (events, end) = read(1024, [stream.as_bytes()]);
        assert_eq!(end, Ok(None), "the stream ends between events");
        events.into_iter().map(|event| (event.event, event.data)).collect()
    }

    fn pair(event: &str, data: &str) -> (String, String) {
        (event.to_owned(), data.to_owned())
    }

    #[test]
    fn every_line_end_ends_a_line() {
        for stream in ["event: a\ndata: 1\n\n", "event: a\r\ndata: 1\r\n\r\n", "event: a\rdata: 1\r\r"] {
            assert_eq!(events(stream), [pair("a", "1")], "{stream:?}");
        }
    }

    #[test]
    fn data_lines_are_joined_and_one_space_is_dropped() {
        assert_eq!(events("data:1\ndata:  2\ndata\n\n"), [pair("", "1\n 2\n")]);
    }

    #[test]
    fn comments_other_fields_and_events_without_data_say_nothing() {
        assert_eq!(events(": keep-alive\n\nid: 7\nretry: 5\nevent: lost\n\ndata: kept\n\n"), [pair("", "kept")]);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_start_alone() {
        assert_eq!(events("\u{feff}data: 1\n\ndata: \u{feff}2\n\n"), [pair("", "1"), pair("", "\u{feff}2")]);
    }

    #[test]
    fn an_event_without_its_empty_line_is_given_at_the_end() {
        let (events, last) = read(64, ["data: [DONE]\n".as_bytes()]);
        assert!(events.is_empty());
        assert_eq!(last, Ok(Some(SseEvent { event: String::new(), data: "[DONE]".to_owned() })));
    }

    #[test]
    fn a_line_that_was_cut_is_not_given() {
        assert_eq!(read(64, ["data: {\"a\":".as_bytes()]), (Vec::new(), Ok(None)));
    }

    #[test]
    fn lines_and_events_above_the_limit_are_refused_and_memory_is_bounded() {
        let mut decoder = SseDecoder::new(16);
        let mut events = Vec::new();
        assert_eq!(decoder.push(b"data: 1\n\n", &mut events), Ok(()));
        assert_eq!(decoder.push(&[b'x'; 17], &mut events), Err(TooLarge { limit: 16 }));
        assert_eq!(decoder.push(b"\n\ndata: 2\n\n", &mut events), Err(TooLarge { limit: 16 }), "it stays refused");
        assert_eq!(events.len(), 1);
        assert!(decoder.line.capacity() <= 32);

        let (_, refused) = read(16, [&b"data: 12345678\ndata: 12345678\n\n"[..]]);
        assert_eq!(refused, Err(TooLarge { limit: 16 }), "many short lines are one large event");
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_does_not_show(
            stream in stream(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            limit in prop_oneof![Just(8usize), Just(64), Just(4096)],
        ) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in at.into_iter().chain([stream.len()]) {
                pieces.push(&stream[from..cut]);
                from = cut;
            }
            let whole = read(limit, [stream.as_slice()]);
            prop_assert_eq!(&read(limit, pieces), &whole);
            prop_assert_eq!(&read(limit, stream.chunks(1)), &whole);
        }
    }

    /// Bytes that look like a stream, among them every separator and characters of several bytes.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        const PIECES: &[&[u8]] = &[
            b"\n",
            b"\r",
            b"\r\n",
            b"\xef\xbb\xbf",
            b"data:",
            b"data: {\"text\":\"gr\xc3\xbc\xc3\x9fe \xf0\x9f\xa6\x80\"}",
            b"event: delta",
            b": comment",
            b" ",
            b"\xff",
        ];
        let piece = prop::sample::select(PIECES);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }
}
