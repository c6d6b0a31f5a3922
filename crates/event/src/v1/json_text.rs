//! JSON text to CBOR, as Starling keeps the arguments and results of tools.
//!
//! The text is read as Go reads it: the last of two equal keys wins, what is not UTF-8 and half a
//! surrogate pair become U+FFFD, an integer that fits 64 bits with a sign stays one, every other number
//! is a float, an overflow is infinite.

use std::collections::BTreeMap;

use crate::cbor::write;

/// How deep JSON text may nest.
const MAX_DEPTH: usize = 10_000;

/// The canonical CBOR of JSON text.
///
/// A stray `]` or `}` after the value ends the text, whatever follows it: Starling lets that pass.
pub fn json_to_cbor(text: &[u8]) -> Result<Vec<u8>, JsonTextError> {
    convert(text, Numbers::OfTools)
}

/// The same for what Go wrote as JSON itself: no number loses anything.
pub(super) fn exported_json_to_cbor(text: &[u8]) -> Result<Vec<u8>, JsonTextError> {
    convert(text, Numbers::OfGo)
}

fn convert(text: &[u8], numbers: Numbers) -> Result<Vec<u8>, JsonTextError> {
    let mut parser = Parser { text, at: 0, numbers };
    let cbor = parser.document()?;
    parser.space();
    match parser.peek() {
        None | Some(b']' | b'}') => Ok(cbor),
        Some(_) => Err(JsonTextError::Trailing { offset: parser.at }),
    }
}

/// The CBOR of a tool's arguments; no text at all means no arguments.
pub fn args_from_json(text: &[u8]) -> Result<Vec<u8>, JsonTextError> {
    if text.is_empty() { Ok(vec![0xa0]) } else { json_to_cbor(text) }
}

/// The CBOR of a tool's result; no text at all means null.
pub fn result_from_json(text: &[u8]) -> Result<Vec<u8>, JsonTextError> {
    if text.is_empty() { Ok(vec![write::NULL]) } else { json_to_cbor(text) }
}

/// Text that is not one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonTextError {
    /// Nothing but white space.
    #[error("there is no JSON value")]
    Empty,
    /// The text ends inside the value.
    #[error("the JSON text is cut off")]
    Truncated,
    /// Something that cannot stand there.
    #[error("unexpected character at byte {offset}")]
    Unexpected {
        /// Where.
        offset: usize,
    },
    /// Something after the value.
    #[error("the JSON value is followed by something else at byte {offset}")]
    Trailing {
        /// Where.
        offset: usize,
    },
    /// More levels than a reader can be expected to take.
    #[error("the JSON text nests deeper than {MAX_DEPTH} levels at byte {offset}")]
    TooDeep {
        /// Where.
        offset: usize,
    },
}

/// An array or object that is not complete yet. There is no recursion: depth costs no stack.
enum Open {
    Array {
        count: usize,
        items: Vec<u8>,
    },
    /// Items by encoded key, which is the order they are written in.
    Object {
        key: Vec<u8>,
        entries: BTreeMap<Vec<u8>, Vec<u8>>,
    },
}

impl Open {
    fn put(&mut self, item: &[u8]) {
        match self {
            Self::Array { count, items } => {
                *count += 1;
                items.extend_from_slice(item);
            }
            Self::Object { key, entries } => {
                entries.insert(std::mem::take(key), item.to_vec());
            }
        }
    }

    fn close(self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Array { count, items } => {
                write::array(&mut out, count);
                out.extend_from_slice(&items);
            }
            Self::Object { entries, .. } => {
                write::map(&mut out, entries.len());
                for (key, item) in entries {
                    out.extend_from_slice(&key);
                    out.extend_from_slice(&item);
                }
            }
        }
        out
    }
}

/// What becomes of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Arguments and results as Starling keeps them: a signed integer of 64 bits, or a float.
    OfTools,
    /// Besides, what Go writes for its own values: an unsigned integer of 64 bits, and `-0`, which is a float.
    OfGo,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    numbers: Numbers,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Vec<u8>, JsonTextError> {
        self.space();
        if self.peek().is_none() {
            return Err(JsonTextError::Empty);
        }
        let mut open: Vec<Open> = Vec::new();
        loop {
            let Some(mut item) = self.value_or_open(&mut open)? else { continue };
            // The value is complete, and perhaps what it stands in.
            loop {
                let Some(container) = open.last_mut() else { return Ok(item) };
                container.put(&item);
                if self.another(container)? {
                    break;
                }
                match open.pop() {
                    Some(container) => item = container.close(),
                    None => return Ok(item),
                }
            }
        }
    }

    /// Reads a scalar or an empty container; opens any other container and gives `None`.
    fn value_or_open(&mut self, open: &mut Vec<Open>) -> Result<Option<Vec<u8>>, JsonTextError> {
        self.space();
        let mut out = Vec::new();
        let start = self.at;
        match self.peek().ok_or(JsonTextError::Truncated)? {
            b'[' => {
                self.open(open, Open::Array { count: 0, items: Vec::new() })?;
                if self.take_if(b']') {
                    return Ok(open.pop().map(Open::close));
                }
                return Ok(None);
            }
            b'{' => {
                self.open(open, Open::Object { key: Vec::new(), entries: BTreeMap::new() })?;
                if self.take_if(b'}') {
                    return Ok(open.pop().map(Open::close));
                }
                if let Some(container) = open.last_mut() {
                    self.key(container)?;
                }
                return Ok(None);
            }
            b'"' => write::text(&mut out, &self.string()?),
            b't' => self.word(b"true").map(|()| write::bool(&mut out, true))?,
            b'f' => self.word(b"false").map(|()| write::bool(&mut out, false))?,
            b'n' => self.word(b"null").map(|()| write::null(&mut out))?,
            b'-' | b'0'..=b'9' => number(self.number()?, self.numbers, &mut out),
            _ => return Err(JsonTextError::Unexpected { offset: start }),
        }
        Ok(Some(out))
    }

    fn open(&mut self, open: &mut Vec<Open>, container: Open) -> Result<(), JsonTextError> {
        if open.len() >= MAX_DEPTH {
            return Err(JsonTextError::TooDeep { offset: self.at });
        }
        self.at += 1;
        self.space();
        open.push(container);
        Ok(())
    }

    /// After a value: whether the container goes on.
    fn another(&mut self, container: &mut Open) -> Result<bool, JsonTextError> {
        self.space();
        let end = match container {
            Open::Array { .. } => b']',
            Open::Object { .. } => b'}',
        };
        if self.take_if(end) {
            return Ok(false);
        }
        self.expect(b',')?;
        if let Open::Object { .. } = container {
            self.key(container)?;
        }
        Ok(true)
    }

    fn key(&mut self, container: &mut Open) -> Result<(), JsonTextError> {
        self.space();
        let name = self.string()?;
        self.space();
        self.expect(b':')?;
        if let Open::Object { key, .. } = container {
            key.clear();
            write::text(key, &name);
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, JsonTextError> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
            push_lossy(&mut out, &rest[..plain]);
            self.at += plain;
            match self.peek().ok_or(JsonTextError::Truncated)? {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => {
                    self.at += 1;
                    self.escape(&mut out)?;
                }
                _ => return Err(JsonTextError::Unexpected { offset: self.at }),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonTextError> {
        let escaped = match self.peek().ok_or(JsonTextError::Truncated)? {
            plain @ (b'"' | b'\\' | b'/') => char::from(plain),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                out.push(self.unicode()?);
                return Ok(());
            }
            _ => return Err(JsonTextError::Unexpected { offset: self.at }),
        };
        self.at += 1;
        out.push(escaped);
        Ok(())
    }

    /// The character of an escape whose `\u` was taken; half a surrogate pair is U+FFFD.
    fn unicode(&mut self) -> Result<char, JsonTextError> {
        let unit = self.four_digits()?;
        if let (0xd800..=0xdbff, Some([b'\\', b'u'])) = (unit, self.text.get(self.at..self.at + 2)) {
            let before = self.at;
            self.at += 2;
            let low = self.four_digits()?;
            if (0xdc00..=0xdfff).contains(&low) {
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, JsonTextError> {
        let mut unit = 0;
        for _ in 0..4 {
            let byte = self.peek().ok_or(JsonTextError::Truncated)?;
            let digit = char::from(byte).to_digit(16).ok_or(JsonTextError::Unexpected { offset: self.at })?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The text of a number. After a leading zero it ends: what follows is somebody else's problem.
    fn number(&mut self) -> Result<&'a str, JsonTextError> {
        let start = self.at;
        self.take_if(b'-');
        if !self.take_if(b'0') {
            self.digits()?;
        }
        if self.take_if(b'.') {
            self.digits()?;
        }
        if self.take_if(b'e') || self.take_if(b'E') {
            let _ = self.take_if(b'+') || self.take_if(b'-');
            self.digits()?;
        }
        std::str::from_utf8(&self.text[start..self.at]).map_err(|_| JsonTextError::Unexpected { offset: start })
    }

    fn digits(&mut self) -> Result<(), JsonTextError> {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        match (count, self.peek()) {
            (0, None) => Err(JsonTextError::Truncated),
            (0, Some(_)) => Err(JsonTextError::Unexpected { offset: self.at }),
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonTextError> {
        for expected in word {
            self.expect(*expected)?;
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonTextError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(JsonTextError::Unexpected { offset: self.at }),
            None => Err(JsonTextError::Truncated),
        }
    }

    fn take_if(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

/// Every byte that belongs to no character becomes U+FFFD, one for one.
fn push_lossy(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

fn number(text: &str, numbers: Numbers, out: &mut Vec<u8>) {
    // The grammar was checked: this parses, if need be to an infinity.
    let float = || text.parse().unwrap_or(f64::NAN);
    match (text.parse::<i64>(), text.parse::<u64>(), numbers) {
        (Ok(0), _, Numbers::OfGo) if text.starts_with('-') => write::float(out, -0.0),
        (Ok(n), _, _) => write::int(out, n),
        (Err(_), Ok(n), Numbers::OfGo) => write::uint(out, n),
        (Err(_), _, _) => write::float(out, float()),
    }
}
