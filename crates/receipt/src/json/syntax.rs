//! Whether text is JSON (RFC 8259), and nothing about what it says.
//!
//! One flat loop with a bit per open bracket, so that no depth of nesting costs more than that.

use r1_protocol::canonical::plain_len;

/// Where text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson {
    /// In bytes from the beginning.
    pub(crate) offset: usize,
}

/// Checks that `text` is exactly one JSON value, and that no string holds half of a surrogate pair.
pub(crate) fn check(text: &str) -> Result<(), NotJson> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, open: Brackets::default() };
    scanner.whole().ok_or(NotJson { offset: scanner.at })
}

/// The brackets that are open, one bit each: whether it is an object's.
#[derive(Default)]
struct Brackets {
    bits: Vec<u64>,
    depth: usize,
}

impl Brackets {
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
    }

    fn in_object(&self) -> Option<bool> {
        let last = self.depth.checked_sub(1)?;
        Some(self.bits[last / 64] >> (last % 64) & 1 == 1)
    }

    const fn pop(&mut self) {
        self.depth -= 1;
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Brackets,
}

impl Scanner<'_> {
    fn whole(&mut self) -> Option<()> {
        loop {
            // Here a value begins.
            self.space();
            let opened = match self.peek()? {
                b'{' => self.begin(true)?,
                b'[' => self.begin(false)?,
                _ => {
                    self.scalar()?;
                    false
                }
            };
            // Behind a value: close what it completes, until another one follows.
            if !opened && !self.complete()? {
                return Some(());
            }
        }
    }

    /// Takes an opening bracket; false if its closing one follows at once, so that it is a whole value.
    fn begin(&mut self, object: bool) -> Option<bool> {
        self.at += 1;
        self.space();
        if self.peek()? == if object { b'}' } else { b']' } {
            self.at += 1;
            return Some(false);
        }
        self.open.push(object);
        if object {
            self.key()?;
        }
        Some(true)
    }

    /// Goes on behind a whole value; true if another value begins here, false at the end of the text.
    fn complete(&mut self) -> Option<bool> {
        loop {
            self.space();
            let Some(object) = self.open.in_object() else {
                return (self.at == self.bytes.len()).then_some(false);
            };
            match (self.peek()?, object) {
                (b',', true) => {
                    self.at += 1;
                    self.space();
                    self.key()?;
                    return Some(true);
                }
                (b',', false) => {
                    self.at += 1;
                    return Some(true);
                }
                (b'}', true) | (b']', false) => {
                    self.at += 1;
                    self.open.pop();
                }
                _ => return None,
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        self.string()?;
        self.space();
        (self.peek()? == b':').then(|| self.at += 1)
    }

    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    fn string(&mut self) -> Option<()> {
        if !self.take(b'"') {
            return None;
        }
        loop {
            self.at += plain_len(&self.bytes[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        match self.bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.at += 2;
                Some(())
            }
            b'u' => match self.unit()? {
                0xd800..=0xdbff => matches!(self.unit()?, 0xdc00..=0xdfff).then_some(()),
                0xdc00..=0xdfff => None,
                _ => Some(()),
            },
            _ => None,
        }
    }

    /// Takes `\uXXXX`.
    fn unit(&mut self) -> Option<u16> {
        let unit = unit_at(self.bytes, self.at)?;
        self.at += 6;
        Some(unit)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
}

/// The code unit that `\uXXXX` at `at` stands for.
pub(super) fn unit_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | u16::try_from(char::from(*digit).to_digit(16)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_nothing_else_is_json() {
        for sound in
            ["0", "-0.5e+3", " [ ] ", "{}", r#"{"a":[1,{"b":null}],"":true}"#, r#""\ud83d\ude00\/""#, "[[],[]]"]
        {
            assert_eq!(check(sound), Ok(()), "{sound}");
        }
        for broken in [
            "",
            "01",
            "1.",
            "1e",
            "-",
            "+1",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "[1 2]",
            "[",
            "]",
            "{}{}",
            "\"a",
            "\"\n\"",
            r#""\x""#,
            r#""\u12g4""#,
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800a""#,
            r#""\ud800\u0041""#,
            "\u{feff}{}",
            "tru",
            "nul",
            "NaN",
            "[}",
            "{]",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "1 1",
        ] {
            assert!(check(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = [&[b'['; 1_000_000][..], &[b']'; 1_000_000]].concat();
        assert_eq!(check(std::str::from_utf8(&deep).unwrap()), Ok(()));
    }
}
