//! Going through JSON text that is known to be JSON, looking for what a receipt may not hold.

use std::borrow::Cow;
use std::cmp::Ordering;

use r1_protocol::canonical::plain_len;

use super::syntax::unit_at;
use super::{MAX_INTEGER, Object, Value, cmp_utf16, write_text};
use crate::verdict::Reason;

/// The longest string, in bytes of UTF-8.
pub(crate) const MAX_TEXT: usize = 64 << 10;
/// How many arrays and objects may stand inside each other; the receipt itself is the first.
pub(crate) const MAX_DEPTH: usize = 32;

/// A cursor over text that [`super::syntax::check`] has accepted.
///
/// It notes the gravest flaw on its way, by the order of [`Reason`], and whether the text so far is
/// canonical. What is nested too deeply is passed over. A string that is too long ends the walk at once.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    canonical: bool,
    /// Bytes that the canonical form of what was passed takes.
    length: usize,
    flaw: Option<Reason>,
    /// Keys of the objects that are open, innermost last.
    keys: Vec<Cow<'a, str>>,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, canonical: true, length: 0, flaw: None, keys: Vec::new() }
    }

    /// Where the cursor is, in bytes.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// What lies between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        &self.text[from..to]
    }

    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    pub(crate) const fn flaw(&self) -> Option<Reason> {
        self.flaw
    }

    /// Whether what was passed is canonical; what stands behind it must be nothing.
    pub(crate) fn is_canonical(&self) -> bool {
        self.canonical && self.at == self.text.len()
    }

    /// Notes a flaw, unless a graver one is known.
    pub(crate) fn note(&mut self, flaw: Reason) {
        self.flaw = Some(self.flaw.map_or(flaw, |known| known.min(flaw)));
    }

    /// The first byte of the value that comes next.
    pub(crate) fn peek(&mut self) -> u8 {
        self.space();
        self.byte()
    }

    /// Passes one value.
    pub(crate) fn walk(&mut self) -> Result<(), Reason> {
        match self.peek() {
            b'{' => self.object(|reader, _, _| reader.walk()),
            b'[' => self.array(Self::walk).map(drop),
            b'"' => self.string().map(drop),
            b't' => self.word(4),
            b'f' => self.word(5),
            b'n' => {
                self.note(Reason::BadShape);
                self.word(4)
            }
            _ => {
                self.number();
                Ok(())
            }
        }
    }

    /// Passes an object; `member` passes each value and is told its key and where the key began.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &Cow<'a, str>, usize) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        if !self.enter() {
            return Ok(());
        }
        let first = self.keys.len();
        let mut sorted = true;
        while self.more(b'}', self.keys.len() > first) {
            self.space();
            let began = self.at;
            let key = self.string()?;
            self.space();
            self.step(1);
            if let Some(before) = self.keys[first..].last() {
                sorted &= cmp_utf16(before, &key) == Ordering::Less;
            }
            self.keys.push(key.clone());
            self.space();
            member(self, &key, began)?;
        }
        if !sorted {
            self.canonical = false;
            let keys = &mut self.keys[first..];
            keys.sort_unstable();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                self.note(Reason::DuplicateKey);
            }
        }
        self.keys.truncate(first);
        self.depth -= 1;
        Ok(())
    }

    /// Passes an array and counts its items; `item` passes each.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), Reason>) -> Result<usize, Reason> {
        if !self.enter() {
            return Ok(0);
        }
        let mut count = 0;
        while self.more(b']', count > 0) {
            count += 1;
            self.space();
            item(self)?;
        }
        self.depth -= 1;
        Ok(count)
    }

    /// Takes a string.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Reason> {
        let began = self.at;
        let text = take_string(self.text, &mut self.at);
        if text.len() > MAX_TEXT {
            return Err(Reason::TooLarge);
        }
        let length = match &text {
            Cow::Borrowed(plain) => plain.len() + 2,
            Cow::Owned(text) => {
                let mut canonical = String::with_capacity(self.at - began);
                write_text(&mut canonical, text);
                self.canonical &= canonical == self.text[began..self.at];
                canonical.len()
            }
        };
        self.length += length;
        Ok(text)
    }

    /// Takes an opening bracket; what is too deep is passed over as a whole.
    fn enter(&mut self) -> bool {
        if self.depth == MAX_DEPTH {
            self.note(Reason::TooDeep);
            self.pass_over();
            return false;
        }
        self.depth += 1;
        self.step(1);
        true
    }

    /// Whether another member or item follows; takes the comma before it, or the closing bracket.
    fn more(&mut self, close: u8, behind_one: bool) -> bool {
        self.space();
        if self.byte() == close {
            self.step(1);
            return false;
        }
        if behind_one {
            self.step(1);
        }
        true
    }

    fn pass_over(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.byte() {
                b'"' => drop(take_string(self.text, &mut self.at)),
                byte => {
                    self.at += 1;
                    match byte {
                        b'[' | b'{' => open += 1,
                        b']' | b'}' => open -= 1,
                        _ => {}
                    }
                }
            }
            if open == 0 {
                return;
            }
        }
    }

    fn number(&mut self) {
        let began = self.at;
        self.at += number_len(self.text, self.at);
        let digits = &self.text[began..self.at];
        self.length += digits.len();
        if integer(digits).is_none() {
            self.note(Reason::BadNumber);
        }
    }

    fn word(&mut self, len: usize) -> Result<(), Reason> {
        self.step(len);
        Ok(())
    }

    fn step(&mut self, len: usize) {
        self.at += len;
        self.length += len;
    }

    fn space(&mut self) {
        let blank = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blank;
        self.canonical &= blank == 0;
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Passes one value and builds it; refuses whatever has a flaw.
    pub(crate) fn build(&mut self) -> Result<Value<'a>, Reason> {
        let began = self.at;
        self.walk()?;
        match self.flaw {
            Some(flaw) => Err(flaw),
            None => Ok(tree(self.text, &mut began.clone())),
        }
    }
}

/// Builds a value from text that a [`Reader`] has passed without a flaw.
pub(crate) fn read_checked(text: &str) -> Value<'_> {
    tree(text, &mut 0)
}

/// The value at `at`. Recursion is bounded, because the text was walked before.
fn tree<'a>(text: &'a str, at: &mut usize) -> Value<'a> {
    let bytes = text.as_bytes();
    let next = |at: &mut usize| {
        while bytes.get(*at).is_some_and(u8::is_ascii_whitespace) {
            *at += 1;
        }
        bytes.get(*at).copied().unwrap_or(0)
    };
    match next(at) {
        b'{' => {
            let mut object = Object::default();
            *at += 1;
            while next(at) != b'}' {
                if next(at) == b',' {
                    *at += 1;
                    next(at);
                }
                let key = take_string(text, at);
                next(at);
                *at += 1;
                object.put(key, tree(text, at));
            }
            *at += 1;
            Value::Object(object)
        }
        b'[' => {
            let mut items = Vec::new();
            *at += 1;
            while next(at) != b']' {
                if next(at) == b',' {
                    *at += 1;
                }
                items.push(tree(text, at));
            }
            *at += 1;
            Value::Array(items)
        }
        b'"' => Value::Text(take_string(text, at)),
        b't' => {
            *at += 4;
            Value::Bool(true)
        }
        b'f' => {
            *at += 5;
            Value::Bool(false)
        }
        _ => {
            let began = *at;
            // At least one byte, so that every loop above ends whatever the text is.
            *at += number_len(text, began).max(1);
            Value::Int(text.get(began..*at).and_then(integer).unwrap_or(0))
        }
    }
}

fn number_len(text: &str, at: usize) -> usize {
    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    text.as_bytes()[at..].iter().take_while(is_part).count()
}

/// The integer that a JSON number is, if a receipt may hold it.
fn integer(digits: &str) -> Option<i64> {
    let number: i64 = digits.parse().ok()?;
    (number.unsigned_abs() <= MAX_INTEGER.unsigned_abs() && digits != "-0").then_some(number)
}

/// Takes a string at its opening quote.
fn take_string<'a>(text: &'a str, at: &mut usize) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    *at += 1;
    let began = *at;
    *at += plain_len(&bytes[began..]);
    let plain = &text[began..*at];
    if bytes.get(*at) != Some(&b'\\') {
        *at += 1;
        return Cow::Borrowed(plain);
    }
    let mut decoded = plain.to_owned();
    loop {
        let began = *at;
        *at += plain_len(&bytes[began..]);
        decoded.push_str(&text[began..*at]);
        match bytes.get(*at) {
            Some(b'\\') => decoded.push(take_escape(bytes, at)),
            _ => {
                *at += 1;
                return Cow::Owned(decoded);
            }
        }
    }
}

fn take_escape(bytes: &[u8], at: &mut usize) -> char {
    let letter = bytes.get(*at + 1).copied().unwrap_or(0);
    if letter == b'u' {
        let unit = |at: usize| unit_at(bytes, at).unwrap_or(0);
        let (high, low) = (unit(*at), unit(*at + 6));
        let pair = (0xd800..0xdc00).contains(&high);
        *at += if pair { 12 } else { 6 };
        let units = [high, low];
        let units = if pair { &units[..] } else { &units[..1] };
        return char::decode_utf16(units.iter().copied())
            .next()
            .and_then(Result::ok)
            .unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    *at += 2;
    match letter {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> Option<Reason> {
        let mut reader = Reader::new(text);
        reader.walk().err().or(reader.flaw())
    }

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn the_gravest_flaw_is_noted() {
        assert_eq!(flaw("[null]"), Some(Reason::BadShape));
        assert_eq!(flaw("[null,1.5]"), Some(Reason::BadNumber));
        assert_eq!(flaw(&format!("[1e2,{}]", nested(32))), Some(Reason::TooDeep));
        assert_eq!(flaw(&nested(32)), None);
        assert_eq!(flaw(&format!("[{},{{\"a\":1,\"b\":2,\"\\u0061\":3}}]", nested(40))), Some(Reason::DuplicateKey));
        assert_eq!(flaw(&format!("[\"{}\"]", "a".repeat(MAX_TEXT))), None);
        assert_eq!(flaw(&format!("[{{\"a\":1,\"a\":2}},\"{}\"]", "a".repeat(MAX_TEXT + 1))), Some(Reason::TooLarge));
    }

    #[test]
    fn integers_are_exact() {
        for (digits, sound) in [("9007199254740991", true), ("-9007199254740991", true), ("9007199254740992", false)] {
            assert_eq!(flaw(digits).is_none(), sound, "{digits}");
        }
        assert_eq!([flaw("-0"), flaw("1.0"), flaw("1e3")], [Some(Reason::BadNumber); 3]);
    }

    #[test]
    fn only_the_canonical_spelling_is_canonical() {
        let canonical = |text| {
            let mut reader = Reader::new(text);
            reader.walk().unwrap();
            (reader.is_canonical(), reader.length())
        };
        assert_eq!(canonical("{\"a\":[1,2],\"b\":\"\\n\"}"), (true, 20));
        assert_eq!(canonical("{ \"a\" : [ 1 , 2 ] , \"b\" : \"\\u000a\" } "), (false, 20));
        assert!(!canonical("{\"b\":1,\"a\":2}").0);
        assert!(!canonical("\"\\/\"").0);
    }
}
