//! Reading a file piece by piece.

use super::objects::{Objects, Step};
use super::{ExchangeError, ExchangeProblem, Format, Item, cborseq, json};
use crate::cbor::scan::Problem;

/// Gives back the items of a file whose bytes come in pieces of any size.
///
/// ```
/// use r1_event::exchange::{Decoder, Format};
///
/// let mut decoder = Decoder::new(Format::Cborseq);
/// decoder.push(&[0x82, 0xa0, 0x41]);
/// assert_eq!(decoder.next_item(), Ok(None), "half an item: more bytes are needed");
/// decoder.push(&[0xff]);
/// decoder.end();
/// assert!(matches!(decoder.next_item(), Ok(Some(_))));
/// assert_eq!(decoder.next_item(), Ok(None), "nothing is left");
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    format: Format,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were given out already.
    taken: usize,
    /// Offset in the file of `buffer[taken]`.
    offset: u64,
    /// JSON: how far the walk is, counted from `taken`, and where the object it is in began.
    walk: Walk,
    /// CBOR: not worth looking before so many bytes are there.
    wanted: usize,
    ended: bool,
}

#[derive(Clone, Debug)]
struct Walk {
    objects: Objects,
    walked: usize,
    begun: usize,
}

impl Decoder {
    /// A decoder at the beginning of a file of this format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        let walk = Walk { objects: Objects::new(matches!(format, Format::Json)), walked: 0, begun: 0 };
        Self { format, buffer: Vec::new(), taken: 0, offset: 0, walk, wanted: 1, ended: false }
    }

    /// A decoder that goes on behind an item in the middle of a file.
    ///
    /// Its offsets count from there.
    #[must_use]
    pub const fn after_an_item(format: Format) -> Self {
        let mut decoder = Self::new(format);
        decoder.walk.objects = Objects::after_an_object(matches!(format, Format::Json));
        decoder
    }

    /// Takes the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that there are no more bytes.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    /// Offset in the file of what comes next.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next item; `None` if more bytes are needed, or, after [`Self::end`], if there are no more.
    pub fn next_item(&mut self) -> Result<Option<Item>, ExchangeError> {
        match self.format {
            Format::Cborseq => self.next_cbor(),
            Format::Ndjson | Format::Json => self.next_object(),
        }
    }

    fn next_cbor(&mut self) -> Result<Option<Item>, ExchangeError> {
        let rest = &self.buffer[self.taken..];
        if rest.is_empty() || (rest.len() < self.wanted && !self.ended) {
            return Ok(None);
        }
        match cborseq::end(rest) {
            Ok(end) if end > Format::MAX_ITEM => Err(self.too_large()),
            Ok(end) => {
                let item = cborseq::read(&rest[..end]).map_err(|problem| self.error(0, problem))?;
                self.wanted = 1;
                self.take(end);
                Ok(Some(item))
            }
            Err(err) if err.problem == Problem::Truncated => {
                if rest.len() > Format::MAX_ITEM {
                    return Err(self.too_large());
                }
                if self.ended {
                    return Err(self.error(0, ExchangeProblem::CutOff));
                }
                // An item that comes in many pieces is looked at a few times, not once per piece.
                self.wanted = (rest.len() * 2).min(Format::MAX_ITEM + 1);
                Ok(None)
            }
            Err(err) => Err(self.error(err.offset, ExchangeProblem::Cbor(err))),
        }
    }

    fn next_object(&mut self) -> Result<Option<Item>, ExchangeError> {
        while let Some(byte) = self.buffer.get(self.taken + self.walk.walked) {
            let step = self.walk.objects.step(*byte).map_err(|problem| self.error(self.walk.walked, problem))?;
            match step {
                Step::Go => {}
                Step::Begin => self.walk.begun = self.walk.walked,
                Step::Close => {
                    let (begun, end) = (self.walk.begun, self.walk.walked + 1);
                    let text = &self.buffer[self.taken + begun..self.taken + end];
                    let item = json::read(text).map_err(|problem| self.error(begun, problem))?;
                    self.take(end);
                    return Ok(Some(item));
                }
            }
            self.walk.walked += 1;
            if self.walk.walked - self.walk.begun > Format::MAX_ITEM {
                return Err(self.too_large());
            }
        }
        if !self.ended || self.walk.objects.may_end() {
            return Ok(None);
        }
        Err(self.error(self.walk.begun, ExchangeProblem::CutOff))
    }

    fn take(&mut self, len: usize) {
        self.taken += len;
        self.offset += len as u64;
        (self.walk.walked, self.walk.begun) = (0, 0);
    }

    fn too_large(&self) -> ExchangeError {
        self.error(self.walk.begun, ExchangeProblem::TooLarge { limit: Format::MAX_ITEM })
    }

    const fn error(&self, at: usize, problem: ExchangeProblem) -> ExchangeError {
        ExchangeError { offset: self.offset + at as u64, problem }
    }
}
