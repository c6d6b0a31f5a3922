//! Is this one well-formed item, and are these its canonical bytes?

use super::read::{Head, HeadError, Reader};
use super::write;

/// What a scan demands beyond definite-length well-formedness.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The bytes must be the canonical ones: shortest heads and floats, map keys sorted and unique.
    pub canonical: bool,
    /// Text strings must be UTF-8.
    pub utf8: bool,
    /// Tags 0–3 must stand before what RFC 8949 §3.4 says they tag: text, a number, a byte string.
    pub known_tags: bool,
    /// How deep arrays, maps and tags in tags may nest; a tag around anything else is no level.
    pub max_depth: usize,
    /// How many elements an array, and how many pairs a map, may have.
    pub max_len: u64,
}

impl Rules {
    /// The limits Starling's reader has, and so ours: R1 writes nothing that either would refuse to read.
    pub const MAX_DEPTH: usize = 32;
    /// See [`Self::MAX_DEPTH`].
    pub const MAX_LEN: u64 = 131_072;

    /// What R1 writes, and all that it accepts in a v2 payload.
    pub const CANONICAL: Self =
        Self { canonical: true, utf8: true, known_tags: false, max_depth: Self::MAX_DEPTH, max_len: Self::MAX_LEN };

    /// What Starling's reader takes for well-formed.
    pub const READABLE: Self =
        Self { canonical: false, utf8: false, known_tags: false, max_depth: Self::MAX_DEPTH, max_len: Self::MAX_LEN };

    /// One item of any depth and length.
    pub const WELL_FORMED: Self =
        Self { canonical: false, utf8: false, known_tags: false, max_depth: usize::MAX, max_len: u64::MAX };

    /// What Starling's writer takes for well-formed: its limits are far beyond those of its reader.
    pub const WRITABLE: Self =
        Self { canonical: false, utf8: false, known_tags: true, max_depth: 65_535, max_len: 0x7fff_ffff };
}

/// Why bytes were refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {offset}")]
pub struct Malformed {
    /// What is wrong.
    pub problem: Problem,
    /// Where it was noticed.
    pub offset: usize,
}

/// What can be wrong with CBOR bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The bytes end inside an item.
    #[error("the item is cut off")]
    Truncated,
    /// Bytes follow the item.
    #[error("there are bytes after the item")]
    TrailingBytes,
    /// An undefined head or simple value.
    #[error("a reserved encoding is used")]
    Reserved,
    /// A "break" outside of an item of indefinite length.
    #[error("an unexpected break code")]
    UnexpectedBreak,
    /// Indefinite lengths are refused everywhere.
    #[error("an item of indefinite length is not allowed")]
    Indefinite,
    /// Too many levels of arrays, maps or tags.
    #[error("the nesting is deeper than allowed")]
    TooDeep,
    /// Too many elements in one array or pairs in one map.
    #[error("an array or map has more elements than allowed")]
    TooLong,
    /// Text that is not UTF-8.
    #[error("a text string is not UTF-8")]
    NotUtf8,
    /// A shorter encoding of the same value exists.
    #[error("a value is not in its shortest form")]
    NotShortest,
    /// Map keys out of order, or twice the same.
    #[error("map keys are not sorted and unique")]
    KeyOrder,
    /// One of the tags 0–3 before something that it cannot tag.
    #[error("a tag stands before a value of another type")]
    TagContent,
}

/// Checks that `bytes` are exactly one item that keeps `rules`.
pub fn check(bytes: &[u8], rules: Rules) -> Result<(), Malformed> {
    let end = item_end(bytes, rules)?;
    if end == bytes.len() { Ok(()) } else { Err(Malformed { problem: Problem::TrailingBytes, offset: end }) }
}

/// Where the first item of `bytes` ends, if it keeps `rules`.
pub fn item_end(bytes: &[u8], rules: Rules) -> Result<usize, Malformed> {
    match short_item_end(bytes, rules, rules.max_depth.min(SHORT_LEVELS)) {
        Some(end) => Ok(end),
        None => Scanner { reader: Reader::new(bytes), bytes, rules, open: Vec::new() }.run(),
    }
}

/// How deep [`short_item_end`] looks.
const SHORT_LEVELS: usize = 4;

/// [`item_end`] for the items that payloads mostly consist of: sound integers and strings, and small
/// containers of such. Anything else, and anything wrong, is left to the [`Scanner`].
#[inline]
fn short_item_end(bytes: &[u8], rules: Rules, levels: usize) -> Option<usize> {
    let first = *bytes.first()?;
    match first {
        0x00..=0x17 | 0x20..=0x37 | 0xf4..=0xf6 => return Some(1),
        0x60..=0x77 => return short_text(bytes).map(|text| 1 + text.len()),
        0x80..=0x97 | 0xa0..=0xb7 => return short_container_end(bytes, rules, levels.checked_sub(1)?),
        _ => {}
    }
    let mut reader = Reader::new(bytes);
    let head = reader.head().ok().filter(|head| head.shortest)?;
    match head.major {
        0 | 1 => {}
        2 => drop(reader.take(head.argument)?),
        3 => {
            let text = reader.take(head.argument)?;
            if rules.utf8 && !text.is_ascii() {
                return None;
            }
        }
        _ => return None,
    }
    Some(reader.position())
}

/// An array or map of less than 24 elements.
fn short_container_end(bytes: &[u8], rules: Rules, levels: usize) -> Option<usize> {
    let (first, mut at) = (*bytes.first()?, 1);
    let mut previous: &[u8] = &[];
    for _ in 0..first & 0x1f {
        if first >= 0xa0 {
            let key = &bytes[at..at + short_item_end(&bytes[at..], rules, levels)?];
            if rules.canonical && !follows(previous, key) {
                return None;
            }
            (previous, at) = (key, at + key.len());
        }
        at += short_item_end(&bytes[at..], rules, levels)?;
    }
    Some(at)
}

/// Checks that `bytes` are exactly one map that keeps `rules`, and shows each pair whose key is text:
/// the text's bytes and the item.
pub(crate) fn visit_map<'a>(
    bytes: &'a [u8],
    rules: Rules,
    mut visit: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<(), Malformed> {
    let mut reader = Reader::new(bytes);
    let fail = |problem, offset| Err(Malformed { problem, offset });
    let Ok(head) = reader.head() else { return fail(Problem::Truncated, bytes.len()) };
    if head.major != 5 || head.is_indefinite() {
        return fail(Problem::Indefinite, 0);
    }
    if rules.canonical && !head.shortest {
        return fail(Problem::NotShortest, 0);
    }
    if head.argument > rules.max_len {
        return fail(Problem::TooLong, 0);
    }
    let inner = Rules { max_depth: rules.max_depth.saturating_sub(1), ..rules };
    let item = |at: usize| {
        let deeper = |err: Malformed| Malformed { offset: at + err.offset, ..err };
        item_end(&bytes[at..], inner).map(|len| at + len).map_err(deeper)
    };
    let mut at = reader.position();
    let mut previous: &[u8] = &[];
    for _ in 0..head.argument {
        let (name, value) = match short_text(&bytes[at..]) {
            Some(name) => (Some(name), at + 1 + name.len()),
            None => {
                let value = item(at)?;
                (text_of(&bytes[at..value]), value)
            }
        };
        let key = &bytes[at..value];
        if rules.canonical && !follows(previous, key) {
            return fail(Problem::KeyOrder, at);
        }
        let end = item(value)?;
        if let Some(name) = name {
            visit(name, &bytes[value..end]);
        }
        (previous, at) = (key, end);
    }
    if at == bytes.len() { Ok(()) } else { fail(Problem::TrailingBytes, at) }
}

/// Whether `key` may stand behind the key `previous` of a canonical map; behind nothing, any key may.
#[inline]
fn follows(previous: &[u8], key: &[u8]) -> bool {
    // Most keys differ in length, which the first byte tells.
    match (previous.first(), key.first()) {
        (Some(before), Some(after)) if before != after => before < after,
        _ => previous < key,
    }
}

/// The text that `bytes` begin with, if it is ASCII of less than 24 bytes, as nearly all keys are.
#[inline]
fn short_text(bytes: &[u8]) -> Option<&[u8]> {
    let (first, rest) = bytes.split_first()?;
    let len = first.checked_sub(0x60).filter(|len| *len < 24)?;
    rest.get(..len.into()).filter(|text| is_short_ascii(text))
}

/// `is_ascii` without its early exits, which cost more than they save on a few bytes.
#[inline]
fn is_short_ascii(text: &[u8]) -> bool {
    text.iter().fold(0, |bits, byte| bits | byte) < 0x80
}

/// The bytes of the text that `item` is, if it is one.
pub(crate) fn text_of(item: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(item);
    let head = reader.head().ok().filter(|head| head.major == 3)?;
    reader.take(head.argument)
}

struct Scanner<'a> {
    reader: Reader<'a>,
    bytes: &'a [u8],
    rules: Rules,
    open: Vec<Container>,
}

/// An array, a map or a tag whose content is not complete yet.
struct Container {
    /// Items still to come; a map's pair counts as two.
    remaining: u64,
    /// How many levels there are down to this one.
    depth: usize,
    shape: Shape,
}

enum Shape {
    Array,
    Map(MapKeys),
    Tag(u64),
}

/// Where the keys of an open map stand, to compare neighbours.
struct MapKeys {
    current: usize,
    previous: Option<(usize, usize)>,
}

impl<'a> Scanner<'a> {
    fn run(mut self) -> Result<usize, Malformed> {
        loop {
            let start = self.reader.position();
            let head = self.reader.head().map_err(|err| match err {
                HeadError::Truncated => Malformed { problem: Problem::Truncated, offset: self.bytes.len() },
                HeadError::Reserved => Malformed { problem: Problem::Reserved, offset: start },
            })?;
            let opened = self.item(head).map_err(|problem| Malformed { problem, offset: start })?;
            match opened {
                Some(container) if container.remaining > 0 => self.open.push(container),
                Some(_) | None => {
                    if self.close(start)? {
                        return Ok(self.reader.position());
                    }
                }
            }
        }
    }

    /// Takes the rest of an item whose head was read; a container is given back, its content is next.
    fn item(&mut self, head: Head) -> Result<Option<Container>, Problem> {
        if head.is_indefinite() {
            return Err(match head.major {
                7 => Problem::UnexpectedBreak,
                2..=5 => Problem::Indefinite,
                _ => Problem::Reserved,
            });
        }
        if self.rules.canonical && !head.shortest && head.major != 7 {
            return Err(Problem::NotShortest);
        }
        if let (true, Some(Container { shape: Shape::Tag(number), .. })) = (self.rules.known_tags, self.open.last()) {
            check_tag_content(*number, head)?;
        }
        match head.major {
            0 | 1 => Ok(None),
            2 => self.string(head.argument).map(|_| None),
            3 => {
                let text = self.string(head.argument)?;
                // Most text is ASCII, which is checked several times faster.
                if self.rules.utf8 && !text.is_ascii() && std::str::from_utf8(text).is_err() {
                    return Err(Problem::NotUtf8);
                }
                Ok(None)
            }
            4 => {
                let depth = self.deeper()?;
                self.check_len(head.argument)?;
                Ok(Some(Container { remaining: head.argument, depth, shape: Shape::Array }))
            }
            5 => {
                let depth = self.deeper()?;
                self.check_len(head.argument)?;
                let remaining = head.argument.checked_mul(2).ok_or(Problem::TooLong)?;
                let keys = MapKeys { current: self.reader.position(), previous: None };
                Ok(Some(Container { remaining, depth, shape: Shape::Map(keys) }))
            }
            6 => {
                // Only a tag on a tag is a level of its own.
                let depth = match self.open.last() {
                    Some(Container { shape: Shape::Tag(_), .. }) => self.deeper()?,
                    Some(outer) => outer.depth,
                    None => 0,
                };
                Ok(Some(Container { remaining: 1, depth, shape: Shape::Tag(head.argument) }))
            }
            _ => self.simple(head).map(|()| None),
        }
    }

    /// The depth of a container that opens here.
    fn deeper(&self) -> Result<usize, Problem> {
        let depth = self.open.last().map_or(0, |outer| outer.depth) + 1;
        if depth > self.rules.max_depth { Err(Problem::TooDeep) } else { Ok(depth) }
    }

    const fn check_len(&self, len: u64) -> Result<(), Problem> {
        if len > self.rules.max_len { Err(Problem::TooLong) } else { Ok(()) }
    }

    fn string(&mut self, len: u64) -> Result<&'a [u8], Problem> {
        if i64::try_from(len).is_err() {
            return Err(Problem::TooLong);
        }
        self.reader.take(len).ok_or(Problem::Truncated)
    }

    fn simple(&self, head: Head) -> Result<(), Problem> {
        match head.info {
            24 if head.argument < 32 => Err(Problem::Reserved),
            25..=27 if self.rules.canonical && !is_shortest_float(head) => Err(Problem::NotShortest),
            _ => Ok(()),
        }
    }

    /// Counts a complete item off its containers; true when the outermost one is complete too.
    fn close(&mut self, start: usize) -> Result<bool, Malformed> {
        let mut start = start;
        while let Some(container) = self.open.last_mut() {
            let end = self.reader.position();
            if let Shape::Map(keys) = &mut container.shape {
                // An odd number to come: what ended just now was a value, the next key starts here.
                if container.remaining % 2 == 1 {
                    keys.current = end;
                } else if self.rules.canonical {
                    let key = &self.bytes[keys.current..end];
                    if keys.previous.is_some_and(|(from, to)| &self.bytes[from..to] >= key) {
                        return Err(Malformed { problem: Problem::KeyOrder, offset: start });
                    }
                    keys.previous = Some((keys.current, end));
                }
            }
            container.remaining -= 1;
            if container.remaining > 0 {
                return Ok(false);
            }
            if let Shape::Map(keys) = &container.shape {
                start = keys.current;
            }
            self.open.pop();
        }
        Ok(true)
    }
}

/// Whether a tag with a meaning stands before what it can tag.
pub(crate) const fn check_tag_content(number: u64, content: Head) -> Result<(), Problem> {
    let fits = match number {
        0 => content.major == 3,
        1 => matches!((content.major, content.info), (0 | 1, _) | (7, 25..=27)),
        2 | 3 => content.major == 2,
        _ => true,
    };
    if fits { Ok(()) } else { Err(Problem::TagContent) }
}

/// Whether a float head (additional information 25, 26 or 27) has the width [`write::float`] would give it.
pub(crate) fn is_shortest_float(head: Head) -> bool {
    let value = float_value(head);
    if value.is_nan() {
        return head.info == 25 && head.argument == 0x7e00;
    }
    head.info == write::float_width(value)
}

/// The value of a float head (additional information 25, 26 or 27).
#[expect(clippy::cast_possible_truncation, reason = "the argument of such a head has just that many bits")]
pub(crate) fn float_value(head: Head) -> f64 {
    match head.info {
        25 => write::half_value(head.argument as u16),
        26 => f64::from(f32::from_bits(head.argument as u32)),
        _ => f64::from_bits(head.argument),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::from_hex;

    fn problem(hex: &str, rules: Rules) -> Option<Problem> {
        check(&from_hex(hex).unwrap(), rules).err().map(|err| err.problem)
    }

    #[test]
    fn canonical_items_pass() {
        for hex in ["00", "1818", "f93c00", "fb3fb999999999999a", "a0", "80", "f6", "a2616101616202", "c11a00010000"] {
            assert_eq!(problem(hex, Rules::CANONICAL), None, "{hex}");
        }
    }

    #[test]
    fn each_deviation_is_named() {
        for (hex, expected) in [
            ("", Problem::Truncated),
            ("18", Problem::Truncated),
            ("6261", Problem::Truncated),
            ("0000", Problem::TrailingBytes),
            ("1817", Problem::NotShortest),
            ("fb3ff0000000000000", Problem::NotShortest),
            ("fa7fc00000", Problem::NotShortest),
            ("f97e01", Problem::NotShortest),
            ("a2616201616102", Problem::KeyOrder),
            ("a2616101616102", Problem::KeyOrder),
            ("9fff", Problem::Indefinite),
            ("ff", Problem::UnexpectedBreak),
            ("f818", Problem::Reserved),
            ("1c", Problem::Reserved),
            ("61ff", Problem::NotUtf8),
            ("9a00020001", Problem::TooLong),
        ] {
            assert_eq!(problem(hex, Rules::CANONICAL), Some(expected), "{hex}");
        }
    }

    #[test]
    fn depth_is_counted_in_containers() {
        let nested = |depth: usize| "81".repeat(depth) + "00";
        assert_eq!(problem(&nested(32), Rules::READABLE), None);
        assert_eq!(problem(&nested(33), Rules::READABLE), Some(Problem::TooDeep));
        assert_eq!(problem(&nested(65_535), Rules::WRITABLE), None);
        assert_eq!(problem(&nested(65_536), Rules::WRITABLE), Some(Problem::TooDeep));
    }

    #[test]
    fn an_empty_container_and_a_tag_on_a_tag_are_levels_but_a_single_tag_is_none() {
        let inside = |depth: usize, item: &str| problem(&("81".repeat(depth) + item), Rules::READABLE);
        assert_eq!(inside(31, "80"), None);
        assert_eq!(inside(32, "a0"), Some(Problem::TooDeep));
        assert_eq!(inside(32, "c100"), None);
        assert_eq!(inside(32, "c5c100"), Some(Problem::TooDeep));
        assert_eq!(inside(31, "c5c100"), None);
        assert_eq!(inside(31, "c5c180"), Some(Problem::TooDeep));
    }

    #[test]
    fn a_known_tag_on_another_type_can_be_read_but_not_written() {
        for hex in ["c000", "c160", "c200", "c3c240", "8201c000", "c1f5"] {
            assert_eq!(problem(hex, Rules::READABLE), None, "{hex}");
            assert_eq!(problem(hex, Rules::WRITABLE), Some(Problem::TagContent), "{hex}");
        }
        for hex in ["c060", "c120", "c1f90000", "c240", "c400", "c5c240"] {
            assert_eq!(problem(hex, Rules::WRITABLE), None, "{hex}");
        }
    }

    #[test]
    fn a_readable_item_need_not_be_canonical() {
        for hex in ["1817", "a2616201616102", "a2616101616102", "61ff", "f818"] {
            let expected = (hex == "f818").then_some(Problem::Reserved);
            assert_eq!(problem(hex, Rules::READABLE), expected, "{hex}");
        }
    }
}
