//! How Starling names kinds.

use std::fmt;

use crate::kind::Kind;

/// A kind number as Starling prints it: it knows 1–15, and nothing of what came after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindName(pub u8);

impl KindName {
    /// The kind that Starling calls `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<u8> {
        let kind = Kind::from_name(name)?;
        u8::try_from(kind.number()).ok().filter(|number| Self(*number).is_known())
    }

    /// Whether Starling has a name for the kind.
    #[must_use]
    pub const fn is_known(self) -> bool {
        matches!(self.0, 1..=15)
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_known() { Kind::from_number(self.0.into()).fmt(f) } else { write!(f, "Kind({})", self.0) }
    }
}

/// A text in quotes, escaped as Go's `%q` escapes it.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\x07' => f.write_str("\\a")?,
                '\x08' => f.write_str("\\b")?,
                '\x0c' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\x0b' => f.write_str("\\v")?,
                c if is_printable(c) => write!(f, "{c}")?,
                c if c.is_ascii() => write!(f, "\\x{:02x}", u32::from(c))?,
                c if u32::from(c) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "\\U{:08x}", u32::from(c))?,
            }
        }
        f.write_str("\"")
    }
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space; private and invisible
/// characters are not.
fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(
                c,
                '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}' | '\u{180e}'
                    | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                    | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}'
            ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_after_15_have_no_name() {
        assert_eq!(KindName(15).to_string(), "RunResumed");
        assert_eq!(KindName(16).to_string(), "Kind(16)");
        assert_eq!(KindName(0).to_string(), "Kind(0)");
        assert_eq!(KindName::parse("RunResumed"), Some(15));
        assert_eq!(KindName::parse("TurnFailed"), None);
    }

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        for (text, quoted) in [
            ("other\"run", r#""other\"run""#),
            ("a\\b\n\x00\x7f", r#""a\\b\n\x00\x7f""#),
            ("é日本\u{301}😀", "\"é日本\u{301}😀\""),
            ("\u{a0}\u{2028}\u{feff}", r#""\u00a0\u2028\ufeff""#),
        ] {
            assert_eq!(Quoted(text).to_string(), quoted);
        }
    }
}
