//! Replacing secrets in text that comes in pieces.

use std::cmp::Ordering;
use std::sync::Arc;

use super::engine::{Detector, Engine, Span, Which};
use super::key::{Mark, Marker};
use super::look::{Class, LOOK_BACK, Reached};

/// Redacts content that comes in pieces: the pieces it gives, put together, are the redacted whole,
/// wherever the given ones were cut.
#[derive(Debug)]
pub struct StreamRedactor {
    engine: Arc<Engine>,
    which: Which,
    /// What came and was not given out, and before it a little of what was: names stand before values.
    buffer: Vec<u8>,
    /// Where in `buffer` that begins which was not given out.
    shown: usize,
    /// Where the first anchor may stand that was not looked at.
    scanned: usize,
    /// How far the secrets reach that were found so far.
    covered: usize,
    /// Where the first line begins that the operator's expressions have not seen.
    line: usize,
    /// Found, but not reached.
    spans: Vec<Span>,
    /// Reached, but not at its end.
    open: Option<Open>,
}

/// A secret in the middle of which we are: overlapping finds count as one.
#[derive(Debug)]
struct Open {
    detector: Detector,
    marker: Marker,
    /// Bytes so far.
    len: usize,
    end: usize,
    goes_on: Option<Class>,
    /// The mark of the longest known secret in it, with its length.
    known: Option<(usize, Mark)>,
}

impl StreamRedactor {
    pub(super) fn new(engine: Arc<Engine>, which: Which) -> Self {
        Self {
            engine,
            which,
            buffer: Vec::new(),
            shown: 0,
            scanned: 0,
            covered: 0,
            line: 0,
            spans: Vec::new(),
            open: None,
        }
    }

    /// Takes a piece and gives what is safe to show by now. At most 8 KiB that may begin a secret are
    /// kept back.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.buffer.extend_from_slice(piece);
        self.advance(false)
    }

    /// Gives the rest, at the end of the content.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.advance(true)
    }

    fn advance(&mut self, complete: bool) -> Vec<u8> {
        let scan = self.engine.scan(&self.buffer, self.scanned, self.covered, complete, self.which);
        (self.scanned, self.covered) = (scan.undecided, scan.covered);
        self.spans.extend(scan.spans);
        let custom = |place| self.spans.push(Span { place, detector: Detector::Custom, mark: None });
        self.line = self.engine.scan_lines(&self.buffer, self.line, complete, self.which, custom);
        self.spans.sort_by_key(|span| (span.place.start, span.place.end, span.detector));
        let until = self.scanned.min(self.line);
        let shown = self.replace(until, complete);
        self.shown = until;
        self.forget();
        shown
    }

    /// Gives what stands before `until`, without secrets.
    fn replace(&mut self, until: usize, complete: bool) -> Vec<u8> {
        let mut shown = Vec::with_capacity(until - self.shown);
        let mut spans = std::mem::take(&mut self.spans).into_iter().peekable();
        let mut at = self.shown;
        loop {
            let Some(open) = &mut self.open else {
                match spans.next_if(|span| span.place.start < until) {
                    // An empty rest of a span that was already covered.
                    Some(span) if span.place.end <= at => {}
                    Some(span) => {
                        let start = span.place.start.max(at);
                        shown.extend_from_slice(&self.buffer[at..start]);
                        at = start;
                        self.open = Some(Open::new(&span, self.engine.key.marker()));
                    }
                    None => break,
                }
                continue;
            };
            while let Some(span) = spans.next_if(|span| span.place.start < open.end) {
                open.join(&span);
            }
            let inside = open.end.min(until).max(at);
            open.absorb(&self.buffer[at..inside]);
            at = inside;
            if open.end > until {
                break;
            }
            if let Some(class) = open.goes_on {
                let more = self.buffer[at..until].iter().take_while(|byte| class.contains(**byte)).count();
                open.end = at + more;
                if open.end < until || complete {
                    open.goes_on = None;
                }
                if open.end == until && !complete {
                    open.absorb(&self.buffer[at..until]);
                    at = until;
                    break;
                }
                continue;
            }
            shown.extend_from_slice(open.replacement().as_bytes());
            self.open = None;
        }
        if self.open.is_none() {
            shown.extend_from_slice(&self.buffer[at..until]);
        }
        self.spans = spans.collect();
        if complete && let Some(open) = self.open.take() {
            shown.extend_from_slice(open.replacement().as_bytes());
        }
        shown
    }

    /// Drops what was given out, but for what the next look may look back at.
    fn forget(&mut self) {
        let gone = self.shown.saturating_sub(LOOK_BACK);
        self.buffer.drain(..gone);
        self.shown -= gone;
        self.scanned -= gone;
        self.line -= gone;
        self.covered = self.covered.saturating_sub(gone);
        for span in &mut self.spans {
            span.place = Reached { start: span.place.start - gone, end: span.place.end - gone, ..span.place };
        }
        if let Some(open) = &mut self.open {
            open.end -= gone;
        }
    }
}

impl Open {
    fn new(span: &Span, marker: Marker) -> Self {
        let Span { place, detector, mark } = *span;
        let known = mark.map(|mark| (place.end - place.start, mark));
        Self { detector, marker, len: 0, end: place.end, goes_on: place.goes_on, known }
    }

    fn join(&mut self, span: &Span) {
        let Span { place, detector, mark } = *span;
        self.detector = self.detector.min(detector);
        match place.end.cmp(&self.end) {
            Ordering::Less => {}
            Ordering::Equal => self.goes_on = self.goes_on.or(place.goes_on),
            Ordering::Greater => (self.end, self.goes_on) = (place.end, place.goes_on),
        }
        let len = place.end - place.start;
        if let Some(mark) = mark
            && self.known.is_none_or(|(known, _)| known < len)
        {
            self.known = Some((len, mark));
        }
    }

    fn absorb(&mut self, bytes: &[u8]) {
        self.marker.update(bytes);
        self.len += bytes.len();
    }

    fn replacement(&self) -> String {
        let Self { detector, marker, len, known, .. } = self;
        let mark = known.filter(|(known, _)| known == len).map_or_else(|| marker.finish(), |(_, mark)| mark);
        format!("[redacted:{detector}:{mark}]")
    }
}
